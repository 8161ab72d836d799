"""Done when every story was approved by a context that did not write it: the story loop.

The list of before an iteration is ours, kept here and in the journal; the agent's is judged against it, and what it
changed against the rules is undone field by field.
"""

import re
from collections.abc import Sequence
from hashlib import sha256
from json import dumps

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.claims import extract_promise
from ralph.core.proofs.ruling import counts_as_proof, rule_on_sealed_check
from ralph.core.proofs.wording import (
    DIFF_COMMAND,
    OFF_NOTE,
    build_proof_feedback,
    describe_altered,
    describe_flagged_completion,
    describe_notes,
    describe_refused_proofs,
    describe_sealed_pass,
)
from ralph.core.stories.proof_review import ProofReview, reopen_story
from ralph.core.stories.repair import Repair, render_story_file, repair_story_file
from ralph.core.stories.review import (
    IMPLEMENT,
    ITERATION_MODES,
    REVIEW,
    REVIEW_FIX,
    IterationMode,
    Story,
    StoryFile,
    choose_mode,
    is_list_done,
    is_story_done,
    parse_story_file,
)
from ralph.core.stories.story_order import choose_next_story, find_blocked_stories, find_plan_problems
from ralph.core.text.plain import one_line
from ralph.model.loop import (
    Brief,
    Check,
    Checked,
    Decision,
    Feedback,
    Limits,
    Observation,
    Outcome,
    Reported,
    Restore,
    Restored,
    RunAgent,
    Stop,
    Survey,
    Surveyed,
    Tally,
)
from ralph.model.proofs import ProofMode

COMPLETION_PROMISE = "COMPLETE"
MAX_PROOF_QUESTIONS = 2  # how often a story is opened again for changed proofs
MAX_IDLE_ITERATIONS = 3  # iterations in a row that changed nothing
MAX_FEEDBACK_LINES, MAX_FEEDBACK_LINE_CHARS = 30, 1000  # of what is told about one iteration: nobody reads more
_COMMIT_SUBJECTS = {
    IMPLEMENT: "feat: [{id}] - {title}",
    REVIEW: "review: [{id}] - approved` or `review: [{id}] - changes requested",
    REVIEW_FIX: "fix: [{id}] - address review feedback",
}
_COMMIT_SUBJECT_PATTERNS = {
    IMPLEMENT: r"feat: \[{id}\] - .+",
    REVIEW: r"review: \[{id}\] - (approved|changes requested)",
    REVIEW_FIX: r"fix: \[{id}\] - address review feedback",
}


class ReviewedState(Struct, frozen=True, kw_only=True):
    """The story list as the runner holds it, and what the next agent must be told."""

    text: str = ""  # tasks.json: ours, not the agent's
    head: str = ""
    committed: str = ""  # the tree of that commit
    mode: IterationMode = IMPLEMENT
    story: str = ""
    claimed: bool = False
    trouble: str = ""  # how the last run ended, unless it ended well
    cut_short: bool = False  # it crashed, or was stopped: what it was to say was not said
    idle: int = 0  # iterations in a row without progress
    feedback: tuple[str, ...] = ()
    uncommitted: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()  # stories an agent took from the list
    left_for: str = ""  # the branch that an agent switched to, where it is not the loop's
    begun: bool = False  # whether the plan was found to be one to work with
    proofs: ProofReview = ProofReview()
    criteria: tuple[str, ...] = ()  # stories whose criteria an agent changed, and the runner put back
    reviewed: str = ""  # the story of the last review
    passed: str = ""  # what is to be said of the checks that passed


class ReviewPolicy(Struct, frozen=True, kw_only=True):
    """The rule of `ralph story run`."""

    cap: int = 5
    skip_review: bool = False
    gates: tuple[str, ...] = ()  # verifyCommands as they were when the loop began
    earlier: Brief | None = None  # an iteration that was cut off before it could be judged
    branch: str = ""  # the one this loop works on; empty: none was checked out when it began
    max_idle: int = MAX_IDLE_ITERATIONS  # 0: the limits of the loop say when it is stuck
    proofs: ProofMode = "warn"
    has_protected: bool = False  # there are files no agent may change

    def begin(self, limits: Limits) -> tuple[ReviewedState, Decision]:
        """Look at the list first, and judge what a cut-off iteration made of it."""
        if self.earlier is None:
            return ReviewedState(), Survey()
        mode: IterationMode = next((mode for mode in ITERATION_MODES if mode == self.earlier.role), IMPLEMENT)
        return ReviewedState(text=self.earlier.tasks, mode=mode, story=self.earlier.story), Survey()

    def decide(
        self, state: ReviewedState, seen: Observation, tally: Tally, limits: Limits
    ) -> tuple[ReviewedState, Decision]:
        """Agent → survey → judge, and undo if need be → next, until all is approved and the checks agree."""
        match seen.fact:
            case Surveyed() as surveyed if not state.text:
                return self._judge_first_survey(surveyed, tally)
            case Surveyed() as surveyed:
                return self._judge_survey(state, surveyed, tally)
            case Reported() as reported:
                return self._read_report(state, reported), Survey()
            case Restored():
                return self._choose_next(state, tally)
            case Checked(sealed=True) as checked:
                return self._judge_sealed(state, checked)
            case Checked() as checked:
                return self._decide_after_checks(checked, state, tally)
            case _:
                return state, Survey()

    def _read_report(self, state: ReviewedState, reported: Reported) -> ReviewedState:
        finished = reported.outcome == "finished"
        text = reported.text if finished else ""
        proofs = state.proofs.note_review(text) if state.mode == REVIEW else state.proofs.note_work(text)
        return replace(
            state,
            claimed=finished and extract_promise(text) == COMPLETION_PROMISE,
            trouble="" if finished else reported.detail or reported.outcome,
            cut_short=reported.outcome not in ("finished", "empty", "refused"),
            proofs=proofs,
        )

    def explain_exhaustion(self, limits: Limits) -> str:
        off = f"; {OFF_NOTE}" if self.proofs == "off" and self.gates else ""
        return f"maximum iterations reached ({limits.iterations}) without completion{off}"

    def explain_incompletion(self, state: ReviewedState) -> str:
        """not approved: US-002, US-003"""
        stories = parse_story_file(state.text).stories
        names = [story.id for story in stories if not is_story_done(story, self.skip_review)]
        altered = state.proofs.altered and f"; {state.proofs.altered}: {DIFF_COMMAND}"
        return f"not approved: {', '.join(_limit_lines(names))}{altered}" if names else ""

    def sign_progress(self, state: ReviewedState) -> str:
        """What is uncommitted is no progress here, but for an agent that was cut off; an empty commit is none."""
        return sha256(f"{state.committed or state.head}\n{state.text}".encode("utf-8", "replace")).hexdigest()[:16]

    def _judge_first_survey(self, surveyed: Surveyed, tally: Tally) -> tuple[ReviewedState, Decision]:
        missing = StoryFile({}, [surveyed.problem or "tasks.json is missing."])
        tasks = missing if surveyed.text is None else parse_story_file(surveyed.text)
        if tasks.problems:
            return ReviewedState(), Stop(Outcome.UNUSABLE, " ".join(_limit_lines(tasks.problems)))
        state = ReviewedState(text=surveyed.text or "", head=surveyed.head, committed=surveyed.committed)
        return self._choose_next(state, tally)

    def _judge_survey(self, state: ReviewedState, surveyed: Surveyed, tally: Tally) -> tuple[ReviewedState, Decision]:
        before = parse_story_file(state.text)
        void = _find_void(state, surveyed)
        found = repair_story_file(
            before, surveyed.text, mode=state.mode, cap=self.cap, skip_review=self.skip_review, is_void=bool(void)
        )
        text = render_story_file(found.tasks) if found.is_needed else surveyed.text or ""
        moved = text != state.text or _has_committed(state, surveyed)
        left = {story.id for story in found.tasks.stories}
        after = replace(
            state,
            text=text,
            head=surveyed.head,
            committed=surveyed.committed,
            idle=0 if moved else state.idle + 1,
            uncommitted=surveyed.uncommitted,
            removed=tuple(id_ for id_ in (*state.removed, *(story.id for story in before.stories)) if id_ not in left),
            feedback=(
                *_limit_lines([f"It failed: {state.trouble}"] if state.trouble else []),
                *_limit_lines([surveyed.problem] if surveyed.problem else found.problems),
                *_limit_lines([f"Undone by the runner: {line}." for line in found.undone]),
                *_limit_lines([f"{void} Review {state.story} again."] if void else []),
                *_limit_lines(_describe_changed_criteria(before, found.tasks)),
                *_describe_spoiled_files(surveyed),
                *_limit_lines(_describe_commit_problems(state, surveyed)),
                *self._describe_other_branch(surveyed),
            ),
            left_for=self._find_other_branch(surveyed),
            proofs=state.proofs.look(surveyed.proofs, surveyed.diff, counts=state.mode == REVIEW and not void),
            criteria=tuple(dict.fromkeys((*state.criteria, *found.criteria))),
            reviewed=state.story if state.mode == REVIEW else state.reviewed,
        )
        if not found.is_needed and not surveyed.lost:
            return self._choose_next(after, tally)
        after = _note_correction(after) if found.is_needed else after
        why = (*((void,) if void else ()), *_explain_restore(found, state, surveyed))
        rule = (
            () if void else _limit_lines([f"Why: {problem}" for problem in found.problems[:1]])
        )  # agents read them all
        return after, Restore(text if found.is_needed else None, (*why, *rule), surveyed.lost)

    def _find_other_branch(self, surveyed: Surveyed) -> str:
        """The branch that is checked out in the place of the loop's."""
        return (surveyed.branch or "no branch") if self.branch and surveyed.branch != self.branch else ""

    def _describe_other_branch(self, surveyed: Surveyed) -> tuple[str, ...]:
        if not (other := self._find_other_branch(surveyed)):
            return ()
        words = f"This loop works on branch {self.branch}, but {other} is checked out now."
        return _limit_lines([f"{words} Bring the commits to {self.branch} and switch back to it."])

    def _choose_next(self, state: ReviewedState, tally: Tally) -> tuple[ReviewedState, Decision]:
        stories = parse_story_file(state.text).stories
        if not state.begun and (problems := find_plan_problems(stories, self.cap, self.skip_review)):
            return state, Stop(Outcome.UNUSABLE, " ".join(_limit_lines(problems)))
        state = replace(state, begun=True)
        if is_list_done(stories, self.skip_review):
            is_checked = self.gates or self.has_protected
            return state, Check(self.gates, tally.iterations) if is_checked else self._complete(state)
        if self.max_idle and state.idle >= self.max_idle:
            why = f"{state.idle} iterations in a row changed neither tasks.json nor the branch"
            return state, Stop(Outcome.STUCK, f"{why}; the last one: {state.trouble}" if state.trouble else why)
        mode = choose_mode(stories, self.skip_review)
        story = self._choose_story(stories, mode)
        if story is None:
            return state, Stop(
                Outcome.BLOCKED,
                one_line(_describe_waiting(find_blocked_stories(stories, self.skip_review)), MAX_FEEDBACK_LINE_CHARS),
            )
        feedback = state.feedback
        if state.claimed:
            left = ", ".join(s.id for s in stories if not is_story_done(s, self.skip_review))
            feedback = (*_limit_lines([f"You promised COMPLETE, but these stories are not done: {left}."]), *feedback)
        state = replace(state, mode=mode, story=story.id, claimed=False, feedback=())
        brief = Brief(
            iteration=0,
            limit=0,
            feedback=tuple(map(Feedback, feedback)),
            role=mode,
            story=story.id,
            tasks=state.text,
            changes=state.proofs.render_question() if mode == REVIEW and self.proofs != "off" else "",
        )
        return state, RunAgent(brief)

    def _choose_story(self, stories: tuple[Story, ...], mode: IterationMode) -> Story | None:
        if mode == IMPLEMENT:
            return choose_next_story(stories, self.skip_review)
        status = "needs_review" if mode == REVIEW else "changes_requested"
        return min((s for s in stories if s.status == status), key=lambda s: s.priority)

    def _decide_after_checks(
        self, checked: Checked, state: ReviewedState, tally: Tally
    ) -> tuple[ReviewedState, Decision]:
        if checked.failures:
            red = ", ".join(result.gate for result in checked.failures)
            done = "passes without review" if self.skip_review else "is approved"
            return state, Stop(Outcome.FAILED, f"every story {done}, but not every verifyCommand passes: {red}")
        notes = OFF_NOTE if self.proofs == "off" else describe_notes(checked.proofs)
        proofs = replace(state.proofs, changes=tuple(change for change in checked.proofs if change.is_suspect))
        state = replace(state, proofs=proofs, passed=f"; {notes}" if notes else "")
        approved = () if self.proofs == "strict" else proofs.approved
        if any(counts_as_proof(change, self.proofs) for change in checked.proofs):
            return state, Check(self.gates, tally.iterations, sealed=True, approved=approved)
        return state, self._complete(state)

    def _judge_sealed(self, state: ReviewedState, checked: Checked) -> tuple[ReviewedState, Decision]:
        """Who reviews approves it by name, or has it put back; where neither happens, it is the end."""
        ruling = rule_on_sealed_check(
            checked,
            self.proofs,
            is_explained=self.skip_review and bool(state.proofs.explanation),
            has_judge=False,
            is_last_chance=state.proofs.asked >= MAX_PROOF_QUESTIONS,
        )
        if ruling == "pass":
            note = describe_sealed_pass(checked.proofs) if checked.proofs else ""
            return state, self._complete(state, note)
        if ruling == "flag":
            return state, Stop(Outcome.COMPLETED, describe_flagged_completion(checked.proofs), flagged=True)
        if ruling == "refuse" or state.proofs.asked >= MAX_PROOF_QUESTIONS:
            return state, Stop(Outcome.TAMPERED, describe_refused_proofs(checked.proofs))
        return self._reopen(state, checked)

    def _reopen(self, state: ReviewedState, checked: Checked) -> tuple[ReviewedState, Decision]:
        """The story of the last review: it is asked again, or where no review may approve it, worked on again."""
        tasks = parse_story_file(state.text)
        id_ = state.reviewed or tasks.stories[-1].id
        altered = f"{describe_altered(checked.proofs)}, and the checks fail with the files as they were"
        may_approve = self.proofs != "strict" and not any(change.protected for change in checked.proofs)
        feedback = build_proof_feedback(checked.proofs, checked.failures, checked.diff).text
        wanted = "" if may_approve and not self.skip_review else f"Put back: {altered}."
        text = render_story_file(reopen_story(tasks, id_, feedback=wanted, skip_review=self.skip_review))
        proofs = replace(
            state.proofs, changes=checked.proofs, diff=checked.diff, asked=state.proofs.asked + 1, altered=altered
        )
        repeated = () if not wanted else (feedback,)
        after = _note_correction(replace(state, text=text, proofs=proofs, feedback=repeated, claimed=False))
        return after, Restore(text, (f"{id_} is reopened: {altered}",))

    def _complete(self, state: ReviewedState, note: str = "") -> Decision:
        said = "is promised and approved" if state.claimed else "is approved"
        said = "passes without review" if self.skip_review else said
        left = f"; not committed: {', '.join(state.uncommitted[:5])}" if state.uncommitted else ""
        gone = f"; taken from the list by an agent: {', '.join(state.removed[:10])}" if state.removed else ""
        moved = f"; {state.left_for} is checked out, not {self.branch}" if state.left_for else ""
        approved = state.proofs.describe_approved() if self.proofs == "warn" else ""
        weaker = f"acceptanceCriteria of {', '.join(state.criteria)} were changed by an agent and put back"
        notes = "".join(f"; {each}" for each in (note, approved, weaker if state.criteria else "") if each)
        return Stop(Outcome.COMPLETED, f"every story {said}{gone}{left}{moved}{state.passed}{notes}")


def _has_committed(state: ReviewedState, surveyed: Surveyed) -> bool:
    """Whether the branch holds other files than before; where trees are not told, whether it is elsewhere."""
    if state.committed and surveyed.committed:
        return surveyed.committed != state.committed
    return surveyed.head != state.head


def _find_void(state: ReviewedState, surveyed: Surveyed) -> str:
    """Why the review that has just ended does not count; empty: it does, or it was none."""
    if state.mode != REVIEW or not state.head:  # one that an earlier loop left is judged by what it wrote
        return ""
    if surveyed.touched:
        names = ", ".join(surveyed.touched[:5])
        return f"The review of {state.story} does not count: it changed {names}, and a review only reads."
    return f"The review of {state.story} does not count: the agent failed." if state.cut_short else ""


def _note_correction(state: ReviewedState) -> ReviewedState:
    """What the runner writes is committed with the next work, or named at the end."""
    if any(path.endswith("tasks.json") for path in state.uncommitted):
        return state
    note = "The runner changed tasks.json after that: commit it with your work."
    return replace(state, uncommitted=(*state.uncommitted, "tasks.json"), feedback=(*state.feedback, note))


def _explain_restore(found: Repair, state: ReviewedState, surveyed: Surveyed) -> tuple[str, ...]:
    cut_off = "" if state.head else " (left by an iteration that was cut off; --as-is keeps it)"
    return (
        *_limit_lines([f"Undone in tasks.json{cut_off}: {line}" for line in found.undone]),
        *(f"{id_} is approved as it is: the review cap is reached" for id_ in found.approved),
        *(f"{name} was gone or empty: put back as it was" for name in surveyed.lost),
    )


def _limit_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """At most MAX_FEEDBACK_LINES lines, each on one line and shortened, whatever an agent wrote into the list."""
    rest = [f"… and {len(lines) - MAX_FEEDBACK_LINES} more of that kind"] if len(lines) > MAX_FEEDBACK_LINES else []
    return tuple(one_line(line, MAX_FEEDBACK_LINE_CHARS) for line in (*lines[:MAX_FEEDBACK_LINES], *rest))


def _describe_changed_criteria(before: StoryFile, after: StoryFile) -> list[str]:
    """Who reviews a story should know what it was to be measured by at first."""
    known = {raw["id"]: raw["acceptanceCriteria"] for raw in before.document["userStories"]}
    return [
        f"The last iteration changed the acceptanceCriteria of {raw['id']}. They were: {dumps(known[raw['id']])}"
        for raw in after.document["userStories"]
        if raw["id"] in known and raw["acceptanceCriteria"] != known[raw["id"]]
    ]


def _describe_spoiled_files(surveyed: Surveyed) -> tuple[str, ...]:
    return (
        *(f"{name} was gone or empty; the runner put it back. Do not delete it." for name in surveyed.lost),
        *(f"{name} was changed. It is not yours to change: leave it as it is." for name in surveyed.rewritten),
    )


def _describe_commit_problems(state: ReviewedState, surveyed: Surveyed) -> tuple[str, ...]:
    """Work that is not committed, or under another name than agreed, is told to the next agent."""
    notes = []
    if surveyed.uncommitted:
        names = ", ".join(surveyed.uncommitted[:10])
        notes.append(f"The last iteration left uncommitted changes: {names}. Commit ALL changes, progress.txt too.")
    form = _COMMIT_SUBJECT_PATTERNS[state.mode].format(id=re.escape(state.story))
    if state.head and surveyed.head != state.head and not re.fullmatch(form, surveyed.subject):
        story = next((s for s in parse_story_file(state.text).stories if s.id == state.story), None)
        wanted = _COMMIT_SUBJECTS[state.mode].format(id=state.story, title=story.title if story else "")
        notes.append(f"The last commit is called {surveyed.subject!r}; agreed is `{wanted}`.")
    return tuple(notes)


def _describe_waiting(waiting: dict[str, tuple[str, ...]]) -> str:
    lines = [f"{story} waits for {', '.join(needs)}" for story, needs in waiting.items()]
    return f"no story can be worked on: {'; '.join(lines)}"
