"""The real Claude Code and Codex in bubblewrap: whole runs against the scripted model, and nothing else in reach."""

import json
import re
import shutil
import subprocess

import pytest

from support.client_room import ClientFixture

both = pytest.mark.parametrize(
    "room", [pytest.param(name, marks=pytest.mark.clients) for name in ("claude", "codex")], indirect=True
)
pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="NOT RUN: bubblewrap is not installed here"),
]

LOOK = (
    "ls ~ > seen-home.txt; cat $SECRET_FILE > seen-secret.txt 2>&1; ls .git/ralph > seen-state.txt 2>&1; "
    "bash -c 'exec 3<>/dev/tcp/127.0.0.1/$CLOSED_PORT' > seen-port.txt 2>&1; "
    "echo evil > .git/hooks/post-commit 2> seen-hook.txt; env | grep -c RALPH_CONTAINED > seen-inside.txt"
)


def contain(room: ClientFixture, guardrails: tuple[str, ...] = ()) -> None:
    """Settings for a sandbox from which the model is all that can be reached."""
    config = room.home / ".codex/config.toml"
    text = json.dumps(room.environment) + (config.read_text() if config.exists() else "")
    [port] = set(re.findall(r"http://127\.0\.0\.1:(\d+)", text))
    room.settings(flags=[], sandbox={"kind": "bubblewrap", "network": [f"127.0.0.1:{port}"]}, guardrails=guardrails)


@both
def test_a_whole_run_sees_the_model_and_nothing_else(room: ClientFixture) -> None:
    (room.home / "secret").write_text("secret of the user")
    look = LOOK.replace("$SECRET_FILE", str(room.home / "secret")).replace("$CLOSED_PORT", "9")
    room.commit("Begin", **{"a.txt": "a"})
    room.model([{"bash": look}, {"bash": "echo made > made.txt"}, {"say": "<response>DONE</response>"}])
    contain(room, ("test -s made.txt",))
    told = room.run("-p", "Make it. When all is done, answer <response>DONE</response>.")
    assert (told.code, told.outcomes) == (0, ["finished"]), (told.events, told.stderr)
    [started] = told.of("run_started")
    assert started["isolation"].startswith("sandbox: bubblewrap, network 127.0.0.1:")
    seen = {path.name: path.read_text() for path in room.repo.glob("seen-*.txt")}
    assert seen["seen-inside.txt"] == "1\n"
    assert "secret" not in seen["seen-home.txt"] + seen["seen-secret.txt"].replace("secret:", "").replace("/secret", "")
    assert seen["seen-state.txt"] == ""
    assert "refused" in seen["seen-port.txt"]
    assert not (room.repo / ".git/hooks/post-commit").exists()


@both
def test_a_whole_task_is_executed_and_lands(room: ClientFixture) -> None:
    room.commit("Begin", **{"a.txt": "a"})
    elsewhere = f"ls {room.repo}/a.txt; ls {room.repo}/.ralph/worktrees"
    work = [{"bash": f"({elsewhere}) > seen.txt 2>&1; git add -A; git commit -qm 'Made by the agent'"}]
    promises = ["IMPLEMENTATION_COMPLETE", "REVIEW_PASSED", "TESTS_PASSED", "QA_PASSED"]
    room.model(
        *(
            [*(work if not at else []), {"say": f"Made.\n\n<promise>{each}</promise>"}]
            for at, each in enumerate(promises)
        )
    )
    contain(room)
    assert room.ralph("spec", "create", "made").returncode == 0
    checks = [
        word
        for role in ("coder", "reviewer", "tester", "qa")
        for word in (
            f"--{role}-verify",
            "external",
            f"--{role}-verify-cmd",
            'test -s seen.txt && test -n "$RALPH_CONTAINED"',
        )
    ]
    made = room.ralph("task", "create", "T-1", "made", "Make it", "--outcome", "made", "--acceptance", "made", *checks)
    assert made.returncode == 0, made.stderr
    done = room.ralph("execute", "--json", timeout=220)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    git = ["git", "log", "--format=%s", "-n", "5"]
    log = subprocess.run(git, cwd=room.repo, env=room.environment, capture_output=True, text=True, check=True)
    assert "Made by the agent" in log.stdout
    assert (room.repo / "seen.txt").read_text().count("No such file or directory") == 1, (
        "the user's checkout is not there"
    )
    assert "T-1" in (room.repo / "seen.txt").read_text()


@both
@pytest.mark.skipif(shutil.which("socat") is None, reason="NOT RUN: socat is not installed here")
def test_shut_in(room: ClientFixture) -> None:
    """In an agent's own sandbox its commands stay within the work tree. The name is short because the folder is named
    after it: Claude Code puts sockets below it, and a socket's path has at most 107 characters."""
    outside = room.home.parent / "outside"
    outside.mkdir()
    look = f"echo made > made.txt; touch {outside}/made 2> seen.txt; touch {room.home}/made 2>> seen.txt; true"
    room.commit("Begin", **{"a.txt": "a"})
    room.model([{"bash": look}, {"say": "<response>DONE</response>"}])
    room.settings(flags=[], sandbox={"kind": "agent"}, guardrails=["test -s made.txt"])
    told = room.run("-p", "Make it. When all is done, answer <response>DONE</response>.")
    assert (told.code, told.outcomes) == (0, ["finished"]), (told.events, told.stderr)
    [started] = told.of("run_started")
    assert "own sandbox, for its commands; checks run on the host" in started["isolation"]
    assert [path.name for path in (*outside.iterdir(), room.home / "made") if path.exists()] == []
    assert (room.repo / "seen.txt").read_text().count("made") == 2
