"""Sets right, field by field, what an agent did to tasks.json against the rules. All else it wrote stays."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from msgspec import Struct

from ralph.core.stories.review import (
    APPROVED,
    AUTO_APPROVED_MARK,
    CHANGES_REQUESTED,
    IMPLEMENT,
    REVIEW,
    REVIEW_FIELDS,
    UNSTARTED_STATE,
    IterationMode,
    Story,
    StoryFile,
    find_invariant_problems,
    find_malformed_fields,
    find_subject,
    find_transition_problems,
    is_blank,
    parse_story_file,
    render_value,
    take_review_snapshot,
    validate_document,
)
from ralph.core.text.plain import one_line

MAX_CRITERIA_CHARS = 300
JsonObject = dict[str, Any]  # a story as the file has it
_REVIEW_FIELDS = (*REVIEW_FIELDS, "reviewFeedback")
_UNSTARTED_FIELDS: Mapping[str, object] = {
    **dict(zip(REVIEW_FIELDS, UNSTARTED_STATE, strict=True)),
    "reviewFeedback": "",
}


class Repair(Struct, frozen=True, kw_only=True):
    """The corrected tasks.json, and why it differs from the agent's."""

    tasks: StoryFile
    problems: tuple[str, ...] = ()  # for the next prompt
    undone: tuple[str, ...] = ()  # for the record
    approved: tuple[str, ...] = ()  # at the cap, by us
    criteria: tuple[str, ...] = ()  # stories whose acceptanceCriteria were put back

    @property
    def is_needed(self) -> bool:
        """Whether the file must be written."""
        return bool(self.undone or self.approved)


def repair_story_file(
    before: StoryFile, text: str | None, *, mode: IterationMode, cap: int, skip_review: bool, is_void: bool = False
) -> Repair:
    """Judges the file (None: there is none) against the one before, which was valid, and undoes what was illegal.
    `is_void`: this iteration gives no verdict, whatever it wrote."""
    after = StoryFile({}, ["tasks.json is missing."]) if text is None else parse_story_file(text)
    if not _is_repairable(after) or (before.stories and not after.document["userStories"]):
        problems = after.problems or ("tasks.json has no user stories left.",)
        return Repair(
            tasks=before, problems=problems, undone=("tasks.json was put back as it was before this iteration",)
        )
    document = deepcopy(after.document)
    _fix_types(before, document)
    stories = _parse_stories(document)
    criteria = _keep_criteria(before, document)
    found = [*after.problems, *_keep_verify_commands(before, document), *_keep_branch_name(before, document)]
    found += _keep_description(before, document)
    found += [f"Story {id_}: 'acceptanceCriteria' are the user's; none may be removed or changed." for id_ in criteria]
    approved: list[str] = []
    if skip_review:
        if mode == IMPLEMENT:  # the verdict of a review that was cut off before this loop stays
            _keep_reviews(before, document)
        _restore_removed(before, document, mode)
        _keep_notes(before, document)
    else:
        states, priorities = (
            take_review_snapshot(before.stories),
            {story.id: story.priority for story in before.stories},
        )
        found += [*find_invariant_problems(stories, cap), *find_transition_problems(states, stories, mode, priorities)]
        subject = None if is_void else find_subject(states, stories, mode, priorities)
        _undo_illegal_changes(before, document, after=stories, subject=subject, mode=mode)
        _keep_notes(before, document)
        _keep_invariants(before, document, cap)
        approved += _approve_at_cap(document, subject, mode, cap)
    undone = _describe_differences(after.document, document, but=approved)
    return Repair(
        tasks=validate_document(document),
        problems=tuple(found),
        undone=tuple(undone),
        approved=tuple(approved),
        criteria=criteria,
    )


def render_story_file(tasks: StoryFile) -> str:
    text = json.dumps(tasks.document, indent=2, ensure_ascii=False)
    is_whole = text.encode("utf-8", "replace").decode() == text  # half a character can be read but not written
    return (text if is_whole else json.dumps(tasks.document, indent=2)) + "\n"


def _is_repairable(tasks: StoryFile) -> bool:
    """Whether it holds stories one can tell apart; anything less is not worth mending."""
    stories = tasks.document.get("userStories")
    if not isinstance(stories, list) or not all(isinstance(raw, dict) for raw in stories):
        return False
    return not any("id" in find_malformed_fields(raw) for raw in stories) and len(
        {raw["id"] for raw in stories}
    ) == len(stories)


def _fix_types(before: StoryFile, document: JsonObject) -> None:
    """Gives every malformed field a valid value: the one from before, or a neutral one for a new story."""
    for field in ("project", "description"):
        if not isinstance(document.get(field), str):
            document[field] = before.document[field]
    known = _index_by_id(before.document)
    stories = document["userStories"]
    last = max((raw["priority"] for raw in stories if "priority" not in find_malformed_fields(raw)), default=0)
    for raw in stories:
        usual = {**_default_story(raw, last + 1), **known.get(raw["id"], {})}
        if repaired := {field: deepcopy(usual[field]) for field in find_malformed_fields(raw)}:
            raw.update(repaired)
            last = max(last, raw["priority"])


def _keep_verify_commands(before: StoryFile, document: JsonObject) -> Iterator[str]:
    """The commands that verify are the user's: an agent may add some and take none away."""
    given, now = before.document.get("verifyCommands"), document.get("verifyCommands")
    if isinstance(given, list):
        added = [each for each in now if each not in given] if isinstance(now, list) else []
        if not isinstance(now, list) or any(each not in now for each in given):
            document["verifyCommands"] = [*given, *added]
            yield "tasks.json: 'verifyCommands' are the user's; none may be removed or changed."


def _keep_criteria(before: StoryFile, document: JsonObject) -> tuple[str, ...]:
    """What a story is measured by is the user's: an agent may add to it and take none away. The stories put right."""
    known = {raw["id"]: raw["acceptanceCriteria"] for raw in before.document["userStories"]}
    changed = []
    for raw in document["userStories"]:
        given, now = known.get(raw["id"]), raw["acceptanceCriteria"]
        if given is not None and any(each not in now for each in given):
            raw["acceptanceCriteria"] = [*given, *(each for each in now if each not in given)]
            changed.append(raw["id"])
    return tuple(changed)


def _keep_description(before: StoryFile, document: JsonObject) -> Iterator[str]:
    """What a story asks for is the user's as much as what it is measured by: a reviewer reads both."""
    known = {raw["id"]: raw["description"] for raw in before.document["userStories"] if "description" in raw}
    for raw in document["userStories"]:
        given = known.get(raw["id"])
        if given is not None and raw.get("description") != given:
            raw["description"] = given
            yield f"Story {raw['id']}: 'description' is the user's and stays as it was."


def _keep_branch_name(before: StoryFile, document: JsonObject) -> Iterator[str]:
    """The next loop works where it says: so that is the user's, too."""
    given = before.document.get("branchName")
    if isinstance(given, str) and document.get("branchName") != given:
        document["branchName"] = given
        yield f"tasks.json: 'branchName' is the user's and stays {render_value(given)}."


def _default_story(raw: JsonObject, priority: float) -> JsonObject:
    title = raw["title"] if isinstance(raw.get("title"), str) else raw["id"]
    return {
        **_UNSTARTED_FIELDS,
        "title": title,
        "priority": priority,
        "acceptanceCriteria": [title],
        "notes": "",
        "dependsOn": [],
    }


def _undo_illegal_changes(
    before: StoryFile, document: JsonObject, *, after: Sequence[Story], subject: Story | None, mode: IterationMode
) -> None:
    known = _index_by_id(before.document)
    states = take_review_snapshot(before.stories)
    for raw, story in zip(document["userStories"], after, strict=True):
        if story is subject and mode == REVIEW:
            continue
        if story is subject:
            raw["passes"], _, raw["reviewCount"] = states[story.id]
        elif story.state != states.get(story.id, UNSTARTED_STATE):
            _restore_review_fields(raw, known.get(story.id, _UNSTARTED_FIELDS))
    _restore_removed(before, document, mode)


def _restore_removed(before: StoryFile, document: JsonObject, mode: IterationMode) -> None:
    stories = document["userStories"]
    there = _index_by_id(document)
    for place, (story, raw) in enumerate(zip(before.stories, before.document["userStories"], strict=True)):
        if story.id not in there and (mode != IMPLEMENT or story.state != UNSTARTED_STATE):
            stories.insert(place, deepcopy(raw))


def _keep_reviews(before: StoryFile, document: JsonObject) -> None:
    """Where nobody reviews, nobody writes a verdict: `passes` is all that moves."""
    known = _index_by_id(before.document)
    for raw in document["userStories"]:
        _restore_review_fields(raw, {**known.get(raw["id"], _UNSTARTED_FIELDS), "passes": raw["passes"]})


def _keep_notes(before: StoryFile, document: JsonObject) -> None:
    known = _index_by_id(before.document)
    for raw in document["userStories"]:
        old = known.get(raw["id"], _UNSTARTED_FIELDS)
        if raw["passes"] and is_blank(raw.get("notes")):
            raw["notes"] = old.get("notes") or ""
            if is_blank(raw["notes"]):
                _restore_review_fields(raw, old)


def _keep_invariants(before: StoryFile, document: JsonObject, cap: int) -> None:
    """What a change of the feedback alone, or one review too many, can break."""
    known = _index_by_id(before.document)
    for raw, story in zip(document["userStories"], _parse_stories(document), strict=True):
        if story.id in known and any(find_invariant_problems([story], cap)):
            _restore_review_fields(raw, known[story.id])


def _approve_at_cap(document: JsonObject, subject: Story | None, mode: IterationMode, cap: int) -> Iterator[str]:
    """Approves the reviewed story when it still wants changes and no review may follow. Yields its id."""
    if mode != REVIEW or subject is None:
        return
    raw = _index_by_id(document)[subject.id]
    if raw["reviewStatus"] == CHANGES_REQUESTED and raw["reviewCount"] >= cap:
        raw.update(passes=True, reviewStatus=APPROVED)
        if not raw["reviewFeedback"].startswith(AUTO_APPROVED_MARK):
            raw["reviewFeedback"] = f"{AUTO_APPROVED_MARK} {raw['reviewFeedback']}"
        if is_blank(raw.get("notes")):
            raw["notes"] = f"Approved by ralph after {raw['reviewCount']} reviews; see reviewFeedback."
        yield subject.id


def _restore_review_fields(raw: JsonObject, old: Mapping[str, Any]) -> None:
    raw.update({field: old[field] for field in _REVIEW_FIELDS})


def _parse_stories(document: JsonObject) -> tuple[Story, ...]:
    return tuple(Story(raw) for raw in document["userStories"])


def _index_by_id(document: JsonObject) -> dict[str, JsonObject]:
    return {raw["id"]: raw for raw in document["userStories"]}


def _describe_differences(was: JsonObject, now: JsonObject, but: Collection[str]) -> Iterator[str]:
    """What we changed, one line each."""
    for field in ("project", "branchName", "description", "verifyCommands"):
        if was.get(field) != now.get(field):
            yield f"tasks.json: {field} put back"
    there = _index_by_id(was)
    for id_, raw in _index_by_id(now).items():
        if id_ not in there:
            yield f"{id_}: put back"
        if id_ not in there or id_ in but:
            continue
        for field, value in raw.items():
            if field not in there[id_]:
                yield f"{id_}: {field} set to {render_value(value)}"
            elif field == "acceptanceCriteria" and there[id_][field] != value:
                yield f"{id_}: acceptanceCriteria put back: {one_line('; '.join(value), MAX_CRITERIA_CHARS)}"
            elif type(there[id_][field]) is not type(value) or there[id_][field] != value:  # 0.0 and false are no 0
                yield f"{id_}: {field} {render_value(there[id_][field])} → {render_value(value)}"
