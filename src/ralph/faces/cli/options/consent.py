"""A yes before something is taken away: asked on a terminal, given by --yes elsewhere."""

import sys

import click

from ralph.model.errors import UsageError


def require_consent(question: str, is_given: bool) -> bool:
    """Whether to go on. Without a terminal nobody can be asked."""
    if is_given:
        return True
    if not sys.stdin.isatty():
        raise UsageError(
            "cannot ask for confirmation here", "add --yes to continue, or --dry-run to see what would be done"
        )
    return click.confirm(question, default=False, err=True)
