"""What the user ignores in every repository and in this one, beside the `.gitignore` files."""

import os
import re
from collections.abc import Iterator, Mapping

from ralph.process.atomic_file import read_regular_file
from ralph.workspaces.project_dir import ProjectDir

_EXCLUDES_FILE = re.compile(r"^\s*excludesfile\s*=\s*(.+?)\s*$", re.IGNORECASE | re.MULTILINE)


def read_user_ignores(environment: Mapping[str, str], project: ProjectDir | None) -> str:
    """Both as one text, the repository's last. Read as files: it is not worth a process of its own."""
    of_project = os.path.join(project.common, "info", "exclude") if project else ""
    return "\n".join(_read_text(path) for path in (_find_excludes_file(environment, project), of_project))


def _find_excludes_file(environment: Mapping[str, str], project: ProjectDir | None) -> str:
    """The last that settings name, or git's default."""
    home = environment.get("HOME", "")
    settings = environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    found = os.path.join(settings, "git", "ignore")
    for path in _list_settings(environment, project):
        for name in _EXCLUDES_FILE.findall(_read_text(path)):
            unquoted = name.strip('"')
            found = os.path.join(home, unquoted[2:]) if unquoted.startswith("~/") else unquoted
    return found


def _list_settings(environment: Mapping[str, str], project: ProjectDir | None) -> Iterator[str]:
    home = environment.get("HOME", "")
    yield "/etc/gitconfig"
    if chosen := environment.get("GIT_CONFIG_GLOBAL"):
        yield chosen
    else:
        yield os.path.join(environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "git", "config")
        yield os.path.join(home, ".gitconfig")
    if project:
        yield os.path.join(project.common, "config")


def _read_text(path: str) -> str:
    try:
        return read_regular_file(path, errors="surrogateescape") if os.path.isabs(path) else ""
    except OSError:
        return ""
