"""Who steers: a person, never an agent of ours."""

import os
import pwd
from collections.abc import Mapping

from ralph.app.runs.inside_agent import STEERING_REASON, find_enclosing_run
from ralph.model.errors import InsideAgent

_MAX_NAME_CHARS = 60


def identify_person(variables: Mapping[str, str], command: str, via: str = "") -> str:
    """The name that pauses and notes carry; refused inside an agent or a check of a living run. `via`: which door it
    came by, where that is not the command line."""
    refuse_steering(variables, command)
    name = variables.get("RALPH_USER") or variables.get("USER") or variables.get("LOGNAME") or _read_account_name()
    name = " ".join(name.split())[:_MAX_NAME_CHARS] or "someone"
    return f"{name} ({via})" if via else name


def refuse_steering(variables: Mapping[str, str], command: str) -> None:
    if run := find_enclosing_run(variables):
        raise InsideAgent(
            f"`{command}` is not available inside run {run}: {STEERING_REASON}",
            "to ask a person, end your answer with <question>your question</question>",
        )


def _read_account_name() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""
