"""A task as text for an editor, in the form of `ralph task import`: to change one, or to make a new one."""

import json
from collections.abc import Mapping, Sequence

from ralph.app.board.tasks import TaskEdit, edit_task
from ralph.app.board.yaml_import import import_tasks
from ralph.app.board.yaml_lines import YamlDocument, YamlSyntaxError
from ralph.app.paths import Paths
from ralph.core.text.quantities import pluralize
from ralph.model.errors import UsageError
from ralph.model.spec import Task

EDIT_HEADER = "# Change what you like, save and quit. Leave it as it is to change nothing.\n"
NEW_TASK_FORM = """# A new task: fill it in, save and quit. Leave it as it is to create nothing.
id: {id}
spec: {spec}
title: ""
priority: 2  # 1 comes before 2
dependencies: []
description: |
  What is to be done.
completion:
  outcome: ""  # one sentence: what is true when it is done
  acceptance_criteria:
    - ""
  coder:
    promise: DONE
    description: the check passes
    verification_method: external  # a command can tell; semantic: a judge reads
    verification_config:
      command: make test
"""
_COMPLETION_KEYS = ("outcome", "acceptance_criteria")
_EDITABLE_KEYS = ("title", "priority", "dependencies", "description", *_COMPLETION_KEYS)


def render_task_form(task: Task) -> str:
    """What can be changed of it."""
    spec = task.completion_spec
    lines = [
        f"title: {_quote(task.title)}",
        f"priority: {task.priority}  # 1 comes before 2",
        f"dependencies: {json.dumps(list(task.depends_on), ensure_ascii=False)}",
        *_render_text("description", task.description),
    ]
    if spec is not None:
        lines += [f"outcome: {_quote(spec.outcome)}", "acceptance_criteria:"]
        lines += [f"  - {_quote(text)}" for text in spec.acceptance_criteria]
    return EDIT_HEADER + "\n".join(lines) + "\n"


def apply_task_form(paths: Paths, task: Task, text: str) -> bool:
    """Change what is another now; whether there was anything."""
    wanted = read_task_form(task, text)
    if wanted == TaskEdit():
        return False
    edit_task(paths, task.id, wanted)
    return True


def read_task_form(task: Task, text: str) -> TaskEdit:
    """What differs from the task. UsageError: it is no form of a task."""
    found = _read_mapping(text)
    before = _read_mapping(render_task_form(task))
    changed = {key: value for key, value in found.items() if value != before.get(key)}
    completion: dict[str, object] = {key: changed[key] for key in _COMPLETION_KEYS if key in changed}
    return TaskEdit(
        title=_get_text(changed, "title"),
        description=_get_text(changed, "description"),
        priority=_get_number(changed, "priority"),
        depends_on=_get_names(changed, "dependencies"),
        completion=completion,
    )


def create_from_form(paths: Paths, text: str) -> str:
    """The new tasks in words; empty where nothing was filled in."""
    found = import_tasks(paths, text, name="new task")
    names = ", ".join(task.id for task in found.tasks)
    return f"Created {pluralize(len(found.tasks), 'task')}: {names}"


def _read_mapping(text: str) -> Mapping[str, object]:
    try:
        value = YamlDocument("task", text).value
    except YamlSyntaxError as error:
        raise UsageError(f"nothing was changed: {error}", "edit it again, as YAML") from None
    if not isinstance(value, Mapping) or not {*map(str, value)} <= {*_EDITABLE_KEYS}:
        raise UsageError("nothing was changed: that is no form of a task", f"keys: {', '.join(_EDITABLE_KEYS)}")
    return {str(key): each for key, each in value.items()}


def _get_text(changed: Mapping[str, object], key: str) -> str | None:
    return str(changed[key] or "").strip() if key in changed else None


def _get_number(changed: Mapping[str, object], key: str) -> int | None:
    value = changed.get(key)
    if value is not None and not isinstance(value, int):
        raise UsageError(f"nothing was changed: {key} is not a number: {value!r}", "edit it again")
    return value


def _get_names(changed: Mapping[str, object], key: str) -> tuple[str, ...] | None:
    if key not in changed:
        return None
    value = changed[key] or []
    listed: Sequence[object] = value if isinstance(value, list) else str(value).split(",")
    return tuple(str(name).strip() for name in listed if str(name).strip())


def _render_text(key: str, text: str) -> list[str]:
    if "\n" not in text.strip():
        return [f"{key}: {_quote(text.strip())}"]
    return [f"{key}: |", *(f"  {line}".rstrip() for line in text.strip().split("\n"))]


def _quote(text: str) -> str:
    """As JSON writes it: that is YAML too."""
    return json.dumps(text, ensure_ascii=False)
