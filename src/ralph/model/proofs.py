"""Proofs: the files a check rests on, and what became of them since the baseline."""

from typing import Literal

from msgspec import Struct

ProofMode = Literal["warn", "strict", "off"]
# doubtful: no proof, but code that steers its own tests
ProofChangeKind = Literal["added", "changed", "weakened", "deleted", "shadowed", "doubtful"]
GONE_BLOB = "-"  # what a person accepts of a file that is not there any more
ANY_BLOB = "*"  # of a file that no tree knows


class TreeChange(Struct, frozen=True, kw_only=True):
    """A file that differs between two trees. Blob and mode are empty where there is no file."""

    path: str
    old_blob: str = ""
    new_blob: str = ""
    old_mode: str = ""
    new_mode: str = ""


class ProofChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A proof that is not what it was at the baseline."""

    path: str
    kind: ProofChangeKind
    reason: str = ""  # "3 assertions removed", "marked skip", "named like the make target `test`"
    check: str = ""  # the command it belongs to; empty: tests, protected globs
    protected: bool = False
    noted: bool = False  # worth a word and no more: it may be the work itself
    blob: str = ""  # what it holds now, as git names it; empty: it is gone, or no tree knows it

    @property
    def is_suspect(self) -> bool:
        """Whether checks that pass no longer say what they said at the baseline. New tests are welcome."""
        return self.protected or (self.kind != "added" and not self.noted)


class ClosedSettings(Struct, frozen=True, kw_only=True):
    """What no agent in a sandbox may make or change, from the root of the work tree: programs on the host run what it
    says."""

    paths: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()  # those that were not there: whoever finds one knows that it was made


class WorkTime(Struct, frozen=True, kw_only=True):
    """When agents were at this work, in unix time: since then, and while runs before came to no lawful end."""

    since: float
    earlier: tuple[tuple[float, float], ...] = ()

    def covers(self, at: float) -> bool:
        return at >= self.since or any(began <= at <= ended for began, ended in self.earlier)

    @property
    def first(self) -> float:
        return min((self.since, *(began for began, _ in self.earlier)))


class ProofApproval(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The word of a reviewer on one changed proof."""

    change: ProofChange
    by: str  # its role
    why: str = ""
    explanation: str = ""  # of whoever changed it
