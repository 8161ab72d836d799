"""A task as someone wrote it, in YAML or on the command line: read once, by one set of rules."""

from collections.abc import Mapping

from msgspec import Struct

from ralph.app.board.criteria_parser import parse_completion
from ralph.core.tasks.task_names import find_name_problem
from ralph.core.tasks.task_reading import MappingReader, describe_kind
from ralph.model.board import InvalidInput, Problem
from ralph.model.spec import SETUP_KEY, Task, TaskCompletionSpec

DEFAULT_PRIORITY = 2  # 1: high, 2: usual, 3: low
TASK_KEY_ALIASES = {"spec": "spec_id", "depends_on": "dependencies", "completion_spec": "completion"}
_TASK_KEYS = (
    *("id", "spec_id", "title", "description", "priority", "dependencies", "assignee", "metadata", "completion"),
    "setup",
)


class ParsedTask(Struct, frozen=True):
    """The task, where it could be made out; what is wrong; what is only worth knowing."""

    task: Task | None
    problems: tuple[Problem, ...] = ()
    warning: str = ""


def parse_task(raw: object, default_spec: str = "") -> ParsedTask:
    """All of it; a task without completion criteria is warned of."""
    if not isinstance(raw, Mapping) or not all(isinstance(key, str) for key in raw):
        return ParsedTask(
            None, (Problem((), f"a task has to be a mapping of names to values, got {describe_kind(raw)}"),)
        )
    problems: list[Problem] = []
    found = MappingReader({TASK_KEY_ALIASES.get(str(key), str(key)): value for key, value in raw.items()}, problems)
    found.expect_keys(*_TASK_KEYS)
    id_ = _parse_name(found, "id", "task")
    title = found.read_text("title", required="say in a few words what it is about")
    completion = found.read_mapping("completion")
    spec = parse_completion(completion, title) if completion else None
    task = _build_task(found, id_, default_spec=default_spec, title=title, spec=spec)
    if problems:
        who = f"task {id_!r}" if id_ else "a task"
        return ParsedTask(None, tuple(Problem(p.path, f"{who}: {p.text}", p.hint) for p in problems))
    without = f"task {id_!r} has no completion criteria: it will be judged by its title and description alone"
    return ParsedTask(task, warning="" if spec else without)


def parse_edited_criteria(
    spec: TaskCompletionSpec | None, given: Mapping[str, object], title: str
) -> TaskCompletionSpec:
    """The criteria with some of them changed."""
    problems: list[Problem] = []
    read = parse_completion(MappingReader(_merge_criteria(spec.to_dict() if spec else {}, given), problems), title)
    if read is None:
        raise InvalidInput(problems)
    return read


def _merge_criteria(before: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    merged = dict(before)
    for key, value in given.items():
        known = merged.get(key)
        if isinstance(value, Mapping) and isinstance(known, Mapping):
            # Another method needs other things to work with.
            anew = {"verification_method", "verification_config"} if _changes_method(value) else set()
            merged[key] = {**{k: v for k, v in known.items() if k not in anew}, **value}
        else:
            merged[key] = value
    return merged


def _changes_method(criteria: Mapping[str, object]) -> bool:
    return "verification_method" in criteria or "verification_config" in criteria


def _build_task(
    found: MappingReader, id_: str, *, default_spec: str, title: str, spec: TaskCompletionSpec | None
) -> Task:
    priority = found.read_number("priority")
    metadata = found.read_mapping("metadata")
    if metadata:
        metadata.expect_json()
        for key in metadata.raw:
            if key.startswith("ralph"):
                metadata.add_problem(f"the key {key!r} is ralph's own", key)
    setup = found.read_text("setup").strip()
    return Task(
        id_,
        _parse_name(found, "spec_id", "spec") if "spec_id" in found.raw or not default_spec else default_spec,
        title,
        found.read_text("description"),
        priority=DEFAULT_PRIORITY if priority is None else priority,
        depends_on=tuple(dict.fromkeys(found.read_texts("dependencies"))),
        assignee=found.read_text("assignee"),
        completion_spec=spec,
        metadata={**(metadata.raw if metadata else {}), **({SETUP_KEY: setup} if setup else {})},
    )


def _parse_name(found: MappingReader, key: str, kind: str) -> str:
    name = found.read_text(key, required=f"every task has {'an id' if key == 'id' else 'a spec'}")
    if name and (problem := find_name_problem(kind, name)):
        found.add_problem(problem, key)
    return name
