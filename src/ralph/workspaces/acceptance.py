"""Changes of proofs that a person accepted, kept with the run's trees: out of the repository agents work in."""

import os

import msgspec

from ralph.workspaces.own_git import OwnGit, replace_file


class AcceptedProofs:
    """Of one run: path → the content that was accepted, by its hash, GONE_BLOB or ANY_BLOB. Another change of the same
    file is another question."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "accepted.json")

    def read(self) -> dict[str, str]:
        try:
            with open(self._path, "rb") as file:
                return msgspec.json.decode(file.read(), type=dict[str, str])
        except (OSError, msgspec.MsgspecError):
            return {}

    def add(self, path: str, blob: str) -> None:
        """On disk when it returns; OSError where that cannot be."""
        replace_file(self._path, msgspec.json.encode({**self.read(), path: blob}))


def locate_accepted(own: OwnGit, run: str, task: str = "") -> str:
    """The folder for what a person accepted of a run; each run of a task finds what was accepted of another."""
    return own.path("tasks", task) if task else own.path("runs", run)
