"""Use case: ask a program for its version."""

import os
from collections.abc import Mapping

from ralph.app.wiring import version_of
from ralph.engine.inbox import SignalInbox
from ralph.process.supervisor import Supervisor


def asked(program: str, variables: Mapping[str, str]) -> str:
    """The first line it prints about itself; empty when it does not."""
    inbox = SignalInbox(lambda: False, int)
    supervisor = Supervisor(inbox)
    try:
        return version_of((program, "--version"), os.getcwd(), variables, supervisor)
    finally:
        supervisor.close()
        inbox.close()
