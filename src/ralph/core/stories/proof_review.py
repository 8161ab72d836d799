"""What is open about changed proofs in a story loop: who reviews has to approve each by name."""

from collections.abc import Sequence
from copy import deepcopy

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.prompt import truncate_text
from ralph.core.proofs.approval import APPROVAL_TAG, describe_approvals, read_approvals
from ralph.core.proofs.wording import MAX_DIFF_CHARS, describe_proof_change, extract_explanation
from ralph.core.stories.review import CHANGES_REQUESTED, NEEDS_REVIEW, StoryFile, validate_document
from ralph.core.text.secrets import redact
from ralph.model.proofs import ProofApproval, ProofChange

_QUESTION = """\
Files that the checks rest on are not as they were when this loop started:
{files}

Judge this change by itself. It is right where the story requires it (a renamed function, a changed requirement) and the
checks test at least as much as before. It is wrong where tests were skipped, removed, loosened or bypassed.
- Right: write a line for each file in your final answer, outside any code fence:
{lines}
  A change that no line names does not count as approved, whatever else you write.
- Wrong: request changes, and say which file to put back.
{said}
```diff
{diff}
```"""


class ProofReview(Struct, frozen=True, kw_only=True):
    """Of one loop."""

    changes: tuple[ProofChange, ...] = ()  # what checks may no longer say what they said by, as last looked at
    diff: str = ""
    explanation: str = ""  # of who wrote it
    answer: str = ""  # of the review that has just ended
    approved: tuple[ProofApproval, ...] = ()
    asked: int = 0  # how often a story was opened again for it
    altered: str = ""  # what the checks did not pass without, in words

    @property
    def open(self) -> tuple[ProofChange, ...]:
        return tuple(change for change in self.changes if change.protected or not self.is_approved(change))

    def is_approved(self, change: ProofChange) -> bool:
        """Another change of the same file is another question."""
        return any((each.change.path, each.change.blob) == (change.path, change.blob) for each in self.approved)

    def note_work(self, text: str) -> "ProofReview":
        return replace(self, answer="", explanation=extract_explanation(text) or self.explanation)

    def note_review(self, text: str) -> "ProofReview":
        return replace(self, answer=text)

    def look(self, changes: Sequence[ProofChange], diff: str, *, counts: bool) -> "ProofReview":
        """What an agent left. `counts`: it was a review, and one that may approve."""
        suspects = tuple(change for change in changes if change.is_suspect)
        found = replace(self, changes=suspects, diff=diff, answer="")
        if not counts:
            return found
        said = read_approvals(self.answer, found.open, by="review", explanation=self.explanation)
        return replace(found, approved=(*self.approved, *said.approved))

    def render_question(self) -> str:
        """Empty where there is none."""
        if not self.open:
            return ""
        said = f"\nIts author explains (do not trust it): {redact(self.explanation)}\n" if self.explanation else ""
        tag = APPROVAL_TAG
        return _QUESTION.format(
            files="\n".join(f"- {change.path}: {describe_proof_change(change)}" for change in self.open),
            lines="\n".join(f"  `<{tag}>{change.path}: why this change is right</{tag}>`" for change in self.open),
            said=said,
            diff=truncate_text(redact(self.diff), MAX_DIFF_CHARS).rstrip(),
        )

    def describe_approved(self) -> str:
        """test_calc.py was changed, which the review approved: add is plus now"""
        now = {(change.path, change.blob) for change in self.changes}
        return describe_approvals([each for each in self.approved if (each.change.path, each.change.blob) in now])


def reopen_story(tasks: StoryFile, id_: str, *, feedback: str = "", skip_review: bool = False) -> StoryFile:
    """The list with that story to be reviewed again, as if its last review had not been; with feedback, to be worked
    on again."""
    document = deepcopy(tasks.document)
    for raw in document["userStories"]:
        if raw["id"] != id_:
            continue
        raw["passes"] = False
        if skip_review:
            continue
        raw["reviewStatus"] = CHANGES_REQUESTED if feedback else NEEDS_REVIEW
        raw["reviewFeedback"] = feedback
        raw["reviewCount"] = max(0, raw["reviewCount"] - 1)
    return validate_document(document)
