"""Use case: verify a task by hand, with the methods and in the place the pipeline would."""

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from uuid import uuid4

from msgspec import Struct

from ralph.app import registry
from ralph.app.board.tasks import open_stores_with_task
from ralph.app.paths import Paths
from ralph.app.pipeline import stages
from ralph.app.pipeline.judging import build_judges, refuse_unjudged_task
from ralph.app.pipeline.stages import AgentContext
from ralph.app.pipeline.task_inbox import TaskInbox
from ralph.app.pipeline.task_processes import TaskProcesses, Uninterruptible
from ralph.app.pipeline.verification import CriteriaVerifier
from ralph.app.session import Callbacks
from ralph.app.wiring import build_gate_variables
from ralph.config.schema import Settings
from ralph.core.environment import without_git_vars
from ralph.core.tasks.task_rules import format_iso_time
from ralph.engine.inbox import SignalInbox
from ralph.model.board import Attempted, Entry
from ralph.model.errors import BrokenExtension
from ralph.model.spec import ROLES, CompletionCriteria, Role, VerificationMethod
from ralph.model.verdict import Claim, ClaimVerifier, Verdict
from ralph.process.shell import find_program
from ralph.verifiers.templates import TEMPLATES, Template
from ralph.workspaces.git import Git
from ralph.workspaces.worktree import locate_worktree

MANUAL_ITERATION = 0  # the iteration such attempts are recorded with
NO_MESSAGE_REASON = (
    "it looks at the words of an agent's message, and there is none: give --message, or configure a judge"
)


class StageFinding(Struct, frozen=True):
    """One stage's verdict; None where there was nothing it could look at."""

    agent: Role
    method: str
    verdict: Verdict | None

    @property
    def reason(self) -> str:
        return self.verdict.reason if self.verdict else NO_MESSAGE_REASON


class VerifyTools(Struct, frozen=True, kw_only=True):
    """What a verification by hand runs with."""

    context: AgentContext
    verifier: ClaimVerifier
    has_judge: bool
    diff: str


def verify_task(
    paths: Paths,
    settings: Settings,
    *,
    variables: Mapping[str, str],
    callbacks: Callbacks,
    task: str,
    roles: Sequence[Role],
    message: str = "",
) -> list[StageFinding]:
    """Verify each stage as if its agent had just made its promise; every verdict is recorded as an attempt."""
    with open_stores_with_task(paths, task) as stores:
        tasks = stores.tasks
        entry = tasks.get(task)
        refuse_unjudged_task(entry.task, roles, settings, folder=paths.folder, variables=variables)
        found: list[StageFinding] = []
        with _open_tools(paths, settings, variables=variables, callbacks=callbacks, entry=entry) as tools:
            for role in roles:
                criteria = stages.resolve_stage_criteria(entry.task, role, settings).criteria
                verdict = _verify_stage(entry, role, criteria=criteria, message=message, settings=settings, tools=tools)
                found.append(StageFinding(role, criteria.verification_method.value, verdict))
                if verdict and verdict.interrupted:
                    break
                if verdict:
                    now = format_iso_time(time.time())
                    attempt = verdict.as_attempt(iteration=MANUAL_ITERATION, agent=role, timestamp=now)
                    tasks.apply([Attempted(task, attempt)], f"verify:{uuid4()}")
        return found


def is_verified(findings: Sequence[StageFinding]) -> bool:
    """Whether at least one stage could be verified, and all that could passed."""
    verdicts = [finding.verdict for finding in findings if finding.verdict]
    return bool(verdicts) and all(verdict.verified for verdict in verdicts)


def list_templates() -> Mapping[str, Template]:
    """Verification templates by name, built-in ones first."""
    found = {
        name: _load_template(name)
        for name in registry.list_third_party_extensions("verifiers")
        if name not in TEMPLATES
    }
    return {**TEMPLATES, **{name: template for name, template in found.items() if template}}


def _load_template(name: str) -> Template | None:
    """None: a gate of another kind."""
    try:
        does = getattr(registry.load_extension("verifiers", name), "VERIFIES", "")
    except BrokenExtension as error:
        does = f"cannot be loaded: {error.__cause__}"
    return Template(description=does, method=name) if does else None


def _verify_stage(
    entry: Entry, role: Role, *, criteria: CompletionCriteria, message: str, settings: Settings, tools: VerifyTools
) -> Verdict | None:
    words_only = criteria.verification_method in (VerificationMethod.SEMANTIC, VerificationMethod.STRING_MATCH)
    if (
        words_only
        and not message
        and not (tools.has_judge and criteria.verification_method is VerificationMethod.SEMANTIC)
    ):
        return None
    spec, context = entry.task.completion_spec, tools.context
    claim = Claim(
        promise=criteria.promise,
        output=message or f"<promise>{criteria.promise}</promise>",
        folder=context.folder,
        environment=build_gate_variables(context.variables, context.run_variables),
        agent=role,
        outcome=spec.outcome if spec else "",
        acceptance_criteria=tuple(spec.acceptance_criteria) if spec else (),
        diff=lambda: tools.diff,
        loose=settings.specflow.promise_match == "loose",
    )
    return tools.verifier.verify(claim, criteria)


@contextmanager
def _open_tools(
    paths: Paths, settings: Settings, *, variables: Mapping[str, str], callbacks: Callbacks, entry: Entry
) -> Iterator[VerifyTools]:
    folder = locate_worktree(paths.root, entry.task.id)
    if not os.path.exists(os.path.join(folder, ".git")):
        folder = paths.root
    signals = SignalInbox(lambda: False, callbacks.on_signal)
    inbox = TaskInbox(signals, lambda: bool(signals.poll_interruption()))  # nothing here is worth finishing
    processes = TaskProcesses(inbox, set())
    context = AgentContext(folder=folder, variables=without_git_vars(variables), run_variables={}, processes=processes)
    records = os.path.join(paths.state, "verify")
    os.makedirs(records, exist_ok=True)
    try:
        judges = build_judges(ROLES, settings, context, folder=paths.folder, records=records)
        yield VerifyTools(
            context=context,
            verifier=CriteriaVerifier(processes.borrow, judges, words=not judges),
            has_judge=bool(judges),
            diff=_diff_from_target(context, entry, processes.make_uninterruptible()) if judges else "",
        )
    finally:
        processes.close()
        signals.close()


def _diff_from_target(context: AgentContext, entry: Entry, processes: Uninterruptible) -> str:
    program = find_program("git", context.variables)
    if program is None or not entry.target:
        return ""
    git = Git(program, context.folder, environment=context.variables, processes=processes)
    base = git.run("merge-base", f"refs/heads/{entry.target}", "HEAD").text or "HEAD"
    with tempfile.TemporaryDirectory() as folder:
        return git.diff(base, os.path.join(folder, "index"))
