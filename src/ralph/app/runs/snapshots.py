"""The snapshots of a run, as git has them."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from ralph.app.paths import Paths
from ralph.app.processes import open_short_lived_processes
from ralph.process.shell import find_program
from ralph.workspaces.git import Git
from ralph.workspaces.snapshots import SNAPSHOT_REFS

BEFORE_TITLE, AFTER_TITLE_PREFIX = "before the first agent", "after iteration "


class SnapshotCommit(Struct, frozen=True):
    """A commit that keeps the work tree as it was."""

    title: str
    commit: str
    at: int  # unix time

    @property
    def iteration(self) -> int | None:
        """After which it was made; 0: before any; None: its title does not tell."""
        number = self.title.removeprefix(AFTER_TITLE_PREFIX)
        return 0 if self.title == BEFORE_TITLE else int(number) if number.isdecimal() else None


def list_snapshots(places: Paths, run: str, most: int, variables: Mapping[str, str]) -> tuple[SnapshotCommit, ...]:
    """The oldest first, not more than `most`; none where git knows of none."""
    program = find_program("git", variables, places.root) if places.in_git else None
    if program is None:
        return ()
    words = ("log", "--first-parent", f"--max-count={most}", "--format=%H%x00%ct%x00%s", f"{SNAPSHOT_REFS}/{run}", "--")
    with open_short_lived_processes() as processes:
        said = Git(program, places.root, environment=variables, processes=processes).run(*words)
    return tuple(_parse_log(said.output, f"ralph {run}: "))[::-1] if said.ok else ()


def _parse_log(text: str, beginning: str) -> Iterator[SnapshotCommit]:
    """Up to the first commit that is not ours: what is before it is the user's own history."""
    for line in text.splitlines():
        commit, _, rest = line.partition("\0")
        at, _, subject = rest.partition("\0")
        if not subject.startswith(beginning):
            return
        yield SnapshotCommit(subject.removeprefix(beginning), commit, int(at))
