"""`ralph dev llm` as a user meets it."""

import json
import signal
import socket
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from support.workshop import ProjectFixture

TOOLS = [{"name": "Bash"}]


def script(workshop: ProjectFixture, *runs: object) -> str:
    path = workshop.home / "script.json"
    path.write_text(json.dumps(runs))
    return str(path)


def ask(url: str, session: str) -> str:
    body = json.dumps({"messages": [{"role": "user", "content": "hi"}], "tools": TOOLS}).encode()
    headers = {"content-type": "application/json", "x-api-key": "s3cret", "x-claude-code-session-id": session}
    with urllib.request.urlopen(urllib.request.Request(f"{url}/v1/messages", body, headers), timeout=10) as answer:
        told: dict[str, Any] = json.load(answer)
    return str(told["content"][0]["text"])


def test_it_tells_its_address_plays_once_and_keeps_a_log(workshop: ProjectFixture) -> None:  # issue 4
    log = workshop.home / "log.ndjson"
    words = ("dev", "llm", script(workshop, [{"say": "one"}], [{"say": "two"}]), "--once", "--log", str(log))
    with workshop.start(*words) as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        assert [ask(url, "a"), ask(url, "b")] == ["one", "two"]
        assert server.wait(10) == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["run"] for line in lines] == [1, 2]
    assert "s3cret" not in log.read_text()


def test_without_once_it_stays_until_ctrl_c(workshop: ProjectFixture) -> None:
    path = Path(script(workshop)).with_suffix(".yaml")
    path.write_text("- - say: one\n")
    with workshop.start("dev", "llm", str(path)) as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        assert [ask(url, name) for name in "abc"] == ["one"] * 3
        server.send_signal(signal.SIGINT)
        assert server.wait(10) == 130
        assert server.stderr is not None
        assert server.stderr.read().strip() == ""


@pytest.mark.parametrize(
    ("runs", "says"), [([[{"dance": 1}]], "'dance'"), ([], "list of runs"), (["say"], "is not a run")]
)
def test_a_bad_script_is_told_before_it_serves(workshop: ProjectFixture, runs: list[object], says: str) -> None:
    done = workshop.ralph("dev", "llm", script(workshop, *runs))
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert "docs/agents.md" in done.stderr


def test_a_port_in_use_is_told(workshop: ProjectFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = workshop.ralph("dev", "llm", script(workshop, [{"say": "x"}]), "--port", str(port))
    assert done.returncode == 2
    assert f"cannot listen on port {port}" in done.stderr


# -- what agents print that nobody knows yet ------------------------------------------------------
def test_unknown_events_are_counted_hinted_at_once_and_never_fatal(workshop: ProjectFixture) -> None:  # issue 4
    novelty = '{"type":"novelty","of":"next month"}\n'
    steps = [{"raw": novelty}, {"say": "Hm."}, {"raw": novelty * 3 + "{broken\n"}, {"say": "<response>DONE</response>"}]
    workshop.settings(
        agent={"command": "scripted", "flags": [script(workshop, [{"raw": novelty}, {"say": "No."}], steps)]}
    )
    shown = workshop.ralph("run", "-p", "x")
    assert shown.returncode == 0
    assert shown.stdout.count("novelty") == 1
    assert "this agent may need a newer ralph" in shown.stdout
    told = workshop.ralph("run", "-p", "x", "--json").stdout
    kinds = [
        event.get("kind", "")
        for line in told.splitlines()
        if (event := json.loads(line)["event"])["type"] == "unparsed"
    ]
    assert sorted(kinds) == ["", *["novelty"] * 5]
