"""The scripted agent's program: plays a script as a coding agent would, and prints Claude's stream-json.

    python -m ralph.agents._player SCRIPT [--text] < prompt

Run N of a loop plays entry N of the script (see `_script`); N is RALPH_ITERATION, else counted in the file
SCRIPT.count. Asked for a commit message it answers with the run's `message`, or its last `say`, and does nothing else.
With --text only the final text is printed.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

from ralph.agents._script import (
    COMMIT_QUESTION,
    DEFAULT_TOKENS,
    OVERLOAD_ERROR,
    ScriptError,
    ScriptRun,
    Step,
    find_judgement,
    load_script,
    parse_step,
    parse_todo,
)
from ralph.model.judge import JUDGE_QUESTION

SCRIPTED_SESSION = "00000000-0000-4000-8000-000000000000"


class Player:
    """One run of a script."""

    def __init__(self, put: Callable[[str], None]) -> None:
        self.put = put
        self.final_text = ""
        self.cost = 0.0
        self.tokens = dict(DEFAULT_TOKENS)
        self.turns = 0
        self.calls = 0

    def play(self, steps: list[Step]) -> None:
        self.emit({"type": "system", "subtype": "init", "cwd": os.getcwd(), "model": "scripted", "tools": []})
        for step in steps:
            name, given = parse_step(step)
            try:
                STEP_METHODS[name](self, given)
            except (KeyError, TypeError) as wrong:
                raise ScriptError(f"{step!r} is not what {name!r} needs: {wrong}") from wrong
        self.emit_result(result=self.final_text)

    # -- steps -------------------------------------------------------------------------------------
    def say(self, text: str) -> None:
        self.final_text = text
        self.emit_block({"type": "text", "text": text})

    def think(self, text: str) -> None:
        self.emit_block({"type": "thinking", "thinking": text, "signature": ""})

    def write(self, given: dict[str, str]) -> None:
        path, content = given["path"], given["content"]
        self.emit_tool_use("Write", {"file_path": path, "content": content})
        try:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
        except OSError as wrong:
            return self.emit_tool_result(f"{path}: {wrong.strerror}", is_error=True)
        return self.emit_tool_result(f"File created successfully at: {path}")

    def edit(self, given: dict[str, str]) -> None:
        """One place in a file; an error when it is not there, as for any agent."""
        path, old, new = given["path"], given["old"], given["new"]
        self.emit_tool_use("Edit", {"file_path": path, "old_string": old, "new_string": new})
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except OSError as wrong:
            return self.emit_tool_result(f"{path}: {wrong.strerror}", is_error=True)
        if old not in text:
            return self.emit_tool_result(f"String to replace not found in {path}.", is_error=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new, 1))
        return self.emit_tool_result(f"The file {path} has been updated.")

    def run_command(self, command: str) -> None:
        """A shell command; its exit code decides whether it is an error."""
        self.emit_tool_use("Bash", {"command": command})
        code, output = run_shell(command)
        self.emit_tool_result(f"Exit code {code}\n{output}".rstrip("\n") if code else output, is_error=bool(code))

    def write_todos(self, items: list[str]) -> None:
        self.emit_tool_use("TodoWrite", {"todos": [parse_todo(item) for item in items]})
        self.emit_tool_result("Todos have been modified successfully.")

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def hang(self, _: object) -> None:
        """Nothing, until someone ends us."""
        while True:
            time.sleep(3600)

    def put_raw(self, text: str) -> None:
        """Whatever a broken agent may print."""
        self.put(text)

    def add_cost(self, dollars: float) -> None:
        """Money on top of what was spent so far."""
        self.cost += dollars

    def set_usage(self, tokens: dict[str, int]) -> None:
        """Tokens of every turn from here on."""
        self.tokens.update(tokens)

    def set_result(self, text: str) -> None:
        """Final text that was never said."""
        self.final_text = text

    def exit_now(self, code: int) -> NoReturn:
        """Gone, in the middle of everything."""
        os._exit(code)

    def exit_cut_off(self, _: object) -> NoReturn:
        """The service hung up, and we with it."""
        os._exit(1)

    def finish_empty(self, _: object) -> NoReturn:
        self.emit_result(result="")
        raise SystemExit(0)

    def fail_overloaded(self, _: object) -> NoReturn:
        """The service has too much to do."""
        self.fail(OVERLOAD_ERROR)

    def fail(self, given: dict[str, Any]) -> NoReturn:
        self.emit_block({"type": "text", "text": given["message"]})
        self.emit_result(result=given["message"], is_error=True, api_error_status=given.get("status"))
        raise SystemExit(1)

    # -- events ------------------------------------------------------------------------------------
    def emit_block(self, block: Step) -> None:
        """One content block of the assistant."""
        self.turns += 1
        message = {"role": "assistant", "model": "scripted", "content": [block], "usage": self.tokens}
        self.emit({"type": "assistant", "message": message, "parent_tool_use_id": None})

    def emit_tool_use(self, tool: str, given: Step) -> None:
        """A tool call; `answer` ends it."""
        self.calls += 1
        self.emit_block({"type": "tool_use", "id": f"toolu_{self.calls:04}", "name": tool, "input": given})

    def emit_tool_result(self, output: str, is_error: bool = False) -> None:
        """The result of the last tool call."""
        block = {"tool_use_id": f"toolu_{self.calls:04}", "type": "tool_result", "content": output}
        message = {"role": "user", "content": [{**block, "is_error": is_error}]}
        self.emit({"type": "user", "message": message, "parent_tool_use_id": None})

    def call_missing_tool(self, given: Step) -> None:
        """It has no tools but its own: a script for a model may name others."""
        raise ScriptError(f"the scripted agent has no tool {given.get('name')!r}; only the scripted model knows `tool`")

    def emit_result(self, **told: object) -> None:
        usage = {name: count * self.turns for name, count in self.tokens.items()}
        result = {"type": "result", "subtype": "success", "is_error": False, "api_error_status": None, **told}
        self.emit({**result, "num_turns": self.turns, "total_cost_usd": self.cost, "usage": usage})

    def emit(self, event: Step) -> None:
        self.put(json.dumps({**event, "session_id": SCRIPTED_SESSION}) + "\n")


STEP_METHODS: dict[str, Callable[[Player, Any], object]] = {
    "say": Player.say,
    "think": Player.think,
    "write": Player.write,
    "edit": Player.edit,
    "bash": Player.run_command,
    "todo": Player.write_todos,
    "tool": Player.call_missing_tool,
    "sleep": Player.sleep,
    "hang": Player.hang,
    "raw": Player.put_raw,
    "cost": Player.add_cost,
    "usage": Player.set_usage,
    "result": Player.set_result,
    "exit": Player.exit_now,
    "error": Player.fail,
    "overload": Player.fail_overloaded,
    "empty": Player.finish_empty,
    "cut": Player.exit_cut_off,
}


def run_shell(command: str) -> tuple[int, str]:
    """Run it as the real agents do, in a session of its own; output goes to a file, which nothing can hold open."""
    output = open_scratch_file()
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, output, 1),
        (os.POSIX_SPAWN_DUP2, output, 2),
    ]
    child = os.posix_spawn(
        "/bin/sh",
        ["sh", "-c", command],
        os.environ,
        file_actions=actions,
        setsid=True,
        setsigdef=[signal.SIGPIPE],  # Python ignores it, shell pipelines must not
    )
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.lseek(output, 0, os.SEEK_SET)
    with open(output, "rb") as file:
        return code, file.read().decode("utf-8", "replace")


def open_scratch_file() -> int:
    try:
        return os.memfd_create("output")
    except AttributeError:  # only Linux has it
        pass
    path = f"/tmp/ralph-player-{os.getpid()}"
    number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.unlink(path)
    return number


def find_iteration(path: str, counts: bool) -> int:
    """Which run of the loop this is, from 1."""
    told = os.environ.get("RALPH_ITERATION", "")
    if told.isdigit():
        return max(1, int(told))
    counter = f"{path}.count"
    try:
        with open(counter, encoding="utf-8") as file:
            before = int(file.read() or 0)
    except (OSError, ValueError):
        before = 0
    if not counts:
        return max(1, before)
    with open(counter, "w", encoding="utf-8") as file:
        file.write(str(before + 1))
    return before + 1


def print_text(text: str) -> None:
    """Out at once: whoever reads us follows along."""
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def discard_text(text: str) -> None: ...


def build_commit_answer(run: ScriptRun) -> list[Step]:
    """The steps that answer that question."""
    return [{"say": run.message}] if run.message else []


def main(words: list[str]) -> None:
    """Play the script named in the words."""
    paths = [word for word in words if word != "--text"]
    if len(paths) != 1:
        raise ScriptError("usage: python -m ralph.agents._player SCRIPT [--text] < prompt")
    text = "--text" in words
    runs = load_script(paths[0])
    prompt = sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    if prompt.startswith(JUDGE_QUESTION):
        runs = [ScriptRun([{"say": find_judgement(runs)}])]
    asked = prompt.startswith(COMMIT_QUESTION) or (text and not prompt)
    run = runs[min(find_iteration(paths[0], counts=not asked), len(runs)) - 1]
    player = Player(discard_text if text else print_text)
    player.play(build_commit_answer(run) if asked else run.steps)
    if text:
        print_text(f"{player.final_text}\n")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except ScriptError as wrong:
        sys.stderr.write(f"scripted agent: {wrong}\n")
        sys.exit(2)
