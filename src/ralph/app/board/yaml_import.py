"""Tasks out of a YAML file: all of them or none, and every problem with the line it stands on."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from ralph.app.board.task_parser import ALIASES, read_task
from ralph.app.board.tasks import board
from ralph.app.board.yaml_lines import Document, NotYaml, Path
from ralph.app.paths import Places
from ralph.core.tasks.task_names import name_problem
from ralph.core.tasks.task_reading import Found
from ralph.model.board import Problem, Refused, Spec
from ralph.model.errors import RalphError
from ralph.model.spec import Task

_SHOWN = 20  # problems: who has more reads no further
_NOTHING = "nothing was imported"
_FORMS = "a list of tasks, `tasks:` with such a list, or `task:` with one of them"


class ImportRefused(RalphError):
    """Something is wrong with the file."""

    code = "import"


class Imported(Struct, frozen=True):
    """What a file holds."""

    tasks: tuple[Task, ...]
    specs: tuple[Spec, ...]  # all that its tasks name
    warnings: tuple[str, ...] = ()


def import_tasks(places: Places, text: str, name: str, spec: str = "", or_else: str = "") -> Imported:
    """Put them on the board; their specs are known from then on.

    A task that names no spec is of `spec`, else of the one its file names, else of `or_else`.
    """
    try:
        document = Document(name, text)
    except NotYaml as error:
        raise ImportRefused(str(error), _NOTHING) from None
    imported = _read(document, spec, or_else)
    try:
        with board(places) as tasks:
            tasks.put_new(imported.tasks, imported.specs)
    except Refused as refused:
        raise _refused(document, [_located(document.value, problem) for problem in refused.problems]) from None
    return imported


def _read(document: Document, spec: str, or_else: str) -> Imported:
    problems = [Problem(path, f"the key {path[-1]!r} is there twice") for path in document.repeated_keys]
    outer = _outer(document.value, problems)
    spec = spec or outer.text("spec_id") or outer.text("spec") or or_else
    tasks: list[Task] = []
    warnings: list[str] = []
    for path, raw in _raw_tasks(document.value):
        read = read_task(raw, spec)
        problems += [Problem((*path, *_as_written(raw, p.path)), p.text, p.hint) for p in read.problems]
        tasks += [read.task] if read.task else []
        warnings += [f"{document.place(path)}: {read.warning}"] if read.warning else []
    specs = {task.spec_id: Spec(task.spec_id, task.spec_id) for task in tasks} | _specs(outer)
    if not tasks and not problems:
        problems.append(Problem((), "there are no tasks in it", f"it may hold {_FORMS}"))
    if problems:
        raise _refused(document, problems)
    return Imported(tuple(tasks), tuple(specs.values()), tuple(warnings))


def _outer(value: object, problems: list[Problem]) -> Found:
    """What stands around the tasks, if anything does."""
    around = isinstance(value, Mapping) and ("task" in value or "tasks" in value)
    found = Found({str(k): v for k, v in value.items()} if around and isinstance(value, Mapping) else {}, problems)
    found.expect_keys("task", "tasks", "spec", "spec_id", "specs")
    return found


def _raw_tasks(value: object) -> Iterator[tuple[Path, object]]:
    """Each task and the way to it: SpecFlow's forms, and a single task alone."""
    match value:
        case None:
            pass
        case list():
            yield from (((index,), raw) for index, raw in enumerate(value))
        case {"tasks": list(listed)}:
            yield from ((("tasks", index), raw) for index, raw in enumerate(listed))
        case {"tasks": raw}:
            yield ("tasks",), raw
        case {"task": raw}:
            yield ("task",), raw
        case _:
            yield (), value


def _specs(outer: Found) -> dict[str, Spec]:
    """`specs:` maps ids to texts, or to `{title, text}`."""
    specs: dict[str, Spec] = {}
    if listed := outer.inner("specs"):
        for id_, value in listed.raw.items():
            if problem := name_problem("spec", id_):
                listed.complain(problem, id_)
            inner = Found({"text": listed.text(id_)}, []) if isinstance(value, str) else listed.inner(id_)
            if inner:
                inner.expect_keys("title", "text")
                specs[id_] = Spec(id_, inner.text("title") or id_, inner.text("text"))
    return specs


def _as_written(raw: object, path: Path) -> Path:
    """The way to a value by the names its author used."""
    written = {ALIASES.get(key, key): key for key in raw if isinstance(key, str)} if isinstance(raw, Mapping) else {}
    return (written.get(str(path[0]), path[0]), *path[1:]) if path else ()


def _located(value: object, problem: Problem) -> Problem:
    """What the board says of a task, where that task stands: of two with the same id, the second."""
    id_, *rest = problem.path
    for path, raw in reversed([*_raw_tasks(value)]):
        if isinstance(raw, Mapping) and raw.get("id") == id_:
            return Problem((*path, *_as_written(raw, tuple(rest))), problem.text, problem.hint)
    return problem


def _refused(document: Document, problems: list[Problem]) -> ImportRefused:
    ordered = sorted(problems, key=lambda problem: document.line(problem.path))
    told = [f"{document.place(problem.path)}: {problem.text}" for problem in ordered]
    hint = next((problem.hint for problem in ordered if problem.hint), _NOTHING)
    if len(told) == 1:
        return ImportRefused(told[0], hint)
    more = [f"… and {len(told) - _SHOWN} more"] if len(told) > _SHOWN else []
    return ImportRefused("\n  ".join([f"{len(told)} problems, {_NOTHING}", *told[:_SHOWN], *more]), hint)
