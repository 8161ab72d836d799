"""The planning skill under its bare name: Claude Code gives `/ralph-plan` to the copy in a skills folder at once.

The plugin's own is `/ralph:ralph-plan`, and loads only after Claude Code has fetched the plugin and trusts the folder.
"""

import hashlib
import os
import re
from typing import Literal

from msgspec import Struct

from ralph.model.errors import ConfigError
from ralph.process.atomic_file import write_atomic

SKILL_NAME = "ralph-plan"
_OWNER_NOTE = (
    "\n<!-- Written by `ralph plugin install` ({}). Change this file and it is yours: ralph leaves it alone then. -->\n"
)
_OWNER_NOTE_PATTERN = re.compile("(.*)" + re.escape(_OWNER_NOTE).replace(r"\{\}", "([0-9a-f]{16})"), re.DOTALL)

SkillState = Literal["missing", "current", "outdated", "theirs"]


class SkillCopy(Struct, frozen=True):
    """Where the copy is to be, what it is to hold, and whose is what is there."""

    path: str
    text: str
    state: SkillState


def plan_skill_copy(plugin: str, config: str) -> SkillCopy:
    """The plugin's skill for a configuration folder of Claude Code: a project's `.claude`, or the user's."""
    with open(os.path.join(plugin, "skills", SKILL_NAME, "SKILL.md"), encoding="utf-8") as file:
        skill = file.read()
    path = os.path.join(config, "skills", SKILL_NAME, "SKILL.md")
    text = skill + _OWNER_NOTE.format(_digest(skill))
    return SkillCopy(path, text, _detect_state(path, text))


def write_skill(copy: SkillCopy) -> None:
    """Write it where there is none, or an old one of ours."""
    if copy.state in ("current", "theirs"):
        return
    try:
        write_atomic(copy.path, copy.text, follow_links=True)
    except OSError as error:
        raise ConfigError(f"{copy.path}: cannot be written: {error.strerror}") from None


def remove_skill(copy: SkillCopy) -> None:
    """Unless it is someone else's. A folder that is empty then goes too."""
    if copy.state in ("missing", "theirs"):
        return
    try:
        os.unlink(copy.path)
        if not os.listdir(os.path.dirname(copy.path)):
            os.rmdir(os.path.dirname(copy.path))
    except OSError as error:
        raise ConfigError(f"{copy.path}: cannot be removed: {error.strerror}") from None


def _detect_state(path: str, text: str) -> SkillState:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            found = file.read()
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}", "fix it, then try again") from None
    if found == text:
        return "current"
    marked = _OWNER_NOTE_PATTERN.fullmatch(found)
    return "outdated" if marked and marked[2] == _digest(marked[1]) else "theirs"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
