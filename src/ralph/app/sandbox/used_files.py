"""Files in an agent's reach that ralph itself reads or writes: prompts, lists of stories, the words of runs.

What is read goes to the next agent, and what is written says what the last one said. So a link among them that leads
out of the sandbox would lead the agent out, by our hand.
"""

import os
from collections.abc import Iterator, Sequence

from msgspec import Struct

from ralph.model.errors import MachineError


class UsedFiles(Struct, frozen=True, kw_only=True):
    """Absolute paths. `opened`: what is writable in the sandbox; `closed`: what below it is not there."""

    paths: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()  # these, and what is right in them
    opened: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()

    def refuse_links_out(self) -> None:
        """Before the first agent: it may be the user's own link, or one that an agent of an earlier run made."""
        for link in self._list_links_out():
            raise MachineError(
                f"{link} is a link to {os.path.realpath(link)}, which is outside of the sandbox",
                "put a file in its place, name that file itself, or use --no-sandbox",
            )

    def remove_links_out(self) -> None:
        """After agents: nobody else made them, for there was none before."""
        for link in self._list_links_out():
            os.unlink(link)

    def _list_links_out(self) -> Iterator[str]:
        for path in (*self.paths, *self.folders):
            yield from filter(None, [self._find_link_out(path)])
        for folder in self.folders:
            if os.path.isdir(folder):
                names = os.listdir(folder)
                yield from filter(None, (self._find_link_out(os.path.join(folder, name)) for name in names))

    def _find_link_out(self, path: str) -> str:
        """The first on the way; what is in no open folder is in nobody's reach."""
        base = next((folder for folder in self.opened if _is_in(path, (folder,))), "")
        at = base
        for part in os.path.relpath(path, base).split("/") if base else ():
            at = os.path.join(at, part)
            if os.path.islink(at) and not self._is_inside(os.path.realpath(at)):
                return at
        return ""

    def _is_inside(self, real: str) -> bool:
        return _is_in(real, self.opened) and not _is_in(real, self.closed)


def _is_in(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)
