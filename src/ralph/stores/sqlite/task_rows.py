"""A task as a row of the database, and back."""

import sqlite3
from collections.abc import Sequence

import msgspec

from ralph.core.tasks.task_rules import LOOP_KEY, describe_words_only, list_stages_by_words
from ralph.model.board import Entry, TaskCard
from ralph.model.errors import CorruptState
from ralph.model.spec import Task

TASK_COLUMNS = (
    "id, spec_id, title, status, stage, priority, iteration, limit_, worker, assignee, passed, branch, target,"
    " created_at, updated_at, metadata, description, completion_spec, by_words"
)
_COLUMN_NAMES = TASK_COLUMNS.split(", ")
_PLACEHOLDERS = ", ".join("?" * len(_COLUMN_NAMES))
_NEEDS_QUERY = (
    "(SELECT json_group_array(needs) FROM (SELECT needs FROM task_dependency WHERE task=task.id ORDER BY place))"
)


def read_entry(database: sqlite3.Connection, id_: str) -> Entry | None:
    row = database.execute(f"SELECT {TASK_COLUMNS}, {_NEEDS_QUERY} FROM task WHERE id=?", (id_,)).fetchone()
    return None if row is None else _decode_entry(row)


def insert_entry(database: sqlite3.Connection, entry: Entry) -> None:
    """A new one; its dependencies come once all new ones are there."""
    database.execute(f"INSERT INTO task({TASK_COLUMNS}) VALUES({_PLACEHOLDERS})", _encode_entry(entry))


def update_entry(database: sqlite3.Connection, entry: Entry) -> None:
    """As it is now, dependencies apart."""
    database.execute(
        f"UPDATE task SET ({TASK_COLUMNS}) = ({_PLACEHOLDERS}) WHERE id=?", (*_encode_entry(entry), entry.task.id)
    )


def write_dependencies(database: sqlite3.Connection, task: Task) -> None:
    """In the order they were given, each once."""
    database.execute("DELETE FROM task_dependency WHERE task=?", (task.id,))
    rows = [(task.id, place, need) for place, need in enumerate(dict.fromkeys(task.depends_on))]
    database.executemany("INSERT INTO task_dependency VALUES(?, ?, ?)", rows)


def read_dependencies(database: sqlite3.Connection) -> dict[str, list[str]]:
    """Each task that waits, and for what."""
    needs: dict[str, list[str]] = {}
    for task, need in database.execute("SELECT task, needs FROM task_dependency ORDER BY task, place"):
        needs.setdefault(task, []).append(need)
    return needs


def read_cards(database: sqlite3.Connection) -> list[TaskCard]:
    """Every task, the most urgent first."""
    rows = database.execute(
        "SELECT id, spec_id, title, status, stage, priority, iteration, limit_, worker FROM task INDEXED BY task_list"
        " ORDER BY priority, number"
    )
    needs = {task: tuple(needed) for task, needed in read_dependencies(database).items()}
    by_words = _read_stages_by_words(database)
    return [
        TaskCard(
            id=id_,
            spec_id=spec_id,
            title=title,
            status=status,
            stage=stage,
            priority=priority,
            iteration=iteration,
            max_iterations=max_iterations,
            worker=worker,
            needs=needs.get(id_, ()),
            by_words=by_words.get(id_, ()),
        )
        for id_, spec_id, title, status, stage, priority, iteration, max_iterations, worker in rows
    ]


def read_reasons(database: sqlite3.Connection) -> dict[str, str]:
    """Why tasks rest that are not simply waiting for their turn: what blocks them, or how they failed; of those that
    are done, what of it rests on words."""
    rows = database.execute(
        "SELECT id, json_extract(metadata, iif(status='blocked', '$.blocked.reason', '$.ralph_failure.reason')) why"
        " FROM task WHERE (status='blocked' OR status='todo' AND stage IS NOT NULL)"
        " AND json_valid(metadata) AND why != ''"
    )
    done = {task for (task,) in database.execute("SELECT id FROM task WHERE by_words != '' AND status='done'")}
    words = {
        task: describe_words_only(roles) for task, roles in _read_stages_by_words(database).items() if task in done
    }
    return {**words, **{task: str(why) for task, why in rows}}


def _read_stages_by_words(database: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    rows = database.execute("SELECT id, by_words FROM task WHERE by_words != ''")
    return {task: tuple(roles.split()) for task, roles in rows}


def _encode_entry(entry: Entry) -> Sequence[object]:
    task = entry.task
    loop = task.metadata.get(LOOP_KEY)
    spec = task.completion_spec
    return (
        *(task.id, task.spec_id, task.title, task.status, task.stage, task.priority, task.iteration),
        loop["max_iterations"] if isinstance(loop, dict) else 0,
        *(entry.worker, task.assignee, " ".join(entry.passed), entry.branch, entry.target),
        *(task.created_at, task.updated_at, msgspec.json.encode(task.metadata).decode(), task.description),
        None if spec is None else msgspec.json.encode(spec.to_dict()).decode(),
        " ".join(list_stages_by_words(task)),
    )


def _decode_entry(row: Sequence[object]) -> Entry:
    fields = dict(zip(_COLUMN_NAMES, row[:-1], strict=True))
    spec = fields["completion_spec"]
    try:
        fields |= {
            "metadata": msgspec.json.decode(str(fields["metadata"])),
            "completion_spec": None if spec is None else msgspec.json.decode(str(spec)),
            "depends_on": msgspec.json.decode(str(row[-1])),
        }
        return msgspec.convert({**fields, "task": fields, "passed": str(fields["passed"]).split()}, Entry)
    except msgspec.MsgspecError as error:
        what = f"the database's record of task {fields['id']!r} is damaged: {error}"
        raise CorruptState(
            what, f"delete it with `ralph task delete {fields['id']} --force`, then create it again"
        ) from error
