"""What a task carries towards its landing: what its checks prove, what is still to be confirmed, conflicts so far."""

from msgspec import Struct
from msgspec.structs import replace

from ralph.model.loop import Landed, Verified

MAX_CONFLICTS = 3  # while others move the target
MAX_STALE_LOOKS = 3  # at a tree that changes while nobody works on it


class LandingState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Stored with the run: fields are wire format."""

    regression: tuple[str, ...] = ()  # stages whose checks were green before the work
    confirming: tuple[str, ...] = ()  # stages an earlier life passed, whose commands are run again first
    conflicts: int = 0
    conflict_target: str = ""  # the commit of the target that the branch conflicted with last
    stale_looks: int = 0
    proven: str = ""  # the tree that the last stage saw

    def pass_stage(self, role: str, verified: Verified) -> "LandingState":
        others = tuple(other for other in self.regression if other != role)
        regression = (*others, role) if verified.red_before is False else others
        return replace(self, regression=regression, proven=verified.tree)

    def confirm(self) -> "LandingState":
        """The first of those to be confirmed holds."""
        return replace(self, confirming=self.confirming[1:])

    def meet_conflict(self, landed: Landed) -> "LandingState":
        return replace(self, conflicts=self.conflicts + 1, conflict_target=landed.target)

    def is_unresolvable(self, landed: Landed) -> bool:
        """Whether the branch conflicts with what it should have been merged with, or once too often."""
        return bool(self.conflicts) and (landed.target == self.conflict_target or self.conflicts >= MAX_CONFLICTS)

    def look_again(self) -> "LandingState":
        return replace(self, stale_looks=self.stale_looks + 1)

    def describe(self) -> str:
        """`; regression only: coder, qa`: for the last line; empty where there is nothing to say."""
        return f"; regression only: {', '.join(self.regression)}" if self.regression else ""


def describe_landing(task: str, landed: Landed, words: str) -> str:
    """The last line of a task. "Landed" is not said of a change that is none."""
    moved = f"; {landed.moved}" if landed.moved else ""
    if landed.empty:
        return f"{task} passed every stage; there is nothing to merge: {landed.empty}{words}{moved}"
    return f"{task} passed every stage and was merged as {landed.commit[:12]}{words}{moved}"


def describe_stale_tree(landed: Landed) -> str:
    """For whoever looks again."""
    files = f" ({landed.changed})" if landed.changed else ""
    return f"The tree has changed since it was verified{files}."


def describe_conflict(landed: Landed) -> str:
    """For the coder who merges."""
    where = landed.target_name or "the target branch"
    return f"{where} has moved and conflicts in: {landed.conflict}. Merge it here, resolve, commit."
