"""A keeper of trees in memory: a tree is a mapping, its hash a name."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from msgspec import Struct

from ralph.model.command import Command
from ralph.model.errors import DiskError, MachineError
from ralph.model.ports import SealedTree
from ralph.model.proofs import TreeChange


class SealedFolder(Struct, frozen=True):
    """What was put together for a sealed check."""

    files: Mapping[str, str]
    root: str = ""
    restored: tuple[str, ...] = ()

    def locate(self, folder: str) -> str:
        return os.path.join("/sealed", os.path.relpath(folder, self.root))

    def wrap(self, command: Command) -> Command:
        return command

    def contain(self, command: Command) -> Command:
        return command


class MemoryKeeper:
    """Knows the tree of the start and the tree of now. `root` has the files of now on disk."""

    def __init__(self, root: Path, before: Mapping[str, str]) -> None:
        self.root = str(root)
        self.before, self.now = dict(before), dict(before)
        self.looks: list[int] = []
        self.sealed: list[SealedFolder] = []
        self.problem = ""
        self.is_broken = self.is_disk_full = False
        self.write(before)

    def write(self, files: Mapping[str, str | None]) -> None:
        """What an agent does; None deletes."""
        for path, text in files.items():
            place = Path(self.root, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                self.now.pop(path, None)
                place.unlink(missing_ok=True)
            else:
                self.now[path] = text
                place.write_text(text)

    def save_initial_tree(self) -> str:
        return ""

    def save_tree_after(self, iteration: int) -> str:
        self.looks.append(iteration)
        return ""

    def save_cut_off_tree(self, iteration: int) -> str:
        return self.save_tree_after(iteration)

    def get_tree_sign(self) -> str:
        return repr(self.now)

    def get_work_head(self) -> str:
        return repr(self.now).rpartition(" ")[0]

    def baseline(self) -> str:
        return "before"

    def tree(self) -> str:
        return "before" if self.now == self.before else "now"

    def list_changes(self, before: str, after: str) -> list[TreeChange]:
        if self.is_broken:
            raise self._fail("objects are gone")
        trees: dict[str, dict[str, str]] = {"": {}, "before": self.before, "now": self.now}
        old, new = trees[before], trees[after]
        return [
            TreeChange(
                path=path,
                old_blob=f"{path}\0{old[path]}" if path in old else "",
                new_blob=f"{path}\0{new[path]}" if path in new else "",
            )
            for path in sorted({*old, *new})
            if old.get(path) != new.get(path)
        ]

    def _fail(self, why: str) -> MachineError:
        return DiskError(why) if self.is_disk_full else MachineError(why)

    def read_blob(self, blob: str) -> bytes:
        return blob.partition("\0")[2].encode()

    def diff(self, before: str, after: str, paths: Sequence[str] = ()) -> str:
        assert (before, after) == ("before", "now")
        return "".join(f"diff of {path}\n" for path in paths)

    def write_committed_tree(self, apart_from: str = "") -> str:
        if self.is_broken:
            raise self._fail("objects are gone")
        return self.tree()

    def open_sealed_tree(
        self, restored: Sequence[str], *, is_committed: bool = False, apart_from: str = ""
    ) -> AbstractContextManager[SealedTree]:
        return self._open(restored)

    @contextmanager
    def _open(self, restored: Sequence[str]) -> Iterator[SealedTree]:
        if self.problem:
            raise self._fail(self.problem)
        kept = {path: text for path, text in self.now.items() if path not in restored}
        back = {path: self.before[path] for path in restored if path in self.before}
        self.sealed.append(SealedFolder(kept | back, self.root, tuple(restored)))
        yield self.sealed[-1]
