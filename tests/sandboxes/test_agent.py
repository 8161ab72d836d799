"""The agent's own sandbox: nothing is wrapped, and the first line says what that means."""

from pathlib import Path

import pytest

from ralph.model.agent_card import AgentCard
from ralph.model.command import Bind, Command
from ralph.model.errors import MachineError
from ralph.model.sandbox import HomeContent, SandboxPlan
from ralph.sandboxes import agent
from support.scripted_processes import ScriptedProcesses


def test_the_first_line_says_whose_it_is_and_what_it_leaves_out() -> None:
    plan = SandboxPlan(
        run="r", folder="/w", scratch="/s", home=HomeContent(folder="/h"), cards=(AgentCard(title="Claude Code"),)
    )
    sandbox = agent.build(plan, {}, ScriptedProcesses())
    assert sandbox.describe() == "Claude Code's own sandbox, for its commands; checks run on the host"
    command = Command(argv=("claude",), environment={}, cwd="/w")
    assert sandbox.wrap(command) == command


def test_it_needs_the_parts_that_agents_build_theirs_from(tmp_path: Path) -> None:
    nothing = {"PATH": str(tmp_path)}
    missing = agent.probe(nothing, ScriptedProcesses(), "linux")
    assert (missing.is_available, missing.hint) == (False, "apt install bubblewrap socat")
    assert agent.probe(nothing, ScriptedProcesses(), "darwin").is_available


def test_a_copy_is_refused_not_ignored() -> None:
    work = Bind(path="/w", source="/copy")
    with pytest.raises(MachineError, match="copy"):
        agent.OwnSandbox(()).wrap(Command(argv=("make",), environment={}, cwd="/w", binds=(work,)))
