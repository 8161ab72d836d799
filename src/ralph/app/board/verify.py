"""Use case: verify a task by hand, with the methods and in the place the pipeline would."""

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from uuid import uuid4

from msgspec import Struct

from ralph.app import registry
from ralph.app.board.tasks import open_board
from ralph.app.paths import Paths
from ralph.app.pipeline import stages, verification
from ralph.app.pipeline.stages import AgentContext
from ralph.app.pipeline.task_inbox import TaskInbox
from ralph.app.pipeline.task_processes import TaskProcesses, Uninterruptible
from ralph.app.session import Callbacks
from ralph.config.schema import Settings
from ralph.core.environment import build_gate_env, without_git_vars
from ralph.core.tasks.task_rules import format_iso_time
from ralph.engine.inbox import SignalInbox
from ralph.model.board import Attempted, Entry, NoSuchTask
from ralph.model.spec import CompletionCriteria, Role, VerificationMethod
from ralph.model.verdict import AskJudge, Claim, Verdict
from ralph.process.shell import find_program
from ralph.verifiers.templates import TEMPLATES, Template
from ralph.workspaces.git import Git
from ralph.workspaces.worktree import WORKTREES_FOLDER

MANUAL_ITERATION = 0  # the iteration such attempts are recorded with
NO_MESSAGE_REASON = (
    "it looks at the words of an agent's message, and there is none: give --message, or configure a judge"
)


class StageFinding(Struct, frozen=True):
    """What a stage's verification says; without a verdict there was nothing it could look at."""

    agent: Role
    method: str
    verdict: Verdict | None

    @property
    def reason(self) -> str:
        return self.verdict.reason if self.verdict else NO_MESSAGE_REASON


class VerifyTools(Struct, frozen=True, kw_only=True):
    """What it is done with."""

    context: AgentContext
    processes: TaskProcesses
    judge: AskJudge | None
    diff: str


def verify_task(
    places: Paths,
    settings: Settings,
    *,
    variables: Mapping[str, str],
    wishes: Callbacks,
    task: str,
    roles: Sequence[Role],
    message: str = "",
) -> list[StageFinding]:
    """Each stage's verification, as if its agent had made its promise now; every look is recorded."""
    if not os.path.exists(places.database):
        raise NoSuchTask(f"no task {task!r}: there are none here yet", "make one with `ralph task create`")
    with open_board(places) as tasks:
        entry = tasks.get(task)
        if any(stages.is_judged(entry.task, role, settings) for role in roles):
            stages.require_judge(settings, places.folder, variables)
        found: list[StageFinding] = []
        with _open_tools(places, settings, variables=variables, wishes=wishes, entry=entry) as tools:
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
    """At least one could look, and all that could are content."""
    verdicts = [finding.verdict for finding in findings if finding.verdict]
    return bool(verdicts) and all(verdict.verified for verdict in verdicts)


def list_templates() -> Mapping[str, Template]:
    """Verifications that are ready made, by name; those of installed packages after ours."""
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
    except (ImportError, AttributeError, SyntaxError) as error:
        does = f"cannot be loaded: {error}"
    return Template(description=does, method=name) if does else None


def _verify_stage(
    entry: Entry, role: Role, *, criteria: CompletionCriteria, message: str, settings: Settings, tools: VerifyTools
) -> Verdict | None:
    words_only = criteria.verification_method in (VerificationMethod.SEMANTIC, VerificationMethod.STRING_MATCH)
    if words_only and not message and not (tools.judge and criteria.verification_method is VerificationMethod.SEMANTIC):
        return None
    spec, place = entry.task.completion_spec, tools.context
    claim = Claim(
        promise=criteria.promise,
        output=message or f"<promise>{criteria.promise}</promise>",
        folder=place.folder,
        environment=build_gate_env(place.variables, place.run_variables),
        agent=role,
        outcome=spec.outcome if spec else "",
        acceptance_criteria=tuple(spec.acceptance_criteria) if spec else (),
        diff=lambda: tools.diff,
        loose=settings.specflow.promise_match == "loose",
    )
    return verification.verify_claim(claim, criteria, verification.build_tools(tools.processes.borrow, tools.judge))


@contextmanager
def _open_tools(
    places: Paths, settings: Settings, *, variables: Mapping[str, str], wishes: Callbacks, entry: Entry
) -> Iterator[VerifyTools]:
    folder = os.path.join(places.root, WORKTREES_FOLDER, entry.task.id)
    if not os.path.exists(os.path.join(folder, ".git")):
        folder = places.root
    signals = SignalInbox(lambda: False, wishes.on_signal)
    inbox = TaskInbox(signals, lambda: bool(signals.poll_interruption()))  # nothing here is worth finishing
    hands = TaskProcesses(inbox, set())
    place = AgentContext(folder=folder, variables=without_git_vars(variables), run_variables={}, processes=hands)
    records = os.path.join(places.state, "verify")
    os.makedirs(records, exist_ok=True)
    try:
        judge = stages.build_judge(settings, place, records)
        yield VerifyTools(
            context=place,
            processes=hands,
            judge=judge,
            diff=_diff_from_target(place, entry, Uninterruptible(hands, inbox)) if judge else "",
        )
    finally:
        hands.close()
        inbox.close()
        signals.close()


def _diff_from_target(place: AgentContext, entry: Entry, processes: Uninterruptible) -> str:
    program = find_program("git", place.variables)
    if program is None or not entry.target:
        return ""
    git = Git(program, place.folder, environment=place.variables, processes=processes)
    base = git.run("merge-base", f"refs/heads/{entry.target}", "HEAD").text or "HEAD"
    with tempfile.TemporaryDirectory() as folder:
        return git.diff(base, os.path.join(folder, "index"))
