"""A script's steps in the words of each client: the first tool it offers that can do it."""

import base64
import json
import shlex
from collections.abc import Callable, Iterable, Mapping

from ralph.agents._script import ScriptError, parse_todo
from ralph.devtools.conversation import ReplyText, ToolArguments, ToolCall

CallBatch = tuple[ToolCall, ...]  # calls of one answer
CALL_DESCRIPTION = "scripted"
ANSWER_TOOLS = ("StructuredOutput", "structured_output")  # Claude Code, Qwen Code
SHELL_TOOLS: Mapping[str, Callable[[str], ToolArguments]] = {
    "Bash": lambda command: {"command": command, "description": CALL_DESCRIPTION},  # Claude Code
    "exec_command": lambda command: {"cmd": command},  # Codex
    "exec": lambda command: f"text((await tools.exec_command({json.dumps({'cmd': command})})).output)",  # in JavaScript
    "shell_command": lambda command: {"command": command},
    "shell": lambda command: {"command": ["bash", "-lc", command]},
    "run_shell_command": lambda command: {"command": command, "description": CALL_DESCRIPTION},  # Gemini
    "bash": lambda command: {"command": command, "description": CALL_DESCRIPTION},  # opencode
}
TODO_TOOLS: Mapping[str, Callable[[list[dict[str, str]]], ToolArguments]] = {
    "TodoWrite": lambda items: {"todos": items},
    "todowrite": lambda items: {"todos": [{**item, "priority": "medium"} for item in items]},
    "write_todos": lambda items: {
        "todos": [{"description": item["content"], "status": item["status"]} for item in items]
    },
    "update_plan": lambda items: {"plan": [{"step": item["content"], "status": item["status"]} for item in items]},
}


class Toolbox:
    """What one client offers."""

    def __init__(self, offered: Iterable[str]) -> None:
        self._offered = frozenset(offered)

    def run_command(self, command: str) -> tuple[CallBatch, ...]:
        for name, given in SHELL_TOOLS.items():
            if name in self._offered:
                return ((ToolCall(name, given(command)),),)
        raise ScriptError(
            f"the client offers no tool to run a command: {', '.join(sorted(self._offered)) or 'none at all'}"
        )

    def build_judgement(self, words: str) -> ToolCall | ReplyText:
        """A judge's answer, by the tool that takes structured ones if there is one."""
        verdict, _, reason = words.partition(":")
        answer = json.loads(words) if words.startswith("{") else {"verdict": verdict, "reason": reason.strip()}
        answer = {"criteria": [], **answer}
        tool = next((name for name in ANSWER_TOOLS if name in self._offered), "")
        return ToolCall(tool, answer) if tool else ReplyText(json.dumps(answer))

    def write_file(self, given: Mapping[str, str]) -> tuple[CallBatch, ...]:
        path, content = given["path"], given["content"]
        if "Write" in self._offered:
            return ((ToolCall("Write", {"file_path": path, "content": content}),),)
        if "write" in self._offered:
            return ((ToolCall("write", {"filePath": path, "content": content}),),)
        if "create" in self._offered:  # Copilot
            return ((ToolCall("create", {"path": path, "file_text": content}),),)
        if "write_file" in self._offered and not self._wants_absolute_paths:
            return ((ToolCall("write_file", {"file_path": path, "content": content}),),)
        if self._has_patch_tool:
            return self._call_patch(f"*** Add File: {path}", [f"+{line}" for line in content.splitlines()])
        coded = base64.b64encode(content.encode()).decode()
        folder = shlex.quote(path.rpartition("/")[0] or ".")
        return self.run_command(f"mkdir -p {folder} && echo {coded} | base64 -d > {shlex.quote(path)}")

    def edit_file(self, given: Mapping[str, str]) -> tuple[CallBatch, ...]:
        """One place in a file; who must read a file before changing it does so."""
        path, old, new = given["path"], given["old"], given["new"]
        if "Edit" in self._offered:
            change = ToolCall("Edit", {"file_path": path, "old_string": old, "new_string": new})
            return ((ToolCall("Read", {"file_path": path}),), (change,))
        if "edit" in self._offered and "create" in self._offered:  # Copilot
            return ((ToolCall("edit", {"path": path, "old_str": old, "new_str": new}),),)
        if "edit" in self._offered and not self._wants_absolute_paths:
            change = ToolCall("edit", {"filePath": path, "oldString": old, "newString": new})
            return ((ToolCall("read", {"filePath": path}),), (change,))
        if "replace" in self._offered:
            names = {"file_path": path, "instruction": CALL_DESCRIPTION, "old_string": old, "new_string": new}
            return ((ToolCall("replace", names),),)
        return self.run_command(
            f"OLD={shlex.quote(old)} NEW={shlex.quote(new)} "
            f"perl -0777 -pi -e 's/\\Q$ENV{{OLD}}\\E/$ENV{{NEW}}/ or die' {shlex.quote(path)}"
        )

    def write_plan(self, items: Iterable[str], known: dict[str, str]) -> tuple[CallBatch, ...]:
        """The plan; nothing for a client without one. `known` are Claude's tasks and their state, kept up to date."""
        wanted = [parse_todo(item) for item in items]
        for name, given in TODO_TOOLS.items():
            if name in self._offered:
                return ((ToolCall(name, given(wanted)),),)
        return _build_task_calls(wanted, known) if "TaskCreate" in self._offered else ()

    @property
    def _wants_absolute_paths(self) -> bool:
        """Qwen's do, and a script knows only relative ones: its shell does the work."""
        return {"edit", "write_file"} <= self._offered

    @property
    def _has_patch_tool(self) -> bool:
        return bool(self._offered & {"apply_patch", "exec_command", "exec"})

    def _call_patch(self, head: str, lines: list[str]) -> tuple[CallBatch, ...]:
        patch = "\n".join(["*** Begin Patch", head, *lines, "*** End Patch"])
        if "apply_patch" in self._offered:
            return ((ToolCall("apply_patch", patch),),)
        if "exec" in self._offered:
            return ((ToolCall("exec", f"text(await tools.apply_patch({json.dumps(patch)}))"),),)
        return self.run_command(f"apply_patch <<'PATCH'\n{patch}\nPATCH")  # which Codex understands itself


def _build_task_calls(wanted: list[dict[str, str]], known: dict[str, str]) -> tuple[CallBatch, ...]:
    """Claude's tasks are made and changed one by one; they are numbered as they come."""
    new = [item["content"] for item in wanted if item["content"] not in known]
    known.update(dict.fromkeys(new, "pending"))
    numbers = {subject: str(number) for number, subject in enumerate(known, 1)}
    changed = [item for item in wanted if known[item["content"]] != item["status"]]
    known.update({item["content"]: item["status"] for item in changed})
    made = tuple(ToolCall("TaskCreate", {"subject": text, "description": text, "activeForm": text}) for text in new)
    moved = tuple(
        ToolCall("TaskUpdate", {"taskId": numbers[item["content"]], "status": item["status"]}) for item in changed
    )
    return tuple(batch for batch in (made, moved) if batch)
