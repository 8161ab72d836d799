"""Makes a sealed tree of a work tree: finds what belongs into it, and has it filled."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from ralph.workspaces.own_git import OwnGit
from ralph.workspaces.own_objects import OwnObjects
from ralph.workspaces.sealed.sealed_tree import SealedFolder, SealedPlaces
from ralph.workspaces.sealed.sealing import OldFile, SealContent, fill_sealed_tree
from ralph.workspaces.tree_index import TreeIndex
from ralph.workspaces.tree_objects import compare_trees, list_tree


class TreeSealer:
    """Of one work tree. `since`: when the run started."""

    def __init__(self, own: OwnGit, index: TreeIndex, since: float) -> None:
        self._own, self._index, self._since = own, index, since
        self._places = SealedPlaces(own.folder, own.root, environment=own.user_environment, processes=own.processes)

    @contextmanager
    def open(
        self,
        baseline: str,
        tree: str,
        restored: Sequence[str],
        committed: Mapping[str, OldFile | None] | None = None,
    ) -> Iterator[SealedFolder]:
        """`committed`: what is not as the last commit has it, and is to be so."""
        content = SealContent(
            files={path: file.mode for path, file in list_tree(self._own, tree).items()},
            restored={**(committed or {}), **self._read_old_files(baseline, restored)},
            added=frozenset(each.path for each in compare_trees(self._own, baseline, tree) if not each.old_blob),
            untracked=self._index.list_untracked(),
            since=self._since,
        )
        with self._places.open(self._since) as sealed:
            yield fill_sealed_tree(sealed, content, self._index.project)

    def remove_abandoned(self) -> None:
        """What runs left that were killed."""
        self._places.remove_abandoned()

    def _read_old_files(self, baseline: str, paths: Sequence[str]) -> dict[str, OldFile | None]:
        found = list_tree(self._own, baseline, paths) if paths else {}
        known = {path: file for path, file in found.items() if path in paths}
        contents = OwnObjects(self._own).read_blobs(file.blob for file in known.values())
        return {
            path: OldFile(known[path].mode, contents[known[path].blob]) if path in known else None for path in paths
        }
