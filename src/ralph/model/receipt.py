"""What proves a run: its checks and what they printed, on which commit, who judged, what a person accepted."""

from typing import Literal

from msgspec import Struct

from ralph.model.proofs import ProofApproval, ProofChange

RECEIPT_VERSION = 1
RECEIPT_TRAILER = "Ralph-Receipt"
TRAILER_DIGEST_CHARS = 40  # linters of commit messages want lines of less than 100

CheckKind = Literal["command", "judge", "words", "other"]


class ProofFile(Struct, frozen=True):
    """A file a check rests on, as it was when the check ran."""

    path: str
    digest: str  # git's name of its content


class CheckEvidence(Struct, frozen=True, kw_only=True):
    """One check: how it can be run again, and what it came to."""

    name: str  # the command, or what else was looked at
    passed: bool
    kind: CheckKind = "command"
    argv: tuple[str, ...] = ()  # what was run; empty: nothing
    exit_code: int | None = None
    digest: str = ""  # SHA-256 of all it printed
    reason: str = ""
    seconds: float = 0.0
    role: str = ""  # the stage of the task
    stage: str = ""  # of a verification in several
    on_merged_tree: bool = False
    sealed: bool = False  # run with its proofs as they were before the run
    red_before: bool | None = None  # whether it failed before the work; None: nobody looked
    judge: str = ""  # who judged
    cost_usd: float | None = None  # of a judge
    proofs: tuple[ProofFile, ...] = ()
    timeout: float | None = None
    folder: str = ""  # below the root of the work tree
    success_exit_code: int = 0
    output_contains: str | None = None
    output_not_contains: str | None = None
    is_redacted: bool = False  # its command holds a secret, so that it cannot be run again from here

    @property
    def is_repeatable(self) -> bool:
        """Whether anybody can: a sealed check ran with files of before the run, which its tree does not have."""
        return self.kind == "command" and bool(self.argv) and not self.is_redacted and not self.sealed


class SignedCommit(Struct, frozen=True):
    """A commit of ours whose message names this receipt."""

    commit: str
    digest: str  # of the evidence there was when it was made


class ProofReceipt(Struct, frozen=True, kw_only=True):
    """`runs/<id>/receipt.json`."""

    version: int = RECEIPT_VERSION
    run: str
    kind: str
    outcome: str
    why: str
    agent: str = ""
    task: str = ""
    started_at: float = 0.0
    ended_at: float | None = None
    commit: str = ""  # what was checked out, or has landed; empty outside git
    tree: str = ""  # all files that were checked, committed or not
    is_committed: bool = False  # whether the commit holds all of them
    folder: str = ""  # where the loop ran, below the root of the work tree
    checks: tuple[CheckEvidence, ...] = ()
    digest: str = ""  # of the checks
    changed_proofs: tuple[ProofChange, ...] = ()
    accepted: tuple[str, ...] = ()  # proofs whose change a person has accepted
    approved: tuple[ProofApproval, ...] = ()  # those a reviewer has approved, in its words
    by_words_only: bool = False  # no command and no judge had a say
    cost_usd: float | None = None
    commits: tuple[SignedCommit, ...] = ()
    isolation: str = "none"  # where agents and checks ran, in words


def format_trailer(run: str, digest: str) -> str:
    """Ralph-Receipt: 20261117-120000-ab12 sha256:…"""
    return f"{RECEIPT_TRAILER}: {run} sha256:{digest[:TRAILER_DIGEST_CHARS]}"


def parse_trailer(message: str) -> tuple[str, str] | None:
    """Run and the beginning of the digest, from the last such line of a commit's message."""
    for line in reversed(message.splitlines()):
        name, _, value = line.partition(": ")
        run, _, digest = value.strip().partition(" sha256:")
        if name == RECEIPT_TRAILER and run and digest:
            return run, digest
    return None
