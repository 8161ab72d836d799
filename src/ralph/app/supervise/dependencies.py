"""Which tasks a task depends on: `depends_on` in its TASK-CONFIG.yaml, and whether they are done."""

import os

from ralph.core.tasks.graph import find_cycle, format_cycle
from ralph.model.errors import ConfigError
from ralph.model.supervised import DONE_FILE, TASK_CONFIG_FILE, TaskPaths
from ralph.process.atomic_file import open_regular_file


def read_task_dependencies(place: TaskPaths) -> tuple[str, ...]:
    """The ids, checked: they exist beside this task, and no task waits for itself in the end."""
    graph: dict[str, tuple[str, ...]] = {}
    root = os.path.dirname(place.folder)
    open_ids = [os.path.basename(place.folder)]
    while open_ids:
        task = open_ids.pop()
        if task not in graph:
            graph[task] = _read_depends_on(os.path.join(root, task))
            open_ids += graph[task]
    if found := find_cycle(graph):
        raise ConfigError(
            f"tasks wait for each other: {format_cycle(found)}", f"change depends_on in a {TASK_CONFIG_FILE}"
        )
    return graph[os.path.basename(place.folder)]


def find_unmet_dependencies(place: TaskPaths, needs: tuple[str, ...]) -> tuple[str, ...]:
    """Those without DONE. That an agent of theirs ended well is not enough."""
    root = os.path.dirname(place.folder)
    return tuple(task for task in needs if not os.path.isfile(os.path.join(root, task, DONE_FILE)))


def _read_depends_on(folder: str) -> tuple[str, ...]:
    path = os.path.join(folder, TASK_CONFIG_FILE)
    if not os.path.isdir(folder):
        raise ConfigError(
            f"there is no task {os.path.basename(folder)!r} in {os.path.dirname(folder)}", "create it first"
        )
    if not os.path.exists(path):
        return ()
    import yaml

    try:
        with open(path, encoding="utf-8", opener=open_regular_file) as file:
            content = yaml.safe_load(file)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"cannot read {path}: {error}", "it holds `depends_on: [task, …]`") from error
    listed = content.get("depends_on") or [] if isinstance(content, dict) else [] if content is None else None
    if not isinstance(listed, list) or not all(isinstance(item, str) and _is_task_name(item) for item in listed):
        raise ConfigError(
            f"{path}: depends_on: expected a list of task names, got {listed!r}", "name folders beside it"
        )
    return tuple(listed)


def _is_task_name(text: str) -> bool:
    return bool(text) and os.path.basename(text) == text and text not in (".", "..")
