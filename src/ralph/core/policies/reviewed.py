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

COMPLETION_PROMISE = "COMPLETE"
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
    mode: IterationMode = IMPLEMENT
    story: str = ""
    claimed: bool = False
    trouble: str = ""  # how the last run ended, unless it ended well
    idle: int = 0  # iterations in a row without progress
    feedback: tuple[str, ...] = ()
    uncommitted: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()  # stories an agent took from the list
    left_for: str = ""  # the branch that an agent switched to, where it is not the loop's
    begun: bool = False  # whether the plan was found to be one to work with


class ReviewPolicy(Struct, frozen=True, kw_only=True):
    """The rule of `ralph story run`."""

    cap: int = 5
    skip_review: bool = False
    gates: tuple[str, ...] = ()  # verifyCommands as they were when the loop began
    earlier: Brief | None = None  # an iteration that was cut off before it could be judged
    branch: str = ""  # the one this loop works on; empty: none was checked out when it began
    max_idle: int = MAX_IDLE_ITERATIONS  # 0: the limits of the loop say when it is stuck

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
            case Reported(outcome="finished", text=text):
                return replace(state, claimed=extract_promise(text) == COMPLETION_PROMISE, trouble=""), Survey()
            case Reported() as reported:
                return replace(state, claimed=False, trouble=reported.detail or reported.outcome), Survey()
            case Restored():
                return self._choose_next(state, tally)
            case Checked() as checked:
                return state, self._decide_after_checks(checked, state)
            case _:
                return state, Survey()

    def explain_exhaustion(self, limits: Limits) -> str:
        return f"maximum iterations reached ({limits.iterations}) without completion"

    def explain_incompletion(self, state: ReviewedState) -> str:
        """not approved: US-002, US-003"""
        stories = parse_story_file(state.text).stories
        names = [story.id for story in stories if not is_story_done(story, self.skip_review)]
        return f"not approved: {', '.join(_limit_lines(names))}" if names else ""

    def sign_progress(self, state: ReviewedState) -> str:
        """What is uncommitted is no progress here, but for an agent that was cut off."""
        return sha256(f"{state.head}\n{state.text}".encode("utf-8", "replace")).hexdigest()[:16]

    def _judge_first_survey(self, surveyed: Surveyed, tally: Tally) -> tuple[ReviewedState, Decision]:
        missing = StoryFile({}, [surveyed.problem or "tasks.json is missing."])
        tasks = missing if surveyed.text is None else parse_story_file(surveyed.text)
        if tasks.problems:
            return ReviewedState(), Stop(Outcome.UNUSABLE, " ".join(_limit_lines(tasks.problems)))
        return self._choose_next(ReviewedState(text=surveyed.text or "", head=surveyed.head), tally)

    def _judge_survey(self, state: ReviewedState, surveyed: Surveyed, tally: Tally) -> tuple[ReviewedState, Decision]:
        before = parse_story_file(state.text)
        found = repair_story_file(before, surveyed.text, mode=state.mode, cap=self.cap, skip_review=self.skip_review)
        text = render_story_file(found.tasks) if found.is_needed else surveyed.text or ""
        moved = text != state.text or surveyed.head != state.head
        left = {story.id for story in found.tasks.stories}
        after = replace(
            state,
            text=text,
            head=surveyed.head,
            idle=0 if moved else state.idle + 1,
            uncommitted=surveyed.uncommitted,
            removed=tuple(id_ for id_ in (*state.removed, *(story.id for story in before.stories)) if id_ not in left),
            feedback=(
                *_limit_lines([f"It did not end well: {state.trouble}"] if state.trouble else []),
                *_limit_lines([surveyed.problem] if surveyed.problem else found.problems),
                *_limit_lines([f"Undone by the runner: {line}." for line in found.undone]),
                *_limit_lines(_about_criteria(before, found.tasks)),
                *_about_files(surveyed),
                *_limit_lines(_about_commits(state, surveyed)),
                *self._about_branch(surveyed),
            ),
            left_for=self._find_other_branch(surveyed),
        )
        if not found.is_needed and not surveyed.lost:
            return self._choose_next(after, tally)
        after = _note_correction(after) if found.is_needed else after
        return after, Restore(
            text if found.is_needed else None, _explain_restore(found, state, surveyed), surveyed.lost
        )

    def _find_other_branch(self, surveyed: Surveyed) -> str:
        """The branch that is checked out in the place of the loop's."""
        return (surveyed.branch or "no branch") if self.branch and surveyed.branch != self.branch else ""

    def _about_branch(self, surveyed: Surveyed) -> tuple[str, ...]:
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
            return state, Check(self.gates, tally.iterations) if self.gates else self._complete(state)
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
        )
        return state, RunAgent(brief)

    def _choose_story(self, stories: tuple[Story, ...], mode: IterationMode) -> Story | None:
        if mode == IMPLEMENT:
            return choose_next_story(stories, self.skip_review)
        status = "needs_review" if mode == REVIEW else "changes_requested"
        return min((s for s in stories if s.status == status), key=lambda s: s.priority)

    def _decide_after_checks(self, checked: Checked, state: ReviewedState) -> Decision:
        if not checked.failures:
            return self._complete(state)
        red = ", ".join(result.gate for result in checked.failures)
        done = "passes without review" if self.skip_review else "is approved"
        return Stop(Outcome.FAILED, f"every story {done}, but not every verifyCommand passes: {red}")

    def _complete(self, state: ReviewedState) -> Decision:
        said = "is promised and approved" if state.claimed else "is approved"
        said = "passes without review" if self.skip_review else said
        left = f"; not committed: {', '.join(state.uncommitted[:5])}" if state.uncommitted else ""
        gone = f"; taken from the list by an agent: {', '.join(state.removed[:10])}" if state.removed else ""
        moved = f"; {state.left_for} is checked out, not {self.branch}" if state.left_for else ""
        return Stop(Outcome.COMPLETED, f"every story {said}{gone}{left}{moved}")


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


def _about_criteria(before: StoryFile, after: StoryFile) -> list[str]:
    """Who reviews a story should know what it was to be measured by at first."""
    known = {raw["id"]: raw["acceptanceCriteria"] for raw in before.document["userStories"]}
    return [
        f"The last iteration changed the acceptanceCriteria of {raw['id']}. They were: {dumps(known[raw['id']])}"
        for raw in after.document["userStories"]
        if raw["id"] in known and raw["acceptanceCriteria"] != known[raw["id"]]
    ]


def _about_files(surveyed: Surveyed) -> tuple[str, ...]:
    return (
        *(f"{name} was gone or empty; the runner put it back. Do not delete it." for name in surveyed.lost),
        *(f"{name} was changed. It is not yours to change: leave it as it is." for name in surveyed.rewritten),
    )


def _about_commits(state: ReviewedState, surveyed: Surveyed) -> tuple[str, ...]:
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
