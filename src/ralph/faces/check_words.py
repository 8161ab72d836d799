"""What every face says of a check that failed, and shortens for people."""

import re

_SPENT_LOOP = r"(?s)(\w+): Ralph loop exceeded \d+ iterations?\. .*?Last verification: (.+)"


def describe_check_failure(command: str, reason: str) -> str:
    """`make test`: Command exited with 2, expected 0"""
    return f"`{command}`: {reason}" if command and reason else command or reason


def shorten_reason(reason: str) -> str:
    """coder: Command exited with 1, expected 0; what decided comes first, lines are short."""
    found = re.fullmatch(_SPENT_LOOP, reason)
    return f"{found[1]}: {found[2]}" if found else reason


def shorten_agent(agent: str) -> str:
    """Its program without the folder: "claude --model opus"."""
    program, _, words = agent.partition(" ")
    return f"{program.rpartition('/')[2]} {words}".strip()


def shorten_path(path: str, folder: str) -> str:
    """As somebody in that folder would type it, where that is shorter."""
    return path if folder in ("", "/") else path.removeprefix(f"{folder}/")
