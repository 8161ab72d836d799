"""Tasks out of a YAML file: all of them or none, and every problem with the line it stands on."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from ralph.app.board.task_parser import TASK_KEY_ALIASES, parse_task
from ralph.app.board.tasks import TaskCheck, open_board
from ralph.app.board.yaml_lines import YamlDocument, YamlPath, YamlSyntaxError
from ralph.app.paths import Paths
from ralph.core.tasks.task_names import find_name_problem
from ralph.core.tasks.task_reading import MappingReader
from ralph.model.board import InvalidInput, Problem, Spec
from ralph.model.errors import RalphError
from ralph.model.spec import Task

_MAX_PROBLEMS_SHOWN = 20  # problems: who has more reads no further
_NOTHING_IMPORTED = "nothing was imported"
_ACCEPTED_FORMS = "a list of tasks, `tasks:` with such a list, or `task:` with one of them"


class ImportRefused(RalphError):
    """Something is wrong with the file."""

    code = "import"


class ImportedTasks(Struct, frozen=True):
    """What a file holds."""

    tasks: tuple[Task, ...]
    specs: tuple[Spec, ...]  # all that its tasks name
    warnings: tuple[str, ...] = ()


def import_tasks(
    places: Paths, text: str, *, name: str, spec: str = "", or_else: str = "", check: TaskCheck = len
) -> ImportedTasks:
    """Put them on the board, unless `check` refuses one; their specs are known from then on.

    A task that names no spec is of `spec`, else of the one its file names, else of `or_else`.
    """
    try:
        document = YamlDocument(name, text)
    except YamlSyntaxError as error:
        raise ImportRefused(str(error), _NOTHING_IMPORTED) from None
    imported = _read_document(document, spec, or_else)
    check(imported.tasks)
    try:
        with open_board(places) as tasks:
            tasks.add_new(imported.tasks, imported.specs)
    except InvalidInput as refused:
        raise _build_refusal(
            document, [_locate_problem(document.value, problem) for problem in refused.problems]
        ) from None
    return imported


def _read_document(document: YamlDocument, spec: str, or_else: str) -> ImportedTasks:
    problems = [Problem(path, f"the key {path[-1]!r} appears twice") for path in document.repeated_keys]
    outer = _read_envelope(document.value, problems)
    spec = spec or outer.read_text("spec_id") or outer.read_text("spec") or or_else
    tasks: list[Task] = []
    warnings: list[str] = []
    for path, raw in _iter_raw_tasks(document.value):
        read = parse_task(raw, spec)
        problems += [Problem((*path, *_path_as_written(raw, p.path)), p.text, p.hint) for p in read.problems]
        tasks += [read.task] if read.task else []
        warnings += [f"{document.format_location(path)}: {read.warning}"] if read.warning else []
    specs = {task.spec_id: Spec(id=task.spec_id, title=task.spec_id) for task in tasks} | _read_specs(outer)
    if not tasks and not problems:
        problems.append(Problem((), "it contains no tasks", f"it may hold {_ACCEPTED_FORMS}"))
    if problems:
        raise _build_refusal(document, problems)
    return ImportedTasks(tuple(tasks), tuple(specs.values()), tuple(warnings))


def _read_envelope(value: object, problems: list[Problem]) -> MappingReader:
    """What stands around the tasks, if anything does."""
    around = isinstance(value, Mapping) and ("task" in value or "tasks" in value)
    found = MappingReader(
        {str(k): v for k, v in value.items()} if around and isinstance(value, Mapping) else {}, problems
    )
    found.expect_keys("task", "tasks", "spec", "spec_id", "specs")
    return found


def _iter_raw_tasks(value: object) -> Iterator[tuple[YamlPath, object]]:
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


def _read_specs(outer: MappingReader) -> dict[str, Spec]:
    """`specs:` maps ids to texts, or to `{title, text}`."""
    specs: dict[str, Spec] = {}
    if listed := outer.read_mapping("specs"):
        for id_, value in listed.raw.items():
            if problem := find_name_problem("spec", id_):
                listed.add_problem(problem, id_)
            inner = (
                MappingReader({"text": listed.read_text(id_)}, [])
                if isinstance(value, str)
                else listed.read_mapping(id_)
            )
            if inner:
                inner.expect_keys("title", "text")
                specs[id_] = Spec(id=id_, title=inner.read_text("title") or id_, text=inner.read_text("text"))
    return specs


def _path_as_written(raw: object, path: YamlPath) -> YamlPath:
    """The way to a value by the names its author used."""
    written = (
        {TASK_KEY_ALIASES.get(key, key): key for key in raw if isinstance(key, str)} if isinstance(raw, Mapping) else {}
    )
    return (written.get(str(path[0]), path[0]), *path[1:]) if path else ()


def _locate_problem(value: object, problem: Problem) -> Problem:
    """What the board says of a task, where that task stands: of two with the same id, the second."""
    id_, *rest = problem.path
    for path, raw in reversed([*_iter_raw_tasks(value)]):
        if isinstance(raw, Mapping) and raw.get("id") == id_:
            return Problem((*path, *_path_as_written(raw, tuple(rest))), problem.text, problem.hint)
    return problem


def _build_refusal(document: YamlDocument, problems: list[Problem]) -> ImportRefused:
    ordered = sorted(problems, key=lambda problem: document.find_line(problem.path))
    lines = [f"{document.format_location(problem.path)}: {problem.text}" for problem in ordered]
    hint = next((problem.hint for problem in ordered if problem.hint), _NOTHING_IMPORTED)
    if len(lines) == 1:
        return ImportRefused(lines[0], hint)
    more = [f"… and {len(lines) - _MAX_PROBLEMS_SHOWN} more"] if len(lines) > _MAX_PROBLEMS_SHOWN else []
    return ImportRefused(
        "\n  ".join([f"{len(lines)} problems, {_NOTHING_IMPORTED}", *lines[:_MAX_PROBLEMS_SHOWN], *more]), hint
    )
