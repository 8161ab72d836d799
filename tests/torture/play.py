"""Plays one history: a repository of its own, a scripted agent, the installed `ralph`; and looks how it ended."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torture.history import Case, History, Loop, Script, Tampering
from torture.projects import IGNORE, PROJECTS, STAND_INS, Project

HERE = Path(__file__).parent
TIMEOUT = 60
PROMPT = "Make add add."
WORKER: Mapping[Loop, str] = {"run": "work", "supervise": "work", "story": "implement", "execute": "coder"}
# Look at the changes, not at the words: the judge of whoever wants an honest one.
HONEST_JUDGE = (
    'if grep -qF -- "+$SEEN" "$H/prompt.judge" || grep -q "^+.*$SEEN" "$H/prompt.judge"'
    "; then verdict true VERIFIED; else verdict false NOT_VERIFIED; fi"
)
TASK = """\
- id: T1
  spec_id: sums
  title: Add
  completion:
    outcome: add adds
    acceptance_criteria: ["2 and 3 is 5"]
    coder: {verification_method: external, verification_config: {command: COMMAND}, max_iterations: LIMIT}
    qa: {verification_method: external, verification_config: {command: COMMAND}, max_iterations: 1}
"""
STORY = {
    "id": "US-001",
    "title": "Add",
    "description": "",
    "acceptanceCriteria": ["2 and 3 is 5"],
    "priority": 1,
    "passes": False,
    "reviewStatus": None,
    "reviewCount": 0,
    "reviewFeedback": "",
    "notes": "",
    "dependsOn": [],
}
# Of the events: what the agent says itself, and what names a check without a word on what it rests on.
NOT_OURS = {"said", "finished", "noted", "tool_started", "tool_ended", "planned", "gate_started", "gate_ended"}


@dataclass(frozen=True, kw_only=True)
class Played:
    """How a history ended. `ending` is refused, flagged, silent (complete, and nobody was told) or error."""

    ending: str
    calls: int  # of the one who works
    seconds: float
    told: str  # the last line, for people


@dataclass(frozen=True)
class Room:
    """The folders of one history, and its variables."""

    folder: Path
    loop: Loop
    history: History

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def repo(self) -> Path:
        return self.folder / "repo"

    @property
    def project(self) -> Project:
        return PROJECTS[self.history.project]

    @property
    def check(self) -> str:
        return "" if self.history.check == "none" else self.history.check or self.project.check

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self.home}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "TMPDIR": str(self.home / "tmp"),
            "LANG": "C.UTF-8",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "H": str(self.home),
            "LOOP": self.loop,
            "RALPH_AGENT_COMMAND": "worker",
        }

    def shell(self, text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", f'. "$H/prelude.sh"\n{text}'],
            cwd=self.repo,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT,
            check=False,
        )


def play(case: Case, folder: Path, templates: Path) -> Played:
    """In this folder, which is empty; projects that were made once are kept in the other."""
    room = Room(folder, case.loop, case.history)
    _copy_template(room, templates)
    _write_scripts(room)
    _write_programs(room)
    if case.history.before:
        prepared = room.shell(case.history.before)
        assert prepared.returncode == 0, prepared.stderr
    began = time.monotonic()
    try:
        done = _run_loop(room)
        if case.history.then:
            done = room.shell(f'loop() {{ {_loop_command(room)} "$@"; }}\n{case.history.then}')
    except subprocess.TimeoutExpired:
        return Played(ending="error", calls=_count_calls(room), seconds=TIMEOUT, told="it hangs")
    return Played(
        ending=_classify(done, room),
        calls=_count_calls(room),
        seconds=time.monotonic() - began,
        told=_last_words(done),
    )


def _copy_template(room: Room, templates: Path) -> None:
    history = room.history
    about = json.dumps(
        [room.loop, history.project, history.files, room.check, history.settings, history.tasks, history.limit]
    )
    template = templates / f"{os.getpid()}-{abs(hash(about)):x}"
    if not template.exists():
        _make_template(Room(template, room.loop, history))
    shutil.copytree(template, room.folder, symlinks=True, dirs_exist_ok=True)


def _make_template(room: Room) -> None:
    for folder in (room.home / "bin", room.home / "tmp", room.repo):
        folder.mkdir(parents=True)
    _write(room.home / ".gitconfig", "[user]\nname = t\nemail = t@localhost\n[init]\ndefaultBranch = main\n")
    _write(room.home / "prelude.sh", (HERE / "prelude.sh").read_text())
    for name in room.project.programs:
        _write(room.home / "bin" / name, STAND_INS[name])
    once = {"max_iterations": 1}
    specflow = {"judge": {"agent": "judge"}, "max_send_backs": 1, "reviewer": once, "tester": once}
    settings = {"guardrails": [room.check] if room.check else [], "specflow": specflow}
    files = {
        ".gitignore": IGNORE,
        ".ralph/settings.json": json.dumps({**settings, **room.history.settings}, indent=2) + "\n",
        **_story_files(room),
        **_supervised_files(room),
        **room.project.files,
        **room.history.files,
    }
    for name, text in files.items():
        _write(room.repo / name, text)
    task = (room.history.tasks or TASK).replace("COMMAND", json.dumps(room.check))
    _write(room.home / "tasks.yaml", task.replace("LIMIT", str(room.history.limit)))
    imported = f"ralph task import {room.home}/tasks.yaml" if room.loop == "execute" else "true"
    made = room.shell(
        f"set -e; git init -q --template=; git add -A; git commit -qm Start; {room.project.setup or 'true'}\n{imported}"
    )
    assert made.returncode == 0, made.stdout + made.stderr


def _story_files(room: Room) -> dict[str, str]:
    if room.loop != "story":
        return {}
    document = {
        "project": "sums",
        "branchName": "main",
        "description": "d",
        "verifyCommands": [room.check] if room.check else [],
        "userStories": [STORY],
    }
    return {
        "ralph/prd.md": "# Sums\n",
        "ralph/progress.txt": "# Progress\n",
        "ralph/prompt.md": "Do the next story.\n",
        "ralph/tasks.json": json.dumps(document, indent=2) + "\n",
    }


def _supervised_files(room: Room) -> dict[str, str]:
    return {"work/sums/task-1/TASK.md": f"{PROMPT}\n"} if room.loop == "supervise" else {}


def _write_scripts(room: Room) -> None:
    roles: dict[str, Script] = {WORKER[room.loop]: room.history.does, **room.history.others}
    for role, script in roles.items():
        turns = (script,) if isinstance(script, str) else script
        for number, turn in enumerate(turns, 1):
            text = turn.replace("HONEST_JUDGE", HONEST_JUDGE).replace("FIX", room.project.fix)
            _write(room.home / "scripts" / role / str(number), f"{text}\n")
            _write(room.home / "scripts" / role / "last", f"{text}\n")


def _write_programs(room: Room) -> None:
    for name, source in (("worker", "agent.sh"), ("judge", "judge.sh")):
        text = (HERE / source).read_text().replace("@HOME@", str(room.home)).replace("@LOOP@", room.loop)
        _write(room.home / "bin" / name, text.replace("@SEEN@", room.project.seen))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if text.startswith("#!"):
        path.chmod(0o755)


def _loop_command(room: Room) -> str:
    options, limit = room.history.options, room.history.limit
    match room.loop:
        case "run":
            return f"ralph run --json -p '{PROMPT}' -m {limit} {options}"
        case "supervise":
            check = f"--check '{room.check}'" if room.check else ""
            return (
                f"ralph supervise work/sums/task-1 --json --max-restarts {limit} --restart-delay 0"
                f" --poll-interval 0.05 {check} {options}"
            )
        case "story":
            return f"ralph story run --json -n {2 * limit} {options}"
        case "execute":
            return f"ralph execute --json {options}"


def _run_loop(room: Room) -> subprocess.CompletedProcess[str]:
    """By its own pid, so that a history may end it."""
    return room.shell(f'echo $$ > "$H/ralph.pid"; exec {_loop_command(room)}')


def _count_calls(room: Room) -> int:
    found = room.home / f"calls.{WORKER[room.loop]}"
    return int(found.read_text()) if found.exists() else 0


def _classify(done: subprocess.CompletedProcess[str], room: Room) -> str:
    refused_to_start = done.returncode == 2 and room.history.then and '"code":"config"' in done.stdout + done.stderr
    if done.returncode in (1, 3) or refused_to_start:
        return "refused"
    if done.returncode != 0 or "Traceback" in done.stderr:
        return "error"
    names = room.history.names.split()
    told = "\n".join([*_our_events(done.stdout), *_read_receipts(room), done.stderr])
    return "flagged" if any(name in told for name in names) else "silent"


def _our_events(output: str) -> Iterable[str]:
    for line in output.splitlines():
        try:
            event: dict[str, Any] = json.loads(line)
        except ValueError:
            continue
        is_ours = event.get("event", {}).get("type") not in NOT_OURS
        if is_ours or event.get("iteration") == 0:  # before the first agent nobody else speaks
            yield line


def _read_receipts(room: Room) -> Iterable[str]:
    for path in room.folder.rglob("receipt.json"):
        receipt = json.loads(path.read_text())
        receipt.pop("checks", None)  # they name their commands, and files with them
        changed = receipt.get("changed_proofs", [])
        receipt["changed_proofs"] = [each for each in changed if each["kind"] != "added"]  # a new test is no warning
        yield json.dumps(receipt)


def _last_words(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stdout + done.stderr).strip().splitlines()
    ended = [line for line in lines if '"run_ended"' in line]
    try:
        return str(json.loads(ended[-1])["event"]["why"]) if ended else (lines[-1] if lines else "")
    except (ValueError, KeyError):
        return lines[-1]


def describe_result(case: Case, played: Played) -> str:
    """In the words of what the data expects; what it never expects is an error, or honest work at another call."""
    if isinstance(case.history, Tampering):
        unseen = case.expected if case.expected in ("miss", "sandbox") else "miss"
        return unseen if played.ending == "silent" else played.ending
    if played.ending in ("refused", "error"):
        return {"refused": "alarm"}.get(played.ending, played.ending)
    if played.calls != case.history.at:
        return f"call {played.calls}"
    return "named" if played.ending == "flagged" else "completes"
