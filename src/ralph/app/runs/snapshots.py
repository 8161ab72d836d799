"""The snapshots of a run, as git has them."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from ralph.app.paths import Places
from ralph.app.processes import errand
from ralph.process.shell import find_program
from ralph.workspaces.git import Git
from ralph.workspaces.snapshots import REFS

BEFORE, AFTER = "before the first agent", "after iteration "


class Snapshot(Struct, frozen=True):
    """A commit that keeps the work tree as it was."""

    title: str
    commit: str
    at: int  # unix time

    @property
    def iteration(self) -> int | None:
        """After which it was made; 0: before any; None: its title does not tell."""
        number = self.title.removeprefix(AFTER)
        return 0 if self.title == BEFORE else int(number) if number.isdecimal() else None


def kept(places: Places, run: str, most: int, variables: Mapping[str, str]) -> tuple[Snapshot, ...]:
    """The oldest first, not more than `most`; none where git knows of none."""
    program = find_program("git", variables, places.root) if places.in_git else None
    if program is None:
        return ()
    words = ("log", "--first-parent", f"--max-count={most}", "--format=%H%x00%ct%x00%s", f"{REFS}/{run}", "--")
    with errand() as processes:
        said = Git(program, places.root, variables, processes).try_(*words)
    return tuple(_listed(said.output, f"ralph {run}: "))[::-1] if said.ok else ()


def _listed(text: str, beginning: str) -> Iterator[Snapshot]:
    """Up to the first commit that is not ours: what is before it is the user's own history."""
    for line in text.splitlines():
        commit, _, rest = line.partition("\0")
        at, _, subject = rest.partition("\0")
        if not subject.startswith(beginning):
            return
        yield Snapshot(subject.removeprefix(beginning), commit, int(at))
