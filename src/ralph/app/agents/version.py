"""Use case: ask a program for its version."""

from collections.abc import Mapping

from ralph.app.processes import open_short_lived_processes
from ralph.app.wiring import read_version


def ask_version(program: str, folder: str, variables: Mapping[str, str]) -> str:
    """The first line it prints about itself; empty when it does not."""
    with open_short_lived_processes() as processes:
        return read_version((program, "--version"), folder, variables, processes)
