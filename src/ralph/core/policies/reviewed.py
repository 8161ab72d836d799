"""Done when every story was approved by a context that did not write it: the story loop.

The list of before an iteration is ours, kept here and in the journal; the agent's is judged against it, and what it
changed against the rules is undone field by field.
"""

import re
from collections.abc import Sequence
from json import dumps

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.claims import promise
from ralph.core.stories.repair import Redress, redress, written
from ralph.core.stories.review import (
    IMPLEMENT,
    MODES,
    REVIEW,
    REVIEW_FIX,
    Mode,
    Story,
    Tasks,
    is_complete,
    is_done,
    mode_for,
    read,
)
from ralph.core.stories.story_order import blocked, next_story, plan_problems
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

PROMISE = "COMPLETE"
NO_PROGRESS = 3  # iterations in a row that changed nothing
MOST_LINES, LONGEST_LINE = 30, 1000  # of what is told about one iteration: nobody reads more
_SUBJECTS = {
    IMPLEMENT: "feat: [{id}] - {title}",
    REVIEW: "review: [{id}] - approved` or `review: [{id}] - changes requested",
    REVIEW_FIX: "fix: [{id}] - address review feedback",
}
_SUBJECT_FORMS = {
    IMPLEMENT: r"feat: \[{id}\] - .+",
    REVIEW: r"review: \[{id}\] - (approved|changes requested)",
    REVIEW_FIX: r"fix: \[{id}\] - address review feedback",
}


class Standing(Struct, frozen=True):
    """What the loop holds to be true."""

    text: str = ""  # tasks.json: ours, not the agent's
    head: str = ""
    mode: Mode = IMPLEMENT
    story: str = ""
    claimed: bool = False
    trouble: str = ""  # how the last run ended, unless it ended well
    idle: int = 0  # iterations in a row without progress
    feedback: tuple[str, ...] = ()
    uncommitted: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()  # stories an agent took from the list
    begun: bool = False  # whether the plan was found to be one to work with


class Reviewed(Struct, frozen=True):
    """The rule of `ralph story run`."""

    cap: int = 5
    skip_review: bool = False
    gates: tuple[str, ...] = ()  # verifyCommands as they were when the loop began
    earlier: Brief | None = None  # an iteration that was cut off before it could be judged

    def begin(self, limits: Limits) -> tuple[Standing, Decision]:
        """Look at the list first, and judge what a cut-off iteration made of it."""
        if self.earlier is None:
            return Standing(), Survey()
        mode: Mode = next((mode for mode in MODES if mode == self.earlier.role), IMPLEMENT)
        return Standing(self.earlier.tasks, mode=mode, story=self.earlier.story), Survey()

    def decide(self, state: Standing, seen: Observation, tally: Tally, limits: Limits) -> tuple[Standing, Decision]:
        """Agent → survey → judge, and undo if need be → next, until all is approved and the checks agree."""
        match seen.fact:
            case Surveyed() as surveyed if not state.text:
                return self._first(surveyed, tally)
            case Surveyed() as surveyed:
                return self._judged(state, surveyed, tally)
            case Reported("finished", text):
                return replace(state, claimed=promise(text) == PROMISE, trouble=""), Survey()
            case Reported() as reported:
                return replace(state, claimed=False, trouble=reported.detail or reported.outcome), Survey()
            case Restored():
                return self._next(state, tally)
            case Checked() as checked:
                return state, self._verdict(checked, state)
            case _:
                return state, Survey()

    def exhausted(self, limits: Limits) -> str:
        """The iterations are used up."""
        return f"maximum iterations reached ({limits.iterations}) without completion"

    def _first(self, surveyed: Surveyed, tally: Tally) -> tuple[Standing, Decision]:
        missing = Tasks({}, [surveyed.problem or "tasks.json is missing."])
        tasks = missing if surveyed.text is None else read(surveyed.text)
        if tasks.problems:
            return Standing(), Stop(Outcome.UNUSABLE, " ".join(_told(tasks.problems)))
        return self._next(Standing(surveyed.text or "", surveyed.head), tally)

    def _judged(self, state: Standing, surveyed: Surveyed, tally: Tally) -> tuple[Standing, Decision]:
        before = read(state.text)
        found = redress(before, surveyed.text, state.mode, self.cap, self.skip_review)
        text = written(found.tasks) if found.is_needed else surveyed.text or ""
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
                *_told([f"It did not end well: {state.trouble}"] if state.trouble else []),
                *_told([surveyed.problem] if surveyed.problem else found.problems),
                *_told([f"Undone by the runner: {line}." for line in found.undone]),
                *_told(_about_criteria(before, found.tasks)),
                *_about_files(surveyed),
                *_told(_about_commits(state, surveyed)),
            ),
        )
        if not found.is_needed and not surveyed.lost:
            return self._next(after, tally)
        after = _corrected(after) if found.is_needed else after
        return after, Restore(text if found.is_needed else None, _why(found, state, surveyed), surveyed.lost)

    def _next(self, state: Standing, tally: Tally) -> tuple[Standing, Decision]:
        stories = read(state.text).stories
        if not state.begun and (problems := plan_problems(stories, self.cap, self.skip_review)):
            return state, Stop(Outcome.UNUSABLE, " ".join(_told(problems)))
        state = replace(state, begun=True)
        if is_complete(stories, self.skip_review):
            return state, Check(self.gates, tally.iterations) if self.gates else self._completed(state)
        if state.idle >= NO_PROGRESS:
            why = f"{state.idle} iterations in a row changed neither tasks.json nor the branch"
            return state, Stop(Outcome.STUCK, f"{why}; the last one: {state.trouble}" if state.trouble else why)
        mode = mode_for(stories, self.skip_review)
        story = self._chosen(stories, mode)
        if story is None:
            return state, Stop(Outcome.BLOCKED, one_line(_waits(blocked(stories, self.skip_review)), LONGEST_LINE))
        feedback = state.feedback
        if state.claimed:
            left = ", ".join(s.id for s in stories if not is_done(s, self.skip_review))
            feedback = (*_told([f"You promised COMPLETE, but these stories are not done: {left}."]), *feedback)
        state = replace(state, mode=mode, story=story.id, claimed=False, feedback=())
        brief = Brief(0, 0, tuple(map(Feedback, feedback)), None, mode, story.id, state.text)
        return state, RunAgent(brief)

    def _chosen(self, stories: tuple[Story, ...], mode: Mode) -> Story | None:
        if mode == IMPLEMENT:
            return next_story(stories, self.skip_review)
        status = "needs_review" if mode == REVIEW else "changes_requested"
        return min((s for s in stories if s.status == status), key=lambda s: s.priority)

    def _verdict(self, checked: Checked, state: Standing) -> Decision:
        if not checked.failures:
            return self._completed(state)
        red = ", ".join(result.gate for result in checked.failures)
        done = "passes without review" if self.skip_review else "is approved"
        return Stop(Outcome.FAILED, f"every story {done}, but not every verifyCommand passes: {red}")

    def _completed(self, state: Standing) -> Decision:
        said = "is promised and approved" if state.claimed else "is approved"
        said = "passes without review" if self.skip_review else said
        left = f"; not committed: {', '.join(state.uncommitted[:5])}" if state.uncommitted else ""
        gone = f"; taken from the list by an agent: {', '.join(state.removed[:10])}" if state.removed else ""
        return Stop(Outcome.COMPLETED, f"every story {said}{gone}{left}")


def _corrected(state: Standing) -> Standing:
    """What the runner writes is committed with the next work, or named at the end."""
    if any(path.endswith("tasks.json") for path in state.uncommitted):
        return state
    note = "The runner changed tasks.json after that: commit it with your work."
    return replace(state, uncommitted=(*state.uncommitted, "tasks.json"), feedback=(*state.feedback, note))


def _why(found: Redress, state: Standing, surveyed: Surveyed) -> tuple[str, ...]:
    """For whoever watches."""
    cut_off = "" if state.head else " (left by an iteration that was cut off; --as-is keeps it)"
    return (
        *_told([f"Undone in tasks.json{cut_off}: {line}" for line in found.undone]),
        *(f"{id_} is approved as it is: the review cap is reached" for id_ in found.approved),
        *(f"{name} was gone or empty: put back as it was" for name in surveyed.lost),
    )


def _told(lines: Sequence[str]) -> tuple[str, ...]:
    """Not more than a prompt can hold, and only what can be written, whatever an agent made of the list."""
    rest = [f"… and {len(lines) - MOST_LINES} more of that kind"] if len(lines) > MOST_LINES else []
    return tuple(one_line(line, LONGEST_LINE) for line in (*lines[:MOST_LINES], *rest))


def _about_criteria(before: Tasks, after: Tasks) -> list[str]:
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


def _about_commits(state: Standing, surveyed: Surveyed) -> tuple[str, ...]:
    """Work that is not committed, or under another name than agreed, is told to the next agent."""
    notes = []
    if surveyed.uncommitted:
        names = ", ".join(surveyed.uncommitted[:10])
        notes.append(f"The last iteration left uncommitted changes: {names}. Commit ALL changes, progress.txt too.")
    form = _SUBJECT_FORMS[state.mode].format(id=re.escape(state.story))
    if state.head and surveyed.head != state.head and not re.fullmatch(form, surveyed.subject):
        story = next((s for s in read(state.text).stories if s.id == state.story), None)
        wanted = _SUBJECTS[state.mode].format(id=state.story, title=story.title if story else "")
        notes.append(f"The last commit is called {surveyed.subject!r}; agreed is `{wanted}`.")
    return tuple(notes)


def _waits(waiting: dict[str, tuple[str, ...]]) -> str:
    lines = [f"{story} waits for {', '.join(needs)}" for story, needs in waiting.items()]
    return f"no story can be worked on: {'; '.join(lines)}"
