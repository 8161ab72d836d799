"""Use case: verify a task by hand, with the methods and in the place the pipeline would."""

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from uuid import uuid4

from msgspec import Struct

from ralph.app import registry
from ralph.app.board.tasks import board
from ralph.app.paths import Places
from ralph.app.pipeline import stages, verification
from ralph.app.pipeline.stages import Workplace
from ralph.app.pipeline.task_inbox import TaskInbox
from ralph.app.pipeline.task_processes import Hands, Untorn
from ralph.app.session import Wishes
from ralph.config.schema import Settings
from ralph.core.environment import elsewhere, of_gate
from ralph.core.tasks.task_rules import iso
from ralph.engine.inbox import SignalInbox
from ralph.model.board import Attempted, Entry, NoSuchTask
from ralph.model.spec import CompletionCriteria, Role, VerificationMethod
from ralph.model.verdict import Claim, Judge, Verdict
from ralph.process.shell import find_program
from ralph.verifiers.templates import TEMPLATES, Template
from ralph.workspaces.git import Git
from ralph.workspaces.worktree import FOLDER

BY_HAND = 0  # the iteration such attempts are recorded with
NO_WORDS = "it looks at the words of an agent's message, and there is none: give --message, or configure a judge"


class Finding(Struct, frozen=True):
    """What a stage's verification says; without a verdict there was nothing it could look at."""

    agent: Role
    method: str
    verdict: Verdict | None

    @property
    def reason(self) -> str:
        """In one sentence."""
        return self.verdict.reason if self.verdict else NO_WORDS


class Tools(Struct, frozen=True):
    """What it is done with."""

    place: Workplace
    hands: Hands
    judge: Judge | None
    diff: str


def by_hand(
    places: Places,
    settings: Settings,
    variables: Mapping[str, str],
    wishes: Wishes,
    task: str,
    roles: Sequence[Role],
    message: str = "",
) -> list[Finding]:
    """Each stage's verification, as if its agent had made its promise now; every look is recorded."""
    if not os.path.exists(places.database):
        raise NoSuchTask(f"no task {task!r}: there are none here yet", "make one with `ralph task create`")
    with board(places) as tasks:
        entry = tasks.get(task)
        if any(stages.is_judged(entry.task, role, settings) for role in roles):
            stages.expect_judge(settings, places.folder, variables)
        found: list[Finding] = []
        with _tools(places, settings, variables, wishes, entry) as tools:
            for role in roles:
                criteria = stages.applicable(entry.task, role, settings).criteria
                verdict = _verdict(entry, role, criteria, message, settings, tools)
                found.append(Finding(role, criteria.verification_method.value, verdict))
                if verdict and verdict.interrupted:
                    break
                if verdict:
                    attempt = verification.attempt(verdict, BY_HAND, role, iso(time.time()))
                    tasks.apply([Attempted(task, attempt)], f"verify:{uuid4()}")
        return found


def passed(findings: Sequence[Finding]) -> bool:
    """At least one could look, and all that could are content."""
    verdicts = [finding.verdict for finding in findings if finding.verdict]
    return bool(verdicts) and all(verdict.verified for verdict in verdicts)


def templates() -> Mapping[str, Template]:
    """Verifications that are ready made, by name; those of installed packages after ours."""
    found = {name: _installed(name) for name in registry.others("verifiers") if name not in TEMPLATES}
    return {**TEMPLATES, **{name: template for name, template in found.items() if template}}


def _installed(name: str) -> Template | None:
    """None: a gate of another kind."""
    try:
        does = getattr(registry.load("verifiers", name), "VERIFIES", "")
    except (ImportError, AttributeError, SyntaxError) as error:
        does = f"cannot be loaded: {error}"
    return Template(does, name) if does else None


def _verdict(
    entry: Entry, role: Role, criteria: CompletionCriteria, message: str, settings: Settings, tools: Tools
) -> Verdict | None:
    words_only = criteria.verification_method in (VerificationMethod.SEMANTIC, VerificationMethod.STRING_MATCH)
    if words_only and not message and not (tools.judge and criteria.verification_method is VerificationMethod.SEMANTIC):
        return None
    spec, place = entry.task.completion_spec, tools.place
    claim = Claim(
        criteria.promise,
        message or f"<promise>{criteria.promise}</promise>",
        place.folder,
        of_gate(place.variables, place.own),
        role,
        spec.outcome if spec else "",
        tuple(spec.acceptance_criteria) if spec else (),
        lambda: tools.diff,
        loose=settings.specflow.promise_match == "loose",
    )
    return verification.verdict_on(claim, criteria, verification.tools_of(tools.hands.lent, tools.judge))


@contextmanager
def _tools(
    places: Places, settings: Settings, variables: Mapping[str, str], wishes: Wishes, entry: Entry
) -> Iterator[Tools]:
    folder = os.path.join(places.root, FOLDER, entry.task.id)
    if not os.path.exists(os.path.join(folder, ".git")):
        folder = places.root
    signals = SignalInbox(lambda: False, wishes.on_signal)
    inbox = TaskInbox(signals, lambda: bool(signals.interruption()))  # nothing here is worth finishing
    hands = Hands(inbox, set())
    place = Workplace(folder, elsewhere(variables), {}, hands)
    records = os.path.join(places.state, "verify")
    os.makedirs(records, exist_ok=True)
    try:
        judge = stages.judge_of(settings, place, records)
        yield Tools(place, hands, judge, _diff(place, entry, Untorn(hands, inbox)) if judge else "")
    finally:
        hands.close()
        inbox.close()
        signals.close()


def _diff(place: Workplace, entry: Entry, processes: Untorn) -> str:
    program = find_program("git", place.variables)
    if program is None or not entry.target:
        return ""
    git = Git(program, place.folder, place.variables, processes)
    base = git.try_("merge-base", f"refs/heads/{entry.target}", "HEAD").text or "HEAD"
    with tempfile.TemporaryDirectory() as folder:
        return git.diff(base, os.path.join(folder, "index"))
