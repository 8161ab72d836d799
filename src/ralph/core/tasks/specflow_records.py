"""Tasks as SpecFlow keeps them, in its database or its log of changes, put into the words `parse_task` reads."""

import json
from collections.abc import Iterable, Mapping

from msgspec import Struct

from ralph.model.spec import ROLES, TaskStatusName, parse_time

Record = Mapping[str, object]

# SpecFlow's own, and those of its first version. Work that was under way there starts over: its branch is not ours.
_STATUSES: Mapping[str, TaskStatusName] = {
    **dict.fromkeys(("todo", "pending", "ready", "failed", "blocked"), "todo"),
    **dict.fromkeys(("in_progress", "implementing", "testing", "reviewing", "review", "qa"), "todo"),
    **dict.fromkeys(("done", "completed"), "done"),
    "cancelled": "cancelled",
}
UNDER_WAY_STATUSES = frozenset({"in_progress", "implementing", "testing", "reviewing", "review", "qa"})
_TASK_KEYS = ("id", "spec_id", "title", "description", "priority", "assignee")


class SpecFlowTask(Struct, frozen=True, kw_only=True):
    """A task of SpecFlow, ready to be read as one of ours."""

    raw: dict[str, object]  # as `parse_task` takes it
    status: TaskStatusName
    was: str  # its status there
    created_at: float = 0.0
    left_out: tuple[str, ...] = ()  # what we have no place for, in words
    where: str = ""  # its line, or its name


class SpecFlowContent(Struct, frozen=True, kw_only=True):
    """What a database or a log holds: each record with where it stands."""

    specs: tuple[tuple[str, Record], ...] = ()
    tasks: tuple[tuple[str, Record], ...] = ()


class BadRecord(ValueError):
    """A line or a row that is no record of SpecFlow's."""


def is_change_log(name: str, text: str) -> bool:
    """Whether it is JSONL: by its name, or by a first line that is a change SpecFlow recorded."""
    if name.endswith((".jsonl", ".ndjson")):
        return True
    return text.startswith("{") and '"entity_type"' in text.partition("\n")[0]


def read_change_log(text: str, name: str) -> SpecFlowContent:
    """What is left when all changes are made, in their order. Lines that are tasks themselves are taken, too."""
    specs: dict[str, tuple[str, Record]] = {}
    tasks: dict[str, tuple[str, Record]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        record = _parse_line(line, where)
        kind, id_, data = _read_change(record, where)
        kept = specs if kind == "spec" else tasks
        if data is None:
            kept.pop(id_, None)
        else:
            kept[id_] = (where, data)
    return SpecFlowContent(specs=tuple(specs.values()), tasks=tuple(tasks.values()))


def translate_task(record: Record, where: str) -> SpecFlowTask:
    """A record in our words; BadRecord for a status nobody knows, and for JSON that is none."""
    try:
        return _translate(record, where)
    except BadRecord as error:
        raise BadRecord(f"{where}: {error}") from None


def _translate(record: Record, where: str) -> SpecFlowTask:
    was = str(record.get("status") or "todo")
    if was not in _STATUSES:
        raise BadRecord(f"unknown status {was!r}; known: {', '.join(_STATUSES)}")
    metadata = _decode(record.get("metadata"))
    completion, left_out = _translate_completion(_decode(record.get("completion_spec")))
    return SpecFlowTask(
        raw={
            **{key: record[key] for key in _TASK_KEYS if record.get(key) is not None},
            "dependencies": _decode(record.get("dependencies")) or [],
            # what SpecFlow's own loops noted about themselves
            "metadata": _without_loop_notes(metadata) if isinstance(metadata, Mapping) else metadata,
            **({"completion": completion} if completion else {}),
        },
        status=_STATUSES[was],
        was=was,
        created_at=_read_time(record.get("created_at")),
        left_out=left_out,
        where=where,
    )


def _without_loop_notes(metadata: Record) -> dict[str, object]:
    return {str(key): value for key, value in metadata.items() if not str(key).startswith("ralph")}


def _translate_completion(raw: object) -> tuple[object, tuple[str, ...]]:
    """Its criteria without those of agents we do not have."""
    if not isinstance(raw, Mapping):
        return raw, ()
    known = ("outcome", "acceptance_criteria", *ROLES)
    kept = {str(key): _decode_criteria(value) for key, value in raw.items() if key in known and value is not None}
    strange = [str(key) for key, value in raw.items() if key not in known and value is not None]
    return kept, tuple(f"criteria of {name!r}, an agent ralph does not have" for name in strange)


def _decode_criteria(value: object) -> object:
    if not isinstance(value, Mapping):
        return _decode(value)
    return {key: _decode(inner) if key == "verification_config" else inner for key, inner in value.items()}


def _decode(value: object) -> object:
    """What a column holds as JSON."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            raise BadRecord(f"no JSON: {error} in {value[:40]!r}") from None
    return None if value == "" else value


def _read_time(value: object) -> float:
    try:
        return parse_time(value if isinstance(value, str | int | float) else None)
    except (ValueError, OverflowError):
        return 0.0  # it is ours from today on


def _parse_line(line: str, where: str) -> Record:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"{where}: no JSON: {error}") from None
    if not isinstance(record, dict):
        raise BadRecord(f"{where}: a record has to be a JSON object")
    return record


def _read_change(record: Record, where: str) -> tuple[str, str, Record | None]:
    """Kind, id and what it is now; None for what was deleted."""
    if "entity_type" not in record:
        return "task" if "spec_id" in record else "spec", str(record.get("id")), record
    kind, data = record["entity_type"], record.get("data")
    if kind not in ("spec", "task"):
        raise BadRecord(f"{where}: unknown entity_type {kind!r}; known: spec, task")
    if record.get("change_type") == "delete":
        return kind, str(record.get("entity_id")), None
    if not isinstance(data, dict):
        raise BadRecord(f"{where}: the {kind} has no data")
    return kind, str(record.get("entity_id")), data


def collect_criteria(specs: Iterable[Record], criteria: Iterable[Record]) -> dict[str, dict[str, object]]:
    """The rows of SpecFlow's tables `task_completion_specs` and `task_agent_criteria`, by task."""
    found: dict[str, dict[str, object]] = {
        str(row["task_id"]): {
            "outcome": row["outcome"],
            "acceptance_criteria": _decode(row["acceptance_criteria"]),
        }
        for row in specs
    }
    for row in criteria:
        fields = ("promise", "description", "verification_method", "verification_config", "max_iterations")
        own = {field: row[field] for field in fields if row.get(field) is not None}
        found.setdefault(str(row["task_id"]), {})[str(row["agent_type"])] = own
    return found
