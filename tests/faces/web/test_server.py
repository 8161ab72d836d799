"""`ralph web` as a program: how it begins, what outlives it, how it ends."""

import json
import shlex
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from ralph.faces.web.access_tokens import read_token_file
from ralph.faces.web.server import is_loopback, name_host, open_listener
from ralph.model.errors import MachineError, RalphError, UsageError
from support.workshop import ProjectFixture, make_result_command

TOOL_USE = {
    "type": "assistant",
    "message": {"content": [{"type": "tool_use", "id": "1", "name": "Write", "input": {"file_path": "file.txt"}}]},
}
STEAL = """
import json, urllib.error, urllib.request
def ask(path, body=None):
    headers = {{"Authorization": "Bearer {token}", "Content-Type": "application/json"}}
    try:
        with urllib.request.urlopen(urllib.request.Request("{url}/" + path, body, headers)) as answer:
            print(path, answer.status)
    except urllib.error.HTTPError as error:
        print(path, error.code, json.load(error)["error"]["code"])
ask("board")
ask("links", b"{{}}")
"""
WAIT = "while [ ! -e {gate} ]; do sleep 0.05; done"


class Client:
    """Another program, with the token of the file."""

    def __init__(self, link: str, token_file: Path) -> None:
        self.link = link
        self._host = link.removeprefix("http://").partition("/")[0]
        self.token = token_file.read_text().strip()

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        connection = HTTPConnection(self._host, timeout=30)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text) if text[:1] in (b"{", b"[") else text.decode()

    def get(self, path: str) -> Any:
        status, answer = self.ask("GET", f"/api/v1/{path}")
        assert status == 200, answer
        return answer


@contextmanager
def serving(workshop: ProjectFixture) -> Iterator[tuple[Any, Client]]:
    token = workshop.home / "token"
    with workshop.start("web", "--port", "0", "--token-file", str(token)) as server:
        assert server.stdout is not None
        yield server, Client(server.stdout.readline().strip(), token)


def test_a_run_that_was_started_in_the_browser_outlives_the_server(workshop: ProjectFixture) -> None:
    gate = workshop.home / "gate"
    work = f"echo new > file.txt; printf '%s\\n' {shlex.quote(json.dumps(TOOL_USE))}; {WAIT.format(gate=gate)}"
    workshop.agent(f"{work}; {make_result_command('<response>DONE</response>')}")
    workshop.settings()
    workshop.git("commit", "-q", "--allow-empty", "-m", "first")
    with serving(workshop) as (server, client):
        status, started = client.ask("POST", "/api/v1/runs", {"prompt": "- make a file", "max_iterations": 2})
        assert status == 200, started
        run = started["run"]
        assert [each["id"] for each in client.get("board")["runs"]] == [run]
        assert client.ask("POST", "/api/v1/runs", {"prompt": "x"})[0] == 409  # the work tree is taken
        server.kill()
        server.wait()
    with serving(workshop) as (server, client):
        shown = client.get(f"runs/{run}")
        assert (shown["run"]["active"], shown["prompt"]) == (True, "- make a file")
        gate.touch()
        ended = client.get(f"runs/{run}?wait=30")
        assert ended["run"]["outcome"] == "completed"
        assert ended["run"]["strip"] == ["passed"]
        assert ended["run"]["cost_usd"] == 0.01
        diff = client.get(f"runs/{run}/diff?iteration=1")
        assert {"path": "file.txt", "added": 1, "removed": 0} in diff["files"]
        assert "+new" in diff["text"]
        costs = client.get("costs?by=agent&since=today")
        assert (costs["total"]["cost_usd"], costs["series"][0]["values"]) == (0.01, [0.01])
        assert "run" in [hit["kind"] for hit in client.get("search?q=make")["hits"]]
        workshop.agent(make_result_command("not yet"))
        status, quick = client.ask("POST", "/api/v1/runs", {"prompt": "in no time", "max_iterations": 1})
        assert (status, bool(quick["run"])) == (200, True), quick
        assert client.get(f"runs/{quick['run']}?wait=30")["run"]["outcome"] == "exhausted"
        began = time.monotonic()
        server.send_signal(signal.SIGINT)
        _, words = server.communicate(timeout=10)
        assert (server.returncode, time.monotonic() - began < 3) == (0, True)
        assert "uns continue" in words


def test_an_agent_gets_no_server_and_steers_nothing_with_a_token_it_found(workshop: ProjectFixture) -> None:
    (workshop.home / "ralph").write_text(f'#!/bin/sh\nexec {sys.executable} -m ralph "$@"\n')
    (workshop.home / "ralph").chmod(0o755)
    workshop.settings()
    with serving(workshop) as (server, client):
        script = workshop.home / "steal.py"
        script.write_text(STEAL.format(url=f"{client.link.partition('/login')[0]}/api/v1", token=client.token))
        quiet = f"env -u RALPH_RUN_ID setsid {sys.executable} {script} > stolen"  # it hides where it comes from
        workshop.agent(f"ralph web > told 2>&1; {quiet}; {make_result_command('x')}")
        workshop.ralph("run", "-p", "x", "-m", "1")
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=10)
    assert "not available inside run" in (workshop.repo / "told").read_text()
    assert (workshop.repo / "stolen").read_text().split() == ["board", "200", "links", "403", "inside_agent"]


def test_without_the_extra_it_says_what_to_install(workshop: ProjectFixture) -> None:
    hidden = "import sys; sys.modules['starlette'] = None; from ralph.__main__ import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.argv = ['ralph', 'web']; {hidden}"],
        cwd=workshop.repo,
        env=workshop.environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 2
    assert "ralph-verified[web]" in done.stderr


def test_other_machines_are_let_in_only_with_a_token(workshop: ProjectFixture) -> None:
    done = workshop.ralph("web", "--host", "0.0.0.0", "--port", "0")
    assert done.returncode == 2
    assert "--token-file" in done.stderr


def test_a_port_that_is_taken_is_told_and_the_usual_one_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_listener("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(MachineError) as told:
            open_listener("127.0.0.1", port)
        assert "--port 0" in told.value.hint
        monkeypatch.setattr("ralph.faces.web.server.DEFAULT_PORT", port)
        with open_listener("127.0.0.1", None) as other:
            assert other.getsockname()[1] != port


def test_a_token_file_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "token"
    token = read_token_file(str(path))
    assert len(token) >= 40
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_token_file(str(path)) == token


@pytest.mark.parametrize(
    ("text", "mode"), [("short", 0o600), ("", 0o600), ("two words are no token at all", 0o600), ("x" * 40, 0o644)]
)
def test_a_token_that_is_none_or_that_others_can_read_is_refused(tmp_path: Path, text: str, mode: int) -> None:
    path = tmp_path / "token"
    path.write_text(text)
    path.chmod(mode)
    with pytest.raises(UsageError) as told:
        read_token_file(str(path))
    assert told.value.hint


def test_a_token_file_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    with pytest.raises(RalphError):
        read_token_file(str(tmp_path / "none" / "token"))
    with pytest.raises(RalphError):
        read_token_file(str(tmp_path))


def test_what_only_this_machine_reaches_is_known() -> None:
    assert all(map(is_loopback, ("", "localhost", "127.0.0.1", "127.0.0.9", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.1.5", "box", "localhost.example")))


def test_a_link_names_an_address_that_a_browser_can_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert name_host("", listener) == name_host("localhost", listener) == f"127.0.0.1:{port}"
        assert name_host("box", listener) == f"box:{port}"
        assert name_host("fd00::1", listener) == f"[fd00::1]:{port}"
        assert not name_host("0.0.0.0", listener).startswith("0.0.0.0")
