"""The judge of an explained change of proofs, where settings name one: asked in an empty folder, told nothing else."""

import tempfile

from msgspec.structs import replace

from ralph.app import registry
from ralph.app.agent_command import resolve_agent
from ralph.app.session import Session
from ralph.config.schema import AgentSettings, Judge
from ralph.core.proofs.wording import JUDGE_ANSWER_FORM, PROOF_CRITERION
from ralph.core.tasks.judgement import parse_ruling
from ralph.engine.agent_run import AgentRequest, CallFiles
from ralph.model.errors import DiskError, RalphError
from ralph.model.events import NO_USAGE
from ralph.model.loop import Interrupted, Reported, Verified

PROOF_JUDGE_TIMEOUT_SECONDS = 600.0
MAX_PROOF_JUDGE_CALLS = 2


class ProofJudge:
    """Asks once, and once more where no verdict comes. `folder`: where the judge's program is looked for."""

    def __init__(self, session: Session, agent: AgentSettings, wanted: Judge, *, folder: str) -> None:
        self._session, self._agent, self._wanted = session, agent, wanted
        self._folder = folder
        self._calls = 0

    def ask(self, question: str) -> Verified | Interrupted:
        """Without a verdict a judge that settings name has not approved; where the agent's own vendor gives none, it is
        as if there was nobody to ask: `Verified.judge` is empty."""
        cost: float | None = None
        usage = NO_USAGE
        problem = ""
        for _ in range(MAX_PROOF_JUDGE_CALLS):
            try:
                name, reported = self._call(f"{question}\n{JUDGE_ANSWER_FORM}\n")
            except DiskError:
                raise
            except RalphError as error:
                problem = f"the judge cannot be asked: {error.message}"
                break
            if isinstance(reported, Interrupted):
                return reported
            cost = cost if reported.cost_usd is None else (cost or 0.0) + reported.cost_usd
            usage += reported.usage
            ruling = parse_ruling(reported.text, [PROOF_CRITERION]) if reported.outcome == "finished" else None
            if ruling is not None:
                reason = "" if ruling.verified else ruling.reason  # a yes says no more than yes
                return Verified(verified=ruling.verified, reason=reason, cost_usd=cost, usage=usage, judge=name)
            said = repr(reported.text.strip()[:200]) if reported.outcome == "finished" else reported.detail
            problem = f"the judge gave no verdict: {said}"
        name = "" if self._is_own else self._wanted.agent
        return Verified(verified=False, reason=problem, cost_usd=cost, usage=usage, judge=name)

    @property
    def _is_own(self) -> bool:
        return self._wanted.agent == self._agent.command

    def _call(self, prompt: str) -> tuple[str, Reported | Interrupted]:
        """Who was asked, and what came of it."""
        session = self._session
        adapter = self._agent.adapter if self._is_own else None
        wanted = replace(
            self._agent, command=self._wanted.agent, flags=(), adapter=adapter, model=self._wanted.model or ""
        )
        found = resolve_agent(wanted, self._folder, session.variables)
        card = registry.load_agent_card(found.adapter)
        model = self._wanted.model or card.small_model
        argv = found.argv
        if self._is_own and registry.resolve_adapter(argv[0]) == found.adapter:
            argv = argv[:1]  # words behind a vendor's own program are flags for the work
        command = replace(found, argv=argv, permissions=None, allow=(), model=model, judges=card.can_judge)
        with tempfile.TemporaryDirectory(prefix="ralph-judge-") as empty:
            settings = replace(wanted, timeout_seconds=PROOF_JUDGE_TIMEOUT_SECONDS)
            runner = session.prepare_agent(command, settings, folder=empty, keep=None)
            return f"{found.adapter} {model}".strip(), runner.run(self._build_request(prompt), ())

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
        return AgentRequest(prompt=prompt, mode="stream", files=files.as_question(), iteration=0)
