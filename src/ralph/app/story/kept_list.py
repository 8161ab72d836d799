"""The list of stories as it was before an agent, kept out of the repository: it survives a deleted database."""

import os
from collections.abc import Mapping
from contextlib import suppress
from zlib import crc32

import msgspec

from ralph.app.paths import Paths
from ralph.app.repositories import find_machine_state
from ralph.model.loop import Brief
from ralph.process.atomic_file import write_atomic

STORIES_FOLDER = "stories"


class KeptList:
    """Of the loop in one folder. It is there while an iteration is at work that nobody has judged."""

    def __init__(self, paths: Paths, folder: str, variables: Mapping[str, str]) -> None:
        base = find_machine_state(variables) or paths.state
        self._path = os.path.join(base, STORIES_FOLDER, f"{crc32(os.fsencode(folder)):08x}.json")

    def keep(self, brief: Brief) -> None:
        """A full disk costs this copy, never the run."""
        with suppress(OSError):
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            write_atomic(self._path, msgspec.json.encode(brief).decode())

    def read(self) -> Brief | None:
        try:
            with open(self._path, "rb") as file:
                return msgspec.json.decode(file.read(), type=Brief)
        except (OSError, msgspec.MsgspecError):
            return None

    def forget(self) -> None:
        with suppress(OSError):
            os.unlink(self._path)
