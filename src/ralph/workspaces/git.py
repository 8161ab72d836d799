"""Git, asked through the process layer, by argv, with nobody there to type."""

from collections.abc import Mapping

from msgspec import Struct

from ralph.model.command import Command
from ralph.model.errors import MachineError
from ralph.model.ports import Processes
from ralph.process.output import Excerpt

TIMEOUT = 300.0
IDENTITY = {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "GIT_MERGE_AUTOEDIT": "no"}


class Said(Struct, frozen=True):
    """What git answered."""

    code: int
    output: str

    @property
    def ok(self) -> bool:
        """Whether it did what it was told."""
        return self.code == 0

    @property
    def text(self) -> str:
        """Without the last newline."""
        return self.output.strip()


class Git:
    """One repository, seen from one folder."""

    def __init__(self, program: str, folder: str, environment: Mapping[str, str], processes: Processes) -> None:
        self._program, self.folder = program, folder
        self._environment = {**environment, **IDENTITY}
        self._processes = processes

    def at(self, folder: str) -> "Git":
        """The same, from another folder."""
        return Git(self._program, folder, self._environment, self._processes)

    def try_(self, *words: str) -> Said:
        """Run it; failing is an answer too."""
        output = Excerpt(1 << 22, 1 << 16)
        command = Command((self._program, *words), self._environment, self.folder, merged=True, timeout=TIMEOUT)
        exited = self._processes.run(command, output.write, output.write)
        return Said(exited.code, exited.error or output.text())

    def do(self, *words: str) -> str:
        """Run what must succeed; what it printed."""
        said = self.try_(*words)
        if not said.ok:
            last = said.text.splitlines()[-1] if said.text else f"exit code {said.code}"
            raise MachineError(f"git {' '.join(words[:2])} failed: {last}", f"look at it in {self.folder}")
        return said.text

    def commit_of(self, name: str) -> str:
        """The commit a name stands for; empty when there is none."""
        said = self.try_("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return said.text if said.ok else ""

    def contains(self, target: str, commit: str) -> bool:
        """Whether the commit is reachable from the target."""
        return self.try_("merge-base", "--is-ancestor", commit, target).ok

    def state(self) -> str:
        """A short sign that changes with the tree: the commit and what differs from it."""
        return f"{self.commit_of('HEAD')}\n{self.try_('status', '--porcelain').text}"
