"""A repository with tasks, an agent that waits to be let go, and `ralph web` beside it."""

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.workshop import RALPH_ARGV, ProjectFixture

START_SECONDS = 20.0
PROMISES = {
    "coder": "IMPLEMENTATION_COMPLETE",
    "reviewer": "REVIEW_PASSED",
    "tester": "TESTS_PASSED",
    "qa": "QA_PASSED",
}
# Waits while a file hold.TASK lies in its home; asks where ask.TASK lies there, and works badly where bad.TASK does.
AGENT_SCRIPT = r"""#!/usr/bin/env python3
import json, os, re, subprocess, sys, time
from pathlib import Path

HOME = Path("{home}")
if "--version" in sys.argv:
    print("2.1.325 (Claude Code)")
    sys.exit()
prompt = sys.stdin.read()
task, stage = os.environ.get("RALPH_TASK", ""), os.environ.get("RALPH_STAGE", "")
name = task or "run"
number = len(list(HOME.glob(f"prompt.{{name}}.*"))) + 1
(HOME / f"prompt.{{name}}.{{number:03d}}").write_text(prompt)

def show(event):
    print(json.dumps(event), flush=True)

def say(text):
    show({{"type": "assistant", "message": {{"role": "assistant", "content": [{{"type": "text", "text": text}}]}}}})

def call(tool, given, output):
    use = {{"type": "tool_use", "id": f"t{{time.time_ns()}}", "name": tool, "input": given}}
    show({{"type": "assistant", "message": {{"role": "assistant", "content": [use]}}}})
    result = {{"type": "tool_result", "tool_use_id": use["id"], "content": output}}
    show({{"type": "user", "message": {{"role": "user", "content": [result]}}}})

show({{"type": "system", "subtype": "init", "session_id": "s"}})
for words in json.loads((HOME / "words.json").read_text()):
    say(words)
call("Bash", {{"command": "ls"}}, "one\ntwo")
while (HOME / f"hold.{{name}}").exists():
    time.sleep(0.05)
final = "Done."
asks = HOME / f"ask.{{name}}"
if asks.exists():
    final = f"<question>{{asks.read_text()}}</question>"
    asks.unlink()
elif stage in ("", "coder"):
    bad = (HOME / f"bad.{{name}}").exists()
    Path(f"{{name}}.txt").write_text(f"{{number}} {{'bad' if bad else 'done'}}\n")
    subprocess.run(["git", "add", "-A"])
    subprocess.run(["git", "commit", "-qm", f"Work on {{name}}"])
if "<question>" not in final:
    found = re.findall(r"<promise>([A-Z_]+)</promise>", prompt)
    final = f"Done.\n\n<promise>{{found[-1]}}</promise>" if found else "<response>DONE</response>"
say(final)
usage = {{"input_tokens": 5200, "output_tokens": 640}}
result = {{"type": "result", "subtype": "success", "is_error": False, "result": final}}
show({{**result, "total_cost_usd": 0.25, "usage": usage}})
"""


class PageRoom:
    """Where the tests of the web page work."""

    def __init__(self, folder: Path) -> None:
        self.workshop = ProjectFixture(folder)
        self.repo, self.home = self.workshop.repo, self.workshop.home
        (self.repo / "README").write_text("x\n")
        self.workshop.git("add", "-A")
        self.workshop.git("commit", "-qm", "Start")
        program = self.home / "claude"
        program.write_text(AGENT_SCRIPT.format(home=self.home))
        program.chmod(0o755)
        self.workshop.settings()
        self.say("Working on it.")
        self._servers: list[subprocess.Popen[str]] = []

    def say(self, *words: str) -> None:
        """What every agent says from now on."""
        (self.home / "words.json").write_text(json.dumps(words))

    def add_tasks(self, *names: str, **more: object) -> None:
        """Each is done once NAME.txt says so, which a command looks for in every stage."""
        stages = {
            role: {
                "promise": promise,
                "description": f"Do it as {role}",
                "verification_method": "external",
                "max_iterations": 2,
            }
            for role, promise in PROMISES.items()
        }
        tasks = []
        for name in names:
            check = {"verification_config": {"command": f"grep done {name}.txt"}}
            own = {role: {**stage, **check} for role, stage in stages.items()}
            completion = {"outcome": f"{name} is done", "acceptance_criteria": [f"{name}.txt says done"], **own}
            tasks.append({"id": name, "title": f"Make {name}", "completion": completion, **more})
        (self.home / "tasks.yaml").write_text(json.dumps({"tasks": tasks}))
        self.workshop.call("task", "import", str(self.home / "tasks.yaml"), "--spec", "files")

    def hold(self, *names: str) -> None:
        for name in names:
            (self.home / f"hold.{name}").touch()

    def let_go(self, *names: str) -> None:
        for name in names:
            (self.home / f"hold.{name}").unlink()

    def ask(self, name: str, question: str) -> None:
        """Its next agent asks this instead of working."""
        (self.home / f"ask.{name}").write_text(question)

    def work_badly(self, name: str) -> None:
        (self.home / f"bad.{name}").touch()

    def work_well(self, name: str) -> None:
        (self.home / f"bad.{name}").unlink()

    def read_prompts(self, name: str) -> list[str]:
        return [path.read_text() for path in sorted(self.home.glob(f"prompt.{name}.*"))]

    def serve(self, *words: str) -> str:
        """Starts `ralph web`; the link that it prints."""
        with (self.home / "web.log").open("a") as log:
            server = subprocess.Popen(
                [*RALPH_ARGV, "web", "--port", "0", *words],
                cwd=self.repo,
                env=self.workshop.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._servers.append(server)
        assert server.stdout is not None
        link = server.stdout.readline().strip()
        assert link.startswith("http://127.0.0.1:"), (link, (self.home / "web.log").read_text())
        return link

    def stop_servers(self) -> None:
        for server in self._servers:
            server.terminate()
            server.wait(10)
            if server.stdout is not None:
                server.stdout.close()
        self._servers.clear()

    def close(self) -> None:
        """Nobody is left behind."""
        self.stop_servers()
        for hold in self.home.glob("hold.*"):
            hold.unlink()
        for run in self.list_active_runs():
            self.workshop.ralph("cancel", run)

    def list_active_runs(self) -> list[str]:
        status = json.loads(self.workshop.call("status", "--json"))
        return [str(run["id"]) for run in status["runs"] if run["active"]]

    def read_task(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.workshop.call("task", "show", name, "--json"))["task"]
        return found


def wait_until(holds: Callable[[], object], what: str, seconds: float = START_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
        time.sleep(0.05)
