"""Which places are not an agent's to read, to write or to delete."""

from __future__ import annotations

import os
import re

_SYSTEM = tuple("/etc /usr /bin /sbin /lib /lib64 /boot /sys /proc /var /System /Library /Applications".split())
_DEVICE = re.compile(r"/dev/(?!null$|zero$|full$|tty$|stdout$|stderr$|stdin$|fd/|shm/|ptmx$|u?random$)")
_SECRETS = re.compile(
    r"\.ssh(/(?!known_hosts|config$|authorized_keys$|.*\.pub$).+)?|\.aws/credentials|\.gnupg(/.*)?|\.kube/config"
    r"|\.docker/config\.json|\.netrc|\.pgpass|\.pypirc|\.npmrc|\.git-credentials|\.config/gh/hosts\.yml"
    r"|\.claude/\.credentials\.json|\.codex/auth\.json"
)
_SETTINGS = re.compile(
    r"\.(ssh|aws|gnupg|kube)(/.*)?|\.docker/config\.json|\.claude(/settings.*|/plugins.*|/\.credentials.*)?|\.claude\.json"
    r"|\.(bashrc|bash_profile|bash_login|profile|zshrc|zprofile|zshenv|gitconfig|netrc|npmrc|pypirc|pgpass)"
    r"|\.config/(autostart|systemd|fish)(/.*)?|Library/LaunchAgents(/.*)?"
)
_OURS = re.compile(
    r"(\.ralph/)?\.ralph-active|\.git|\.git/((hooks|objects|refs|logs|worktrees|ralph)(/.*)?|config|HEAD|packed-refs)"
    r"|\.claude/(settings.*\.json|hooks(/.*)?)|\.ralph/settings.*\.json"
)
_HERE = re.compile(r"\$\(\s*pwd\s*\)|`\s*pwd\s*`")
_TOP = re.compile(r"\$\(\s*git\s+rev-parse\s+--show-toplevel\s*\)")
_VARIABLE = re.compile(r"\$\{(\w+)(?::?[-?=+][^}]*)?\}|\$(\w+)")


class Ground:
    """Where a command runs, and what belongs to the project."""

    def __init__(self, root: str, cwd: str, folder: str, *, has_stories: bool = True) -> None:
        self.root = os.path.normpath(root)
        self.cwd = os.path.normpath(cwd)
        self.folder = folder
        self.has_stories = has_stories  # whether the loop lives on what is in that folder
        self.patience = 0  # what is left of it while a command is judged
        self.variables: dict[str, str] = {}  # those the command itself sets
        self.home = os.path.normpath(os.environ.get("HOME") or "/root")
        self._own = _both(self.root)
        temporary = [os.environ.get("TMPDIR", ""), "/tmp", "/var/tmp", "/dev/shm"]
        self._temporary = [each for folder in temporary if os.path.isabs(folder) for each in _both(folder)]

    def owns(self, path: str) -> bool:
        """Whether it lies below the project or below a folder for temporary files; neither of them does itself.

        Nor does what holds the project, where that is a temporary one.
        """
        if any(folder.startswith(path.rstrip("/") + "/") for folder in self._own):
            return False
        return any(path.startswith(folder.rstrip("/") + "/") for folder in (*self._own, *self._temporary))

    def in_project(self, path: str) -> str | None:
        """The path seen from the project; None outside."""
        for folder in self._own:
            if path == folder or path.startswith(folder.rstrip("/") + "/"):
                return os.path.relpath(path, folder)
        return None


def _both(folder: str) -> set[str]:
    return {os.path.normpath(folder), os.path.realpath(folder)}


def located(word: str, ground: Ground) -> str | None:
    """The path a word names, as far as one can know; None when that depends on a variable."""
    word = filled(word, ground)
    if word == "~" or word.startswith("~/"):
        word = ground.home + word[1:]
    elif re.match(r"~\w", word):
        word = "/home/" + word[1:]
    if "$" in word or "`" in word:
        return _half_known(re.split(r"[$`]", word)[0], ground)
    return os.path.normpath(os.path.join(ground.cwd, word)) if ground.cwd or os.path.isabs(word) else None


def braces(word: str) -> list[str]:
    """`{a,b}` is two words; what is inside another pair stays as it is."""
    found = re.match(r"([^{}]*)\{([^{}]*,[^{}]*)\}([^{}]*)$", word)
    return [found[1] + each + found[3] for each in found[2].split(",")] if found else [word]


def filled(word: str, ground: Ground) -> str:
    """The word, with those variables in it replaced that one can know."""
    if "$" not in word and "`" not in word:
        return word
    values = {"HOME": ground.home, "PWD": ground.cwd or "$PWD", **ground.variables}
    word = _TOP.sub(lambda _: ground.root, _HERE.sub(lambda _: values["PWD"], word))
    return _VARIABLE.sub(lambda found: values.get(found[1] or found[2], found[0]), word)


def _half_known(start: str, ground: Ground) -> str | None:
    """`/$X` may be anything below `/`; what may be the project is not guessed at."""
    if not os.path.isabs(start):
        return None
    path = os.path.normpath(start + "?")
    above = os.path.dirname(path)
    return None if above != "/" and ground.root.startswith(above) else path


def in_reading(path: str, ground: Ground) -> str:
    """Why this is not to be read."""
    if path in ("/etc/shadow", "/etc/gshadow", "/etc/sudoers") or re.fullmatch(r"/proc/\d+/environ", path):
        return f"{path} holds secrets."
    below = os.path.relpath(path, ground.home) if path.startswith(ground.home.rstrip("/") + "/") else ""
    if _SECRETS.fullmatch(below) and ground.in_project(path) is None:
        return f"~/{below} holds credentials."
    return ""


def in_writing(path: str, ground: Ground) -> str:
    """Why this is not to be written."""
    inside = ground.in_project(path)
    if inside is not None:
        if _OURS.fullmatch(inside) or inside == os.path.normpath(f"{ground.folder}/allowed-commands.txt"):
            return f"{inside} is not the agent's to change."
        return ""
    if _DEVICE.match(path):
        return f"{path} is a device."
    if not ground.owns(path) and any(path == folder or path.startswith(folder + "/") for folder in _SYSTEM):
        return f"{path} belongs to the system."
    below = os.path.relpath(path, ground.home) if path.startswith(ground.home.rstrip("/") + "/") else ""
    return f"~/{below} is the user's own configuration." if _SETTINGS.fullmatch(below) else ""


def in_wiping(path: str, ground: Ground) -> str:
    """Why this is not to be deleted with all that is in it."""
    while _takes_all(os.path.basename(path)):
        path = os.path.dirname(path)
    inside = ground.in_project(path)
    if inside == ".":
        return "this would delete the whole project."
    if inside == ".ralph":
        return ".ralph is not the agent's to change."
    if ground.has_stories and inside is not None and inside == os.path.normpath(ground.folder):
        return f"{inside} holds what the loop lives on."
    if reason := in_writing(path, ground):
        return reason
    return "" if ground.owns(path) else f"{path} lies outside the project."


def _takes_all(name: str) -> bool:
    """A pattern that leaves nothing, or not even the repository."""
    from fnmatch import fnmatchcase  # only when something is deleted

    return name in ("*", ".*", "?*", "**") or (any(sign in name for sign in "*?[") and fnmatchcase(".git", name))
