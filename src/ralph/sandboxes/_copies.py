"""A check with files as they were runs on a copy in the place of the work tree; not every sandbox can do that."""

from ralph.model.command import Command
from ralph.model.errors import MachineError


def refuse_copies(command: Command, title: str) -> None:
    """Leaving it out would judge the wrong files."""
    if command.binds:
        raise MachineError(
            f"{title} cannot check a copy in the place of the work tree", 'use --sandbox bubblewrap, or "proofs": "off"'
        )
