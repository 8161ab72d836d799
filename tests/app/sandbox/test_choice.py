"""Which isolation is in force: what was asked for, or the strongest that works."""

import pytest

from ralph.app.sandbox.choice import Isolation, NotIsolated, choose_sandbox, describe_host, settle_isolation
from ralph.config.schema import AgentSettings, SandboxSettings, Settings
from ralph.model.errors import MachineError
from ralph.model.sandbox import SandboxChoice, SandboxKind, SandboxProbe


def choose(wanted: SandboxChoice | None, *working: SandboxKind, everything: bool = False) -> Isolation:
    def probe(kind: SandboxKind) -> SandboxProbe:
        return SandboxProbe() if kind in working else SandboxProbe(problem="not here", hint=f"install {kind}")

    return choose_sandbox(SandboxSettings(kind=wanted), may_do_everything=everything, probe=probe)


@pytest.mark.parametrize(
    ("wanted", "working", "everything", "kind"),
    [
        (None, ("bubblewrap",), False, None),  # as before there were sandboxes
        (None, ("bubblewrap",), True, "bubblewrap"),
        (None, ("docker", "bubblewrap"), True, "docker"),
        ("auto", ("agent",), False, "agent"),
        ("auto", (), False, None),
        ("none", ("docker",), True, None),
        ("any", ("seatbelt", "agent"), False, "seatbelt"),
        ("bubblewrap", ("docker", "bubblewrap"), False, "bubblewrap"),
    ],
)
def test_the_strongest_that_works_is_chosen(
    wanted: SandboxChoice | None, working: tuple[SandboxKind, ...], everything: bool, kind: SandboxKind | None
) -> None:  # 004-04
    assert choose(wanted, *working, everything=everything).kind == kind


def test_what_was_passed_over_is_told() -> None:
    assert choose("auto", "bubblewrap").passed_over == ("docker: not here",)
    assert choose("auto", "bubblewrap").describe_passed_over("linux") == "no Docker Sandbox"
    assert choose("auto", "agent").describe_passed_over("linux") == "no Docker Sandbox, no bubblewrap"
    assert choose("auto", "agent").describe_passed_over("darwin") == "no Docker Sandbox, no Seatbelt"
    assert choose("bubblewrap", "bubblewrap").describe_passed_over("linux") == ""


@pytest.mark.parametrize("wanted", ["any", "bubblewrap"])
def test_an_explicit_wish_never_falls_back(wanted: SandboxChoice) -> None:  # 004-03
    with pytest.raises(MachineError) as refused:
        choose(wanted)
    assert refused.value.exit_code == 2
    assert "install bubblewrap" in refused.value.hint
    assert "--no-sandbox" in refused.value.hint


def test_all_permissions_on_the_host_need_a_yes(tmp_path: object) -> None:
    nowhere = {"PATH": str(tmp_path)}
    everything = Settings(agent=AgentSettings(command="amp", permissions="all"))
    with pytest.raises(NotIsolated) as refused:
        settle_isolation(everything, nowhere)
    assert "--no-sandbox" in refused.value.hint
    said_yes = Settings(agent=everything.agent, sandbox=SandboxSettings(kind="none"))
    assert settle_isolation(said_yes, nowhere) == (said_yes, Isolation())
    careful = Settings(agent=AgentSettings(command="amp"))
    assert settle_isolation(careful, nowhere) == (careful, Isolation())
    assert settle_isolation(everything, {**nowhere, "RALPH_CONTAINED": "1"}) == (everything, Isolation())


def test_the_first_line_says_what_macos_cannot_promise() -> None:
    assert describe_host("linux") == "no sandbox"
    assert "may outlive the run" in describe_host("darwin")
