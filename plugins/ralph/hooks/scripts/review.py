# Generated from src/ralph/core/stories/review.py by tools/sync_plugin.py: change it there.
"""The review cycle of stories: what tasks.json must look like and what an iteration may change in it.

The runner and the plugin's Stop hook judge by this one file; so it needs nothing but `json`, and Python 3.8.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False  # `typing` would cost every hook 4 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any, Literal

    IterationMode = Literal["implement", "review", "review-fix"]
    ReviewState = tuple[bool, str | None, int]  # the FIELDS of a story
    ReviewSnapshot = Mapping[str, ReviewState]  # by story id, in the file's order
else:
    IterationMode, ReviewState, ReviewSnapshot = str, tuple, dict

IMPLEMENT: IterationMode = "implement"
REVIEW: IterationMode = "review"
REVIEW_FIX: IterationMode = "review-fix"
ITERATION_MODES: tuple[IterationMode, ...] = (IMPLEMENT, REVIEW, REVIEW_FIX)
NEEDS_REVIEW, CHANGES_REQUESTED, APPROVED = "needs_review", "changes_requested", "approved"
REVIEW_STATUSES = (None, NEEDS_REVIEW, CHANGES_REQUESTED, APPROVED)
REVIEW_FIELDS = ("passes", "reviewStatus", "reviewCount")
UNSTARTED_STATE: ReviewState = (False, None, 0)
DEFAULT_REVIEW_CAP = 5
AUTO_APPROVED_MARK = "[AUTO-APPROVED AT CAP]"
MAX_JSON_DEPTH = 50  # levels of a document: far more than stories need, far fewer than would exhaust a stack
MAX_STORY_ID_CHARS = 100


class Story:
    """What the rules look at in one valid story."""

    __slots__ = ("count", "feedback", "id", "needs", "notes", "passes", "priority", "state", "status", "title")

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.id: str = raw["id"]
        self.title: str = raw["title"]
        self.priority: float = raw["priority"]
        self.passes: bool = raw["passes"]
        self.status: str | None = raw["reviewStatus"]
        self.count: int = raw["reviewCount"]
        self.feedback: str = raw["reviewFeedback"]
        self.notes: str = raw.get("notes") or ""
        self.needs: tuple[str, ...] = tuple(raw.get("dependsOn") or ())
        self.state: ReviewState = (self.passes, self.status, self.count)


class StoryFile:
    """A tasks.json as it was read: the whole document, and its stories when nothing is wrong with it."""

    __slots__ = ("document", "problems", "stories", "warnings")

    def __init__(self, document: dict[str, Any], problems: Iterable[str], warnings: Iterable[str] = ()) -> None:
        self.document = document
        self.problems = tuple(problems)
        self.warnings = tuple(warnings)
        self.stories = () if self.problems else tuple(Story(raw) for raw in document["userStories"])


class ActiveMarker:
    """What `.ralph-active` says; None where it does not say it, or not in a way one can use."""

    __slots__ = ("cap", "folder", "iteration_mode", "run_mode", "skip_review", "snapshot")

    def __init__(self, raw: Mapping[str, Any]) -> None:
        cap, mode = raw.get("reviewCap"), raw.get("iterationMode")
        self.cap: int = raw["reviewCap"] if _is_count(cap) and cap else DEFAULT_REVIEW_CAP
        self.iteration_mode: IterationMode | None = mode if mode in ITERATION_MODES else None
        self.snapshot: dict[str, ReviewState] | None = _parse_snapshot(raw.get("preIterationSnapshot"))
        self.skip_review: bool = raw.get("skipReview") is True
        self.run_mode: str | None = _text_or_none(raw.get("mode"))
        self.folder: str | None = _text_or_none(raw.get("ralphDir"))


# -- reading --------------------------------------------------------------------------------------
def parse_story_file(text: str) -> StoryFile:
    """Check 1: parses tasks.json; the result carries every problem with its form."""
    try:
        # Some editors put a byte order mark first.
        document = json.loads(text[text.startswith("\ufeff") :], parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        return StoryFile({}, [f"tasks.json is not valid JSON: {error}."])
    return (
        StoryFile({}, ["tasks.json is nested too deeply."]) if _is_too_deep(document) else validate_document(document)
    )


def validate_document(document: object) -> StoryFile:
    """Check 1 for a document that is already parsed."""
    if not isinstance(document, dict):
        return StoryFile({}, ["tasks.json must hold one JSON object."])
    # Foreign files have no branch; we do not stop for that.
    warnings = [] if isinstance(document.get("branchName"), str) else ["tasks.json: 'branchName' is missing."]
    return StoryFile(
        document, [*_find_top_problems(document), *_find_story_problems(document.get("userStories"))], warnings
    )


def parse_marker(text: str) -> ActiveMarker:
    """Parses `.ralph-active` as far as it can be used; never fails."""
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError):
        raw = None
    return ActiveMarker(raw if isinstance(raw, dict) else {})


def take_review_snapshot(stories: Iterable[Story]) -> dict[str, ReviewState]:
    return {story.id: story.state for story in stories}


def render_review_snapshot(before: ReviewSnapshot) -> dict[str, dict[str, bool | str | int | None]]:
    """A snapshot as `.ralph-active` holds it."""
    return {id_: dict(zip(REVIEW_FIELDS, state)) for id_, state in before.items()}  # noqa: B905  # `strict` is 3.10


# -- what is next ---------------------------------------------------------------------------------
def choose_mode(stories: Iterable[Story], skip_review: bool) -> IterationMode:
    """Feedback is addressed before reviews are made, reviews are made before new work begins."""
    statuses = () if skip_review else {story.status for story in stories}
    if CHANGES_REQUESTED in statuses:
        return REVIEW_FIX
    return REVIEW if NEEDS_REVIEW in statuses else IMPLEMENT


def is_story_done(story: Story, skip_review: bool) -> bool:
    """Whether nothing is left to do for it."""
    return story.passes and (skip_review or story.status == APPROVED)


def is_list_done(stories: Sequence[Story], skip_review: bool) -> bool:
    """Whether the whole list is done; an empty one never is."""
    return bool(stories) and all(is_story_done(story, skip_review) for story in stories)


# -- judging --------------------------------------------------------------------------------------
def judge_story_file(tasks: StoryFile, marker: ActiveMarker) -> tuple[list[str], list[str]]:
    """Checks 1, 2 and 2.5: the problems, and the warnings."""
    problems, warnings = list(tasks.problems), list(tasks.warnings)
    if problems or marker.skip_review:
        return problems, warnings
    problems += find_invariant_problems(tasks.stories, marker.cap)
    if marker.iteration_mode is None or marker.snapshot is None:
        warnings.append(".ralph-active has no usable iterationMode and preIterationSnapshot: transitions not checked.")
    else:
        problems += find_transition_problems(marker.snapshot, tasks.stories, marker.iteration_mode)
    return problems, warnings


def find_invariant_problems(stories: Iterable[Story], cap: int) -> Iterator[str]:
    """Check 2: what no iteration may leave behind."""
    for story in stories:
        yield from _check_invariants(story, cap)


def find_transition_problems(
    before: ReviewSnapshot, after: Sequence[Story], mode: IterationMode, priorities: Mapping[str, float] | None = None
) -> Iterator[str]:
    """Check 2.5: what this iteration may not have changed. `priorities` are those of before, where they are known."""
    now = {story.id for story in after}
    for id_, state in before.items():
        if id_ not in now and not (mode == IMPLEMENT and state == UNSTARTED_STATE):
            yield (
                f"Story {id_} was removed. "
                "Only implement iterations may remove a story, and only one that was never started."
            )
    for story in after:
        if story.id not in before and story.state != UNSTARTED_STATE:
            yield (
                "New stories must start incomplete (passes=false, reviewStatus=null, reviewCount=0). "
                f"Story {story.id} starts with {_render_state(story.state)}."
            )
    moved = _changed_stories(before, after)
    subject = find_subject(before, after, mode, priorities) if moved else None
    if mode == REVIEW:
        yield from _find_review_problems(before, moved, subject, _find_due(before, after, priorities))
    else:
        yield from _find_work_problems(before, moved, subject, mode)


def find_subject(
    before: ReviewSnapshot, after: Sequence[Story], mode: IterationMode, priorities: Mapping[str, float] | None = None
) -> Story | None:
    """The one story whose new reviewStatus counts, if any has a legal one; of several the highest priority."""
    moved = _changed_stories(before, after)
    if mode == REVIEW:
        due = _find_due(before, after, priorities)
        fit = [story for story in moved if not _find_review_flaw(before[story.id], story, due)]
    else:
        fit = [story for story in moved if _is_submitted(before[story.id], story, mode)]
    return min(fit, key=lambda story: _priority_of(story, priorities), default=None)


def is_blank(text: object) -> bool:
    return not (isinstance(text, str) and text.strip())


def render_value(value: object) -> str:
    """A value as JSON writes it, in one short line."""
    if isinstance(value, (dict, list)):
        return f"an {'' if value else 'empty '}{'object' if isinstance(value, dict) else 'array'}"
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "…"


# -- the rules of each mode -----------------------------------------------------------------------
def _changed_stories(before: ReviewSnapshot, after: Iterable[Story]) -> list[Story]:
    return [story for story in after if story.id in before and story.state != before[story.id]]


def _is_submitted(old: ReviewState, story: Story, mode: IterationMode) -> bool:
    if story.status != NEEDS_REVIEW:
        return False
    return old[1] is None if mode == IMPLEMENT else old[1] == CHANGES_REQUESTED and is_blank(story.feedback)


def _find_work_problems(
    before: ReviewSnapshot, moved: Iterable[Story], subject: Story | None, mode: IterationMode
) -> Iterator[str]:
    for story in moved:
        for field, was, now in zip(REVIEW_FIELDS, before[story.id], story.state):  # noqa: B905  # `strict` is 3.10
            if was == now or (field == "reviewStatus" and story is subject):
                continue
            change = f"{field} {render_value(was)} → {render_value(now)}."
            if mode == IMPLEMENT:
                yield (
                    "Implement iterations cannot set passes=true or approve stories. Only review iterations may "
                    f"approve. Story {story.id} had illegal transition: {change}"
                    f"{_suggest_fix(before, story, field, mode)}"
                )
            else:
                yield (
                    f"Review-fix iterations cannot approve stories. Story {story.id} must go back to needs_review "
                    f"for re-review. Illegal transition: {change}{_suggest_fix(before, story, field, mode)}"
                )


def _suggest_fix(before: ReviewSnapshot, story: Story, field: str, mode: IterationMode) -> str:
    name = "Implement iterations" if mode == IMPLEMENT else "Review-fix iterations"
    if field == "reviewCount":
        return f" {name} cannot increment reviewCount."
    if field == "reviewStatus" and _is_submitted(before[story.id], story, mode):
        return f" {name} may submit only one story for review."
    if mode == REVIEW_FIX and before[story.id][1] == CHANGES_REQUESTED and story.status == NEEDS_REVIEW:
        return " Clear reviewFeedback when you resubmit."
    return ""


def _find_review_problems(
    before: ReviewSnapshot, moved: Sequence[Story], subject: Story | None, due: Collection[str]
) -> Iterator[str]:
    for story in moved:
        if story is not subject:
            details = _find_review_flaw(before[story.id], story, due)
            if len(moved) > 1:
                details = "; ".join(filter(None, ["review may only modify one story", details]))
            yield f"Review iteration made illegal transition on story {story.id}: {details}."
    if not moved:
        which = " or ".join(due) or "(none)"
        yield f"Review iteration made illegal transition on story {which}: review must increment reviewCount by 1."


def _find_due(before: ReviewSnapshot, after: Iterable[Story], priorities: Mapping[str, float] | None) -> list[str]:
    """What to review: stories that needed it and than which no other that did has a higher priority."""
    waiting = {
        story.id: _priority_of(story, priorities)
        for story in after
        if before.get(story.id, UNSTARTED_STATE)[1] == NEEDS_REVIEW
    }
    first = min(waiting.values(), default=0)
    return [id_ for id_, priority in waiting.items() if priority == first]


def _priority_of(story: Story, priorities: Mapping[str, float] | None) -> float:
    return story.priority if priorities is None else priorities.get(story.id, story.priority)


def _find_review_flaw(old: ReviewState, story: Story, due: Collection[str]) -> str:
    """Why this is not a verdict of a review; empty when it is one."""
    if old[1] != NEEDS_REVIEW:
        return f"it did not need review (its reviewStatus was {render_value(old[1])})"
    if story.id not in due:
        return f"{' or '.join(due)} comes first"
    if story.count != old[2] + 1:
        return f"review must increment reviewCount by 1 (here {old[2]} → {story.count})"
    if story.status == CHANGES_REQUESTED and not story.passes:
        return "changes_requested needs reviewFeedback" if is_blank(story.feedback) else ""
    if story.status == APPROVED and story.passes:
        return ""
    return (
        "a review ends with approved and passes=true or with changes_requested and passes=false "
        f"(here {_render_state(story.state)})"
    )


def _check_invariants(story: Story, cap: int) -> Iterator[str]:
    if story.passes and story.status != APPROVED:
        yield (
            f"Story {story.id} has passes=true but reviewStatus is '{story.status or 'null'}', not 'approved'. "
            "Only review iterations may approve stories. Set passes back to false or complete the review cycle."
        )
    if story.status == APPROVED and not story.passes:
        yield f"Story {story.id} has reviewStatus 'approved' but passes=false: the two are out of sync."
    if story.status == CHANGES_REQUESTED and is_blank(story.feedback):
        yield (
            f"Story {story.id} has reviewStatus 'changes_requested' but an empty reviewFeedback: feedback required. "
            "Say exactly what needs to be fixed and where."
        )
    if story.count > cap + 1:
        yield f"Story {story.id} has reviewCount {story.count}; with a review cap of {cap} it cannot exceed {cap + 1}."


# -- the form -------------------------------------------------------------------------------------
def _find_top_problems(document: Mapping[str, Any]) -> Iterator[str]:
    for field in ("project", "description"):
        if field not in document:
            yield f"tasks.json: required field '{field}' is missing."
        elif not isinstance(document[field], str):
            yield f"tasks.json: '{field}' must be a string, not {render_value(document[field])}."
    if "userStories" not in document:
        yield "tasks.json: required field 'userStories' is missing."


def _find_story_problems(stories: object) -> Iterator[str]:
    if stories is None:
        return
    if not isinstance(stories, list):
        yield f"tasks.json: 'userStories' must be an array, not {render_value(stories)}."
        return
    seen: set[str] = set()
    for number, raw in enumerate(stories, 1):
        if not isinstance(raw, dict):
            yield f"Story #{number} must be an object, not {render_value(raw)}."
            continue
        name = raw["id"] if _is_id(raw.get("id")) else f"#{number}"
        for field, problem in find_malformed_fields(raw).items():
            yield f"Story {name}: '{field}' {problem}."
        if name in seen:
            yield f"Duplicate story id '{name}'."
        seen.add(name)
        if raw.get("passes") is True and is_blank(raw.get("notes")):
            yield f"Story {name} has passes=true but empty notes. Write in 'notes' what was done."


def find_malformed_fields(raw: Mapping[str, Any]) -> dict[str, str]:
    """The fields of a story that are not what they must be, and what that is."""
    return {
        field: f"{must}, not {render_value(raw[field])}" if field in raw else "is missing"
        for field, (holds, must) in _FIELD_RULES.items()
        if not holds(raw.get(field)) or (field == "reviewStatus" and field not in raw)  # absent is not null
    }


def _is_id(value: object) -> bool:
    """Ids go into prompts, the names of commits and messages: one line of text."""
    return isinstance(value, str) and not is_blank(value) and value.isprintable() and len(value) <= MAX_STORY_ID_CHARS


def _is_number(value: object) -> bool:
    """JSON can say 1e999, which is read as infinite and cannot be written again."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -1e300 < value < 1e300


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


_FIELD_RULES: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "id": (_is_id, "must be a non-empty string, one short line"),
    "title": (lambda value: isinstance(value, str), "must be a string"),
    "passes": (lambda value: isinstance(value, bool), "must be a boolean"),
    "priority": (_is_number, "must be a number"),
    "acceptanceCriteria": (lambda value: isinstance(value, list) and bool(value), "must be a non-empty array"),
    "reviewStatus": (
        lambda value: value in REVIEW_STATUSES,
        'must be null, "needs_review", "changes_requested" or "approved"',
    ),
    "reviewCount": (_is_count, "must be a non-negative integer"),
    "reviewFeedback": (lambda value: isinstance(value, str), "must be a string"),
    "notes": (lambda value: value is None or isinstance(value, str), "must be a string"),
    "dependsOn": (lambda value: value is None or _are_texts(value), "must be an array of story ids"),
}


def _parse_snapshot(raw: object) -> dict[str, ReviewState] | None:
    if not isinstance(raw, dict):
        return None
    found: dict[str, ReviewState] = {}
    for id_, fields in raw.items():
        if not isinstance(fields, dict) or any(field in find_malformed_fields(fields) for field in REVIEW_FIELDS):
            return None
        found[id_] = (fields["passes"], fields["reviewStatus"], fields["reviewCount"])
    return found


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _is_too_deep(document: object) -> bool:
    level = [document]
    for _ in range(MAX_JSON_DEPTH):
        nested = [each for each in level if isinstance(each, (dict, list))]
        if not nested:
            return False
        level = [inner for each in nested for inner in (each.values() if isinstance(each, dict) else each)]
    return True


def _reject_constant(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


def _render_state(state: ReviewState) -> str:
    return ", ".join(f"{field} {render_value(value)}" for field, value in zip(REVIEW_FIELDS, state))  # noqa: B905
