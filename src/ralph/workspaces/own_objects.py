"""Objects of ralph's own: written without a process, and read only where the bytes are what their hash says.

Git believes the name of a file in `.git/objects`; an agent could put other bytes under it.
"""

import os
import time
from collections.abc import Iterable

from ralph.model.errors import MachineError
from ralph.workspaces.own_git import OwnGit, replace_file

SHA256_CHARS = 64


class OwnObjects:
    """Those of one git directory of ours, and through it those of the project."""

    def __init__(self, own: OwnGit) -> None:
        self._own = own

    def write_commit(self, tree: str, parents: tuple[str, ...], message: str) -> str:
        """Its hash. Git would need a process for it, and another to name it."""
        who = f"ralph <ralph> {int(time.time())} +0000"
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents), f"author {who}", f"committer {who}"]
        content = "\n".join((*lines, "", message, "")).encode("utf-8", "surrogateescape")
        return self._write(_frame("commit", content), uses_sha256=len(tree) == SHA256_CHARS)

    def write_blob(self, content: bytes, like: str) -> str:
        """Its hash, of the kind that the other one is."""
        return self._write(_frame("blob", content), uses_sha256=len(like) == SHA256_CHARS)

    def read_blob(self, blob: str) -> bytes:
        """The very bytes. MachineError: they are gone, or others are in their place."""
        return self.read_blobs([blob])[blob]

    def read_blobs(self, blobs: Iterable[str]) -> dict[str, bytes]:
        """All of them by one process, where we have not kept them ourselves."""
        wanted = list(dict.fromkeys(blobs))
        found = {blob: content for blob in wanted if (content := self._read_own(blob)) is not None}
        if missing := [blob for blob in wanted if blob not in found]:
            said = self._own.run("cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in missing).encode())
            found |= _parse_batch(said.output)
        for blob in wanted:
            if blob not in found or hash_blob(found[blob], blob) != blob:
                raise MachineError(
                    f"the file with the hash {blob} cannot be read as it was",
                    "look at the repository with `git fsck`; something removed or altered its objects",
                )
        return found

    def secure_blobs(self, blobs: Iterable[str]) -> None:
        """From now on they are ours: git finds them before those of the project."""
        missing = [blob for blob in blobs if not os.path.exists(self._locate(blob))]
        for blob, content in self.read_blobs(missing).items():
            self._write(_frame("blob", content), uses_sha256=len(blob) == SHA256_CHARS)

    def _locate(self, name: str) -> str:
        return self._own.path("store", name[:2], name[2:])

    def _read_own(self, blob: str) -> bytes | None:
        import zlib

        try:
            with open(self._locate(blob), "rb") as file:
                return zlib.decompress(file.read()).partition(b"\0")[2]
        except (OSError, zlib.error):
            return None

    def _write(self, data: bytes, *, uses_sha256: bool) -> str:
        import zlib

        name = _hash(data, uses_sha256)
        if not os.path.exists(path := self._locate(name)):
            replace_file(path, zlib.compress(data, 1))
        return name


def hash_blob(content: bytes, like: str) -> str:
    """The hash git gives it, of the kind that the other one is."""
    return _hash(_frame("blob", content), len(like) == SHA256_CHARS)


def read_kept_tree(folder: str, ref: str) -> str:
    """The tree of the commit that a ref of ours names; empty where there is none."""
    import zlib

    try:
        with open(os.path.join(folder, ref), encoding="ascii") as file:
            name = file.read().strip()
        with open(os.path.join(folder, "store", name[:2], name[2:]), "rb") as commit:
            content = zlib.decompress(commit.read()).partition(b"\0")[2]
    except (OSError, zlib.error):
        return ""
    return content.partition(b"\n")[0].removeprefix(b"tree ").decode("ascii", "replace")


def _frame(kind: str, content: bytes) -> bytes:
    return b"%s %d\0%s" % (kind.encode(), len(content), content)


def _hash(data: bytes, uses_sha256: bool) -> str:
    import hashlib

    return (hashlib.sha256(data) if uses_sha256 else hashlib.sha1(data, usedforsecurity=False)).hexdigest()


def _parse_batch(output: bytes) -> dict[str, bytes]:
    """What `git cat-file --batch` printed, as far as it found anything."""
    found, at = {}, 0
    while at < len(output):
        end = output.index(b"\n", at)
        name, *rest = output[at:end].decode("ascii", "replace").split(" ")
        at = end + 1
        if len(rest) == 2:  # otherwise it is missing
            size = int(rest[1])
            found[name] = output[at : at + size]
            at += size + 1
    return found
