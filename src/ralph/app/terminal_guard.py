"""Terminals that faces read key by key."""

from typing import Protocol

from ralph.process.terminal_rescue import TerminalRescue


class TerminalGuard(Protocol):
    """Sets a terminal right should we be killed."""

    def dismiss(self) -> None:
        """We have done that ourselves."""
        ...


def guard_terminal(fd: int) -> TerminalGuard:
    return TerminalRescue(fd)
