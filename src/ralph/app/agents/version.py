"""Use case: ask a program for its version."""

import os
from collections.abc import Mapping

from ralph.app.processes import errand
from ralph.app.wiring import version_of


def asked(program: str, variables: Mapping[str, str]) -> str:
    """The first line it prints about itself; empty when it does not."""
    with errand() as processes:
        return version_of((program, "--version"), os.getcwd(), variables, processes)
