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

from ralph.agents._script import COMMIT_QUESTION, OVERLOAD, TOKENS, Fault, Run, Step, loaded, only_item, todo

SESSION = "00000000-0000-4000-8000-000000000000"


class Player:
    """One run of a script."""

    def __init__(self, put: Callable[[str], None]) -> None:
        self.put = put
        self.final = ""
        self.cost = 0.0
        self.tokens = dict(TOKENS)
        self.turns = 0
        self.calls = 0

    def play(self, steps: list[Step]) -> None:
        """All steps, in order."""
        self.emit({"type": "system", "subtype": "init", "cwd": os.getcwd(), "model": "scripted", "tools": []})
        for step in steps:
            name, given = only_item(step)
            try:
                STEPS[name](self, given)
            except (KeyError, TypeError) as wrong:
                raise Fault(f"{step!r} is not what {name!r} needs: {wrong}") from wrong
        self.close(result=self.final)

    # -- steps -------------------------------------------------------------------------------------
    def say(self, text: str) -> None:
        """The assistant's words."""
        self.final = text
        self.speak({"type": "text", "text": text})

    def think(self, text: str) -> None:
        """Words for itself."""
        self.speak({"type": "thinking", "thinking": text, "signature": ""})

    def write(self, given: dict[str, str]) -> None:
        """A whole file."""
        path, content = given["path"], given["content"]
        self.use("Write", {"file_path": path, "content": content})
        try:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
        except OSError as wrong:
            return self.answer(f"{path}: {wrong.strerror}", is_error=True)
        return self.answer(f"File created successfully at: {path}")

    def edit(self, given: dict[str, str]) -> None:
        """One place in a file; an error when it is not there, as for any agent."""
        path, old, new = given["path"], given["old"], given["new"]
        self.use("Edit", {"file_path": path, "old_string": old, "new_string": new})
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except OSError as wrong:
            return self.answer(f"{path}: {wrong.strerror}", is_error=True)
        if old not in text:
            return self.answer(f"String to replace not found in {path}.", is_error=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new, 1))
        return self.answer(f"The file {path} has been updated.")

    def bash(self, command: str) -> None:
        """A shell command; its exit code decides whether it is an error."""
        self.use("Bash", {"command": command})
        code, output = shell(command)
        self.answer(f"Exit code {code}\n{output}".rstrip("\n") if code else output, is_error=bool(code))

    def todo(self, items: list[str]) -> None:
        """The whole plan."""
        self.use("TodoWrite", {"todos": [todo(item) for item in items]})
        self.answer("Todos have been modified successfully.")

    def sleep(self, seconds: float) -> None:
        """Nothing for a while."""
        time.sleep(seconds)

    def hang(self, _: object) -> None:
        """Nothing, until someone ends us."""
        while True:
            time.sleep(3600)

    def raw(self, text: str) -> None:
        """Whatever a broken agent may print."""
        self.put(text)

    def pay(self, dollars: float) -> None:
        """Money on top of what was spent so far."""
        self.cost += dollars

    def count(self, tokens: dict[str, int]) -> None:
        """Tokens of every turn from here on."""
        self.tokens.update(tokens)

    def conclude(self, text: str) -> None:
        """Final text that was never said."""
        self.final = text

    def leave(self, code: int) -> NoReturn:
        """Gone, in the middle of everything."""
        os._exit(code)

    def break_off(self, _: object) -> NoReturn:
        """The service hung up, and we with it."""
        os._exit(1)

    def fall_silent(self, _: object) -> NoReturn:
        """A success, and not a word."""
        self.close(result="")
        raise SystemExit(0)

    def overload(self, _: object) -> NoReturn:
        """The service has too much to do."""
        self.fail(OVERLOAD)

    def fail(self, given: dict[str, Any]) -> NoReturn:
        """The service refused."""
        self.speak({"type": "text", "text": given["message"]})
        self.close(result=given["message"], is_error=True, api_error_status=given.get("status"))
        raise SystemExit(1)

    # -- events ------------------------------------------------------------------------------------
    def speak(self, block: Step) -> None:
        """One content block of the assistant."""
        self.turns += 1
        message = {"role": "assistant", "model": "scripted", "content": [block], "usage": self.tokens}
        self.emit({"type": "assistant", "message": message, "parent_tool_use_id": None})

    def use(self, tool: str, given: Step) -> None:
        """A tool call; `answer` ends it."""
        self.calls += 1
        self.speak({"type": "tool_use", "id": f"toolu_{self.calls:04}", "name": tool, "input": given})

    def answer(self, output: str, is_error: bool = False) -> None:
        """The result of the last tool call."""
        block = {"tool_use_id": f"toolu_{self.calls:04}", "type": "tool_result", "content": output}
        message = {"role": "user", "content": [{**block, "is_error": is_error}]}
        self.emit({"type": "user", "message": message, "parent_tool_use_id": None})

    def close(self, **told: object) -> None:
        """The result event."""
        usage = {name: count * self.turns for name, count in self.tokens.items()}
        result = {"type": "result", "subtype": "success", "is_error": False, "api_error_status": None, **told}
        self.emit({**result, "num_turns": self.turns, "total_cost_usd": self.cost, "usage": usage})

    def emit(self, event: Step) -> None:
        """One line."""
        self.put(json.dumps({**event, "session_id": SESSION}) + "\n")


STEPS: dict[str, Callable[[Player, Any], object]] = {
    "say": Player.say,
    "think": Player.think,
    "write": Player.write,
    "edit": Player.edit,
    "bash": Player.bash,
    "todo": Player.todo,
    "sleep": Player.sleep,
    "hang": Player.hang,
    "raw": Player.raw,
    "cost": Player.pay,
    "usage": Player.count,
    "result": Player.conclude,
    "exit": Player.leave,
    "error": Player.fail,
    "overload": Player.overload,
    "empty": Player.fall_silent,
    "cut": Player.break_off,
}


def shell(command: str) -> tuple[int, str]:
    """Run it as the real agents do, in a session of its own; output goes to a file, which nothing can hold open."""
    output = scratch()
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


def scratch() -> int:
    """A file without a name."""
    try:
        return os.memfd_create("output")
    except AttributeError:  # only Linux has it
        pass
    path = f"/tmp/ralph-player-{os.getpid()}"
    number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.unlink(path)
    return number


def iteration(path: str, counts: bool) -> int:
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


def printed(text: str) -> None:
    """Out at once: whoever reads us follows along."""
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def silent(text: str) -> None:
    """Nothing."""


def answer_to_commit(run: Run) -> list[Step]:
    """The steps that answer that question."""
    return [{"say": run.message}] if run.message else []


def main(words: list[str]) -> None:
    """Play the script named in the words."""
    paths = [word for word in words if word != "--text"]
    if len(paths) != 1:
        raise Fault("usage: python -m ralph.agents._player SCRIPT [--text] < prompt")
    text = "--text" in words
    runs = loaded(paths[0])
    prompt = sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    asked = prompt.startswith(COMMIT_QUESTION) or (text and not prompt)
    run = runs[min(iteration(paths[0], counts=not asked), len(runs)) - 1]
    player = Player(silent if text else printed)
    player.play(answer_to_commit(run) if asked else run.steps)
    if text:
        printed(f"{player.final}\n")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Fault as wrong:
        sys.stderr.write(f"scripted agent: {wrong}\n")
        sys.exit(2)
