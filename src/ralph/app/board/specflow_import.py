"""Tasks of an existing SpecFlow project: out of its database, or out of its log of changes. All of them or none."""

import os
from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ralph.app.board.task_parser import ParsedTask, parse_task
from ralph.app.board.tasks import TaskCheck, open_board
from ralph.app.board.yaml_import import ImportedTasks, ImportRefused
from ralph.app.paths import Paths
from ralph.app.stores import load_specflow_database
from ralph.core.tasks.specflow_records import (
    UNDER_WAY_STATUSES,
    BadRecord,
    Record,
    SpecFlowContent,
    SpecFlowTask,
    read_change_log,
    translate_task,
)
from ralph.core.tasks.task_names import find_name_problem
from ralph.model.board import InvalidInput, Problem, Spec
from ralph.model.spec import ROLES, Task
from ralph.process.atomic_file import read_regular_file

_MAX_NAMES_SHOWN = 5
_NOTHING_IMPORTED = "nothing was imported"
_SQLITE_HEADER = b"SQLite format 3\0"


class _ReadTask(Struct, frozen=True):
    """A task, and what had to be left out of it."""

    task: Task
    warnings: tuple[str, ...]


def is_database(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(_SQLITE_HEADER)) == _SQLITE_HEADER
    except OSError:
        return False


def import_specflow_database(places: Paths, path: str, *, check: TaskCheck = len) -> ImportedTasks:
    try:
        content = load_specflow_database(path)
    except BadRecord as error:
        raise ImportRefused(str(error), _NOTHING_IMPORTED) from None
    return _import_content(places, content, _list_project_folders(path), check)


def import_specflow_log(places: Paths, text: str, name: str, *, check: TaskCheck = len) -> ImportedTasks:
    try:
        content = read_change_log(text, name)
    except BadRecord as error:
        raise ImportRefused(str(error), _NOTHING_IMPORTED) from None
    return _import_content(places, content, _list_project_folders(name), check)


def _import_content(places: Paths, content: SpecFlowContent, folders: Iterable[str], check: TaskCheck) -> ImportedTasks:
    if not content.tasks:
        raise ImportRefused("it contains no tasks", _NOTHING_IMPORTED)
    try:
        wanted = [translate_task(record, where) for where, record in content.tasks]
    except BadRecord as error:
        raise ImportRefused(str(error), _NOTHING_IMPORTED) from None
    read = [_read_task(each) for each in wanted]
    check([each.task for each in read if each.task.status not in ("done", "cancelled")])
    with open_board(places) as board:
        known = {card.id for card in board.list_cards()} | {each.task.id for each in read}
        tasks, dangling = _drop_unknown_dependencies([each.task for each in read], known)
        specs = _build_specs(tasks, content.specs, [*folders])
        try:
            board.add_new(tasks, specs)
        except InvalidInput as refused:
            lines = [_name_task(problem) for problem in refused.problems]
            raise ImportRefused("; ".join(lines[:_MAX_NAMES_SHOWN]), _NOTHING_IMPORTED) from None
    warnings = [*(line for each in read for line in each.warnings), *dangling, *_about_work_under_way(wanted)]
    return ImportedTasks(tuple(tasks), tuple(specs), tuple(warnings))


def _name_task(problem: Problem) -> str:
    name = repr(problem.path[0])
    return problem.text if name in problem.text else f"task {name}: {problem.text}"


def _read_task(wanted: SpecFlowTask) -> _ReadTask:
    """Criteria that cannot be verified are left out, and said: nobody edits a database by hand to have its tasks."""
    raw, left_out = dict(wanted.raw), [*wanted.left_out]
    read = parse_task(raw)
    for role in ROLES:
        read = _retry_without(raw, read, (role,), left_out)
    read = _retry_without(raw, read, (), left_out)
    if read.task is None:
        raise ImportRefused(f"{wanted.where}: {'; '.join(p.text for p in read.problems)}", _NOTHING_IMPORTED)
    task = replace(read.task, status=wanted.status, created_at=wanted.created_at)
    lines = [f"task {task.id!r}: left out: {what}" for what in left_out]
    is_over = wanted.status in ("done", "cancelled")  # what will not run needs no criteria
    return _ReadTask(task, (*lines, *([] if is_over or not read.warning else [read.warning])))


def _retry_without(raw: dict[str, object], read: ParsedTask, part: tuple[str, ...], left_out: list[str]) -> ParsedTask:
    """The task without the completion, or one agent's part of it, where that is what is wrong."""
    completion, place = raw.get("completion"), ("completion", *part)
    wrong = [problem for problem in read.problems if problem.path[: len(place)] == place]
    if not wrong:
        return read
    if part and isinstance(completion, Mapping):
        raw["completion"] = {key: value for key, value in completion.items() if key not in part}
    else:
        del raw["completion"]
    left_out += [problem.text.partition(": ")[2] for problem in wrong]
    return parse_task(raw)


def _drop_unknown_dependencies(tasks: list[Task], known: Collection[str]) -> tuple[list[Task], list[str]]:
    kept, lines = [], []
    for task in tasks:
        gone = [name for name in task.depends_on if name not in known]
        kept.append(replace(task, depends_on=tuple(name for name in task.depends_on if name in known)))
        lines += [f"task {task.id!r}: left out: it waited for {name!r}, which is not there" for name in gone]
    return kept, lines


def _build_specs(tasks: Iterable[Task], listed: Iterable[tuple[str, Record]], folders: list[str]) -> list[Spec]:
    titles = {str(record.get("id")): str(record.get("title") or record.get("id")) for _, record in listed}
    names = dict.fromkeys([*titles, *(task.spec_id for task in tasks)])
    for name in names:
        if problem := find_name_problem("spec", name):
            raise ImportRefused(problem, _NOTHING_IMPORTED)
    return [Spec(id=name, title=titles.get(name, name), text=_read_spec_text(folders, name)) for name in names]


def _read_spec_text(folders: list[str], spec: str) -> str:
    """SpecFlow keeps it as a file of the project: specs/ID/spec.md."""
    for folder in folders:
        try:
            return read_regular_file(os.path.join(folder, "specs", spec, "spec.md"))
        except OSError:
            continue
    return ""


def _list_project_folders(path: str) -> list[str]:
    """Where the project may be: `.specflow` is a folder of it."""
    beside = os.path.dirname(os.path.abspath(path))
    return [beside, os.path.dirname(beside)]


def _about_work_under_way(tasks: Iterable[SpecFlowTask]) -> list[str]:
    names = [str(task.raw.get("id")) for task in tasks if task.was in UNDER_WAY_STATUSES]
    if not names:
        return []
    more = f" and {len(names) - _MAX_NAMES_SHOWN} more" if len(names) > _MAX_NAMES_SHOWN else ""
    return [f"under way in SpecFlow, so they start over: {', '.join(names[:_MAX_NAMES_SHOWN])}{more}"]
