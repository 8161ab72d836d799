"""Where settings lie: where ralph is started, else in the nearest folder above, as git finds its repository."""

import os
import stat
from collections.abc import Iterator, Mapping

from msgspec import Struct

SETTINGS_FILE = ".ralph/settings.json"
LOCAL_SETTINGS_FILE = ".ralph/settings.local.json"
SPECFLOW_FILE = ".specflow/config.yaml"
_PROJECT_FILES = (SETTINGS_FILE, LOCAL_SETTINGS_FILE, SPECFLOW_FILE)


class SettingsLocation(Struct, frozen=True):
    """What a search for settings found."""

    folder: str = ""  # the one with settings; empty where there are none
    foreign: str = ""  # settings that were passed over on the way: another user's


def locate_settings(start: str, top: str | None, home: str) -> SettingsLocation:
    """`top` is the root of the repository that `start` is in; None outside of one.

    Settings name commands to run. So, as with git, those above `start` must be the user's own, or belong to whoever
    owns `start`."""
    foreign = ""
    for folder in _walk_up(start, top, home):
        if found := [path for name in _PROJECT_FILES if os.path.exists(path := os.path.join(folder, name))]:
            if folder == start or _is_trusted(found, start):
                return SettingsLocation(folder, foreign)
            foreign = foreign or found[0]
    return SettingsLocation("", foreign)


def locate_user_settings(environment: Mapping[str, str]) -> str:
    """The user's own file for all projects; empty where there is no home for it."""
    home, base = environment.get("HOME", ""), environment.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):  # the XDG rule: a relative path is no path
        base = os.path.join(home, ".config") if os.path.isabs(home) else ""
    return os.path.join(base, "ralph", "settings.json") if base else ""


def shorten_home(path: str, environment: Mapping[str, str]) -> str:
    home = environment.get("HOME", "")
    return "~" + path[len(home) :] if home and path.startswith(home + os.sep) else path


def _walk_up(start: str, top: str | None, home: str) -> Iterator[str]:
    """The folder itself and those above: in a repository up to its root; elsewhere on this file system, below the home
    folder, and not where everyone puts their files: settings left in `~` or `/tmp` are not meant for all below."""
    yield start
    at, device = start, os.stat(start).st_dev
    while at != top:
        at, below = os.path.dirname(at), at
        if at == below:
            return
        if top is None:
            folder = os.stat(at)
            if at == home or os.path.dirname(at) == at or folder.st_dev != device or folder.st_mode & stat.S_ISVTX:
                return
        yield at


def _is_trusted(paths: list[str], start: str) -> bool:
    owners = {os.geteuid(), os.stat(start).st_uid}
    return all(os.stat(path).st_uid in owners for path in paths)
