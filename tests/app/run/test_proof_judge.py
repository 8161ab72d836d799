"""The judge of an explained change: who cannot be asked has not approved, but a full disk is nobody's verdict."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from ralph.app.run.proof_judge import ProofJudge
from ralph.app.session import Session
from ralph.config.schema import AgentSettings, Judge
from ralph.engine.agent_run import AgentRunner
from ralph.model.errors import ConfigError, DiskError, RalphError
from ralph.model.loop import Verified
from support.scripted_processes import AskedAgent, ScriptedProcesses, make_runner, say

YES = say("VERIFIED", 0.25)


def make_judge(folder: Path, agent: AskedAgent, processes: ScriptedProcesses) -> ProofJudge:
    program = folder / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    def prepare_agent(*args: object, **options: object) -> AgentRunner:
        return make_runner(agent, processes, folder)

    session = SimpleNamespace(variables={"PATH": str(folder)}, run_dir=str(folder), prepare_agent=prepare_agent)
    settings = AgentSettings(command="claude")
    return ProofJudge(cast("Session", session), settings, Judge(agent="claude"), folder=str(folder))


def test_its_yes_counts_with_what_it_cost(tmp_path: Path) -> None:
    found = make_judge(tmp_path, AskedAgent(), ScriptedProcesses(YES)).ask("May it be changed?")
    assert isinstance(found, Verified)
    assert (found.verified, found.cost_usd) == (True, 0.25)


@pytest.mark.parametrize("error", [ConfigError("too long"), RalphError("gone")])
def test_who_cannot_be_asked_has_not_approved(tmp_path: Path, error: RalphError) -> None:
    found = make_judge(tmp_path, AskedAgent(error), ScriptedProcesses()).ask("May it be changed?")
    assert found == Verified(verified=False, reason=f"the judge cannot be asked: {error.message}")


def test_a_full_disk_is_nobodys_verdict(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match="no room"):
        make_judge(tmp_path, AskedAgent(DiskError("no room")), ScriptedProcesses()).ask("May it be changed?")
