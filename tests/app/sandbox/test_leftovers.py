"""The next start ends what a killed run left in containers, and asks only engines that it used."""

from pathlib import Path

import pytest

from ralph.app.sandbox.leftovers import SANDBOXES_FILE, read_used_sandboxes, remember_sandbox, sweep_sandboxes
from ralph.model.command import Command
from ralph.model.sandbox import SandboxKind
from support.sandbox_client import StandIn


class Named:
    """A sandbox, as far as it is written down."""

    name = "ralph-app-12345678"

    def __init__(self, kind: SandboxKind) -> None:
        self.kind = kind

    def describe(self) -> str:
        return ""

    def wrap(self, command: Command) -> Command:
        return command

    def close(self) -> None:
        pass


def test_only_containers_are_written_down(tmp_path: Path) -> None:
    for kind in ("bubblewrap", "seatbelt", "agent"):
        remember_sandbox(str(tmp_path), Named(kind))
    assert read_used_sandboxes(str(tmp_path)) == []
    remember_sandbox(str(tmp_path), Named("podman"))
    (used,) = read_used_sandboxes(str(tmp_path))
    assert (used.kind, used.name) == ("podman", "ralph-app-12345678")


def test_a_run_without_containers_asks_no_engine(tmp_path: Path) -> None:
    stand_in = StandIn(tmp_path / "room").install("docker", "podman", "sbx")
    sweep_sandboxes(str(tmp_path), "r1", stand_in.variables)
    assert stand_in.calls() == []


def test_what_it_used_is_swept_by_its_label(tmp_path: Path) -> None:
    stand_in = StandIn(tmp_path / "room").install("docker", "podman")
    stand_in.fail("ps", "echo 44dd; exit 0")
    remember_sandbox(str(tmp_path), Named("podman"))
    sweep_sandboxes(str(tmp_path), "r1", stand_in.variables)
    calls = stand_in.calls()
    assert {call[0] for call in calls} == {"podman"}
    assert calls[-1] == ["podman", "rm", "--force", "44dd"]


@pytest.mark.parametrize("text", ['{"kind": "../x", "name": "n"}', "{}", "\x00", '{"kind": 1}'])
def test_what_somebody_else_wrote_there_is_no_command(tmp_path: Path, text: str) -> None:
    stand_in = StandIn(tmp_path / "room").install("docker")
    (tmp_path / SANDBOXES_FILE).write_text(text)
    sweep_sandboxes(str(tmp_path), "r1", stand_in.variables)
    assert stand_in.calls() == []
