"""The judge of an explained change of proofs, where settings name one: asked in an empty folder, told nothing else."""

import tempfile

from msgspec.structs import replace

from ralph.app import registry, wiring
from ralph.app.session import Session
from ralph.config.schema import Judge, Settings
from ralph.core.tasks.judgement import parse_ruling
from ralph.engine.agent_run import AgentRequest, CallFiles
from ralph.model.loop import Interrupted, Reported, Verified

PROOF_JUDGE_TIMEOUT_SECONDS = 600.0
_CRITERION = "The change to the checks is legitimate."
_ANSWER_FORM = "Answer with one line: VERIFIED, or NOT_VERIFIED: followed by the reason."


class ProofJudge:
    """Asks the judge that `specflow.judge` names."""

    def __init__(self, session: Session, settings: Settings, wanted: Judge) -> None:
        self._session, self._settings, self._wanted = session, settings, wanted
        self._calls = 0

    def ask(self, question: str) -> Verified | Interrupted:
        """Who gives no answer has not approved."""
        reported = self._call(f"{question}\n{_ANSWER_FORM}\n")
        if isinstance(reported, Interrupted):
            return reported
        if reported.outcome != "finished":
            reason = f"the judge did not answer: {reported.detail}"
            return Verified(verified=False, reason=reason, cost_usd=reported.cost_usd, usage=reported.usage)
        ruling = parse_ruling(reported.text, [_CRITERION])
        is_approved = ruling is not None and ruling.verified
        reason = ruling.reason if ruling else f"the judge's answer is no verdict: {reported.text.strip()[:200]!r}"
        reason = "" if is_approved else reason  # it says no more than yes
        return Verified(verified=is_approved, reason=reason, cost_usd=reported.cost_usd, usage=reported.usage)

    def _call(self, prompt: str) -> Reported | Interrupted:
        session, agent = self._session, self._settings.agent
        wanted = replace(agent, command=self._wanted.agent, flags=(), adapter=None, model=self._wanted.model or "")
        found = wiring.resolve_agent(wanted, session.paths.folder, session.variables)
        card = registry.load_agent_card(found.adapter)
        model = self._wanted.model or card.small_model
        command = replace(found, permissions=None, allow=(), model=model, judges=card.can_judge)
        with tempfile.TemporaryDirectory(prefix="ralph-judge-") as empty:
            settings = replace(wanted, timeout_seconds=PROOF_JUDGE_TIMEOUT_SECONDS)
            runner = session.prepare_agent(command, settings, folder=empty, keep=None)
            return runner.call(lambda: self._build_request(prompt), ())

    def _build_request(self, prompt: str) -> AgentRequest:
        self._calls += 1
        head = f"judge_{self._calls:03}"
        files = CallFiles.in_dir(
            self._session.run_dir,
            stdout=f"{head}.log",
            stderr=f"{head}.stderr.log",
            prompt=f"{head}.prompt",
            answer=f"{head}.answer",
        )
        return AgentRequest(prompt=prompt, mode="stream", files=files, iteration=0)
