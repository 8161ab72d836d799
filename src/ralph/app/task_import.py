"""Tasks out of a YAML file: all of them or none, and every problem with the line it stands on."""

from collections.abc import Iterator, Mapping, Sequence

import yaml
from msgspec import Struct

from ralph.app.places import Places
from ralph.app.task_terms import ALIASES, read_task
from ralph.app.tasks import board
from ralph.core.task_names import name_problem
from ralph.core.task_reading import Found, kind_of
from ralph.model.board import Problem, Refused, Spec
from ralph.model.errors import RalphError
from ralph.model.spec import Task

_SHOWN = 20  # problems; who has more reads no further
_FORMS = "a list of tasks, `tasks:` with such a list, or `task:` with one task"


class ImportRefused(RalphError):
    """Something is wrong with the file; nothing was imported."""

    code = "import"


class Imported(Struct, frozen=True):
    """What a file holds."""

    tasks: tuple[Task, ...]
    specs: tuple[Spec, ...]  # all that its tasks name
    warnings: tuple[str, ...] = ()


class _Document(Struct):
    name: str
    node: yaml.Node | None
    value: object
    problems: list[Problem] = []


def import_tasks(places: Places, text: str, name: str, spec: str = "") -> Imported:
    """Into the board. The specs of its tasks are known from then on."""
    document = _parsed(text, name)
    imported = _read(document, spec)
    try:
        with board(places) as tasks:
            tasks.put_new(imported.tasks, imported.specs)
    except Refused as refused:
        paths = _paths(document.value)
        document.problems += [Problem(_of_task(paths, p.path), p.text, p.hint) for p in refused.problems]
        raise _refused(document) from None
    return imported


def read_tasks(text: str, name: str, spec: str = "") -> Imported:
    """What `import_tasks` would put on the board; `spec` is for tasks that name none."""
    return _read(_parsed(text, name), spec)


def _read(document: _Document, spec: str) -> Imported:
    outer = document.value if isinstance(document.value, Mapping) else {}
    if "task" in outer or "tasks" in outer:
        Found(outer, document.problems).expect_keys("task", "tasks", "spec", "spec_id", "specs")
        spec = spec or str(outer.get("spec_id") or outer.get("spec") or "")
    tasks, warnings = [], []
    for path, raw in _raw_tasks(document.value):
        read = read_task(raw, spec)
        document.problems += [Problem((*path, *p.path), p.text, p.hint) for p in read.problems]
        tasks += [read.task] if read.task else []
        warnings += [f"{_place(document, path)}: {read.warning}"] if read.warning else []
    specs = {**{task.spec_id: Spec(task.spec_id, task.spec_id) for task in tasks}, **_specs(document, outer)}
    if not tasks and not document.problems:
        document.problems.append(Problem((), "there are no tasks in it", f"it holds {_FORMS}"))
    if document.problems:
        raise _refused(document)
    return Imported(tuple(tasks), tuple(specs.values()), tuple(warnings))


def _raw_tasks(value: object) -> Iterator[tuple[tuple[str | int, ...], object]]:
    """Each task and the way to it; the forms SpecFlow has, and a single task alone."""
    match value:
        case list():
            yield from (((index,), raw) for index, raw in enumerate(value))
        case {"tasks": list(listed)}:
            yield from ((("tasks", index), raw) for index, raw in enumerate(listed))
        case {"task": raw}:
            yield ("task",), raw
        case {"tasks": raw}:
            yield ("tasks",), raw
        case None:
            pass
        case _:
            yield (), value


def _specs(document: _Document, outer: Mapping[object, object]) -> dict[str, Spec]:
    """`specs:` maps ids to texts, or to `{title, text}`."""
    found = Found({"specs": outer.get("specs")}, document.problems).inner("specs")
    specs: dict[str, Spec] = {}
    for id_ in found.raw if found else ():
        assert found
        if problem := name_problem("spec", id_):
            found.complain(problem, id_)
        inner = None if isinstance(found.raw[id_], str) else found.inner(id_)
        if inner:
            inner.expect_keys("title", "text")
        specs[id_] = Spec(id_, (inner.text("title") if inner else "") or id_, (inner or found).text("text" if inner else id_))
    return specs


def _parsed(text: str, name: str) -> _Document:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        node = loader.get_single_node()
        document = _Document(name, node, None if node is None else loader.construct_document(node))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
        raise ImportRefused(f"{where}: not YAML: {error.problem or error.context}", "nothing was imported") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ImportRefused(f"{name}: not YAML: {error}", "nothing was imported") from None
    finally:
        loader.dispose()
    document.problems += _twice(node, ())
    return document


def _twice(node: yaml.Node | None, path: tuple[str | int, ...]) -> Iterator[Problem]:
    """Keys that a mapping has more than once: YAML would silently take the last."""
    pending, seen_nodes = [(node, path)], set()
    while pending:
        node, path = pending.pop()
        if node is None or id(node) in seen_nodes:
            continue
        seen_nodes.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            pending += [(inner, (*path, index)) for index, inner in enumerate(node.value)]
        elif isinstance(node, yaml.MappingNode):
            keys = set()
            for key, inner in node.value:
                if key.value in keys:
                    yield Problem((*path, key.value), f"the key {key.value!r} is there twice")
                keys.add(key.value if isinstance(key, yaml.ScalarNode) else id(key))
                pending.append((inner, (*path, key.value if isinstance(key, yaml.ScalarNode) else "")))


def _line(node: yaml.Node | None, path: Sequence[str | int]) -> int:
    """Of the last step of the path that is there; a key's own line, not its value's."""
    line = node.start_mark.line + 1 if node else 1
    for step in path:
        found = None
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            found = (node.value[step], node.value[step])
        elif isinstance(node, yaml.MappingNode):
            # The last of two equal keys is the one that is one too many.
            named = [pair for pair in node.value if pair[0].value in (step, *(a for a, k in ALIASES.items() if k == step))]
            found = named[-1] if named else None
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return line


def _place(document: _Document, path: Sequence[str | int]) -> str:
    return f"{document.name}:{_line(document.node, path)}"


def _paths(value: object) -> dict[str, tuple[str | int, ...]]:
    """The way to each task, by its id; of two with the same, the second."""
    return {str(raw["id"]).strip(): path for path, raw in _raw_tasks(value) if isinstance(raw, Mapping) and "id" in raw}


def _of_task(paths: Mapping[str, tuple[str | int, ...]], path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    return (*paths.get(str(path[0]), ()), *path[1:])


def _refused(document: _Document) -> ImportRefused:
    ordered = sorted(document.problems, key=lambda problem: _line(document.node, problem.path))
    told = [f"{_place(document, problem.path)}: {problem.text}" for problem in ordered]
    if len(told) == 1:
        return ImportRefused(told[0], ordered[0].hint or "nothing was imported")
    more = [f"… and {len(told) - _SHOWN} more"] if len(told) > _SHOWN else []
    lines = [f"{document.name}: {len(told)} problems, nothing was imported", *told[:_SHOWN], *more]
    return ImportRefused("\n  ".join(lines), next((p.hint for p in ordered if p.hint), ""))


def kinds(value: object) -> str:
    """In words."""
    return kind_of(value)
