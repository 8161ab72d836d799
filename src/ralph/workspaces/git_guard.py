"""Git's settings and hooks as they were before an agent ran: what came later runs nothing of ours.

Git runs programs that settings name: filters, merge drivers, monitors, editors, signers, hooks. In a repository that an
agent may write to they could be the agent's. Those that a user had before are the user's. Programs for diffs are no
setting's business: `--no-ext-diff --no-textconv` keeps them out.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from ralph.workspaces.project_dir import ProjectDir

Values = Mapping[str, tuple[str, ...]]
_Stamp = tuple[int, int, int] | None
# Settings that name a program, or decide what one gets to see. Names as `git config --list` prints them.
RUNS_PROGRAM = (
    r"(?s:filter\..*\.(clean|smudge|process|required)|merge\..*\.driver"
    r"|core\.(hookspath|fsmonitor|editor|pager|askpass|sshcommand|gitproxy|attributesfile|alternaterefscommand)"
    r"|credential\.(.*\.)?helper|gpg\.(.*\.)?program|sequence\.editor|interactive\.difffilter|pager\..*|alias\..*"
    r"|trailer\..*\.(cmd|command)|submodule\..*\.update|init\.templatedir|log\.showsignature|merge\.verifysignatures"
    r"|commit\.gpgsign|tag\.gpgsign|remote\..*\.(promisor|uploadpack|receivepack)|protocol\.(.*\.)?allow)"
)
# Settings that decide where a push goes to, and by which way.
LEADS_ELSEWHERE = (
    r"(?s:remote\..*\.(url|pushurl|vcs|receivepack|uploadpack|proxy)|remote\.pushdefault|url\..*|http\..*"
    r"|core\.sshcommand"
    r"|credential\..*|ssh\..*|protocol\..*|branch\..*\.pushremote)"
)
_HARMLESS_VALUES = {  # where there was none before; all others: empty, which names no program
    "core.hookspath": os.devnull,
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.editor": "true",
    "core.sshcommand": "false",
    "sequence.editor": "true",
    "log.showsignature": "false",
    "merge.verifysignatures": "false",
    "commit.gpgsign": "false",
    "tag.gpgsign": "false",
}
_HARMLESS_ENDINGS = {
    ".required": "false",
    ".driver": "false",
    ".program": "false",
    ".update": "none",
    ".allow": "never",
    ".promisor": "false",
    ".uploadpack": "git-upload-pack",
    ".receivepack": "git-receive-pack",
}
_GLOBAL_ATTRIBUTES = ("/etc/gitattributes", os.path.expanduser("~/.config/git/attributes"))
NO_PROGRAMS = (  # for whatever we do on nobody's behalf
    *(("core.hooksPath", os.devnull), ("core.fsmonitor", "false"), ("core.pager", "cat"), ("core.editor", "true")),
    *(("core.askPass", ""), ("core.sshCommand", "false"), ("credential.helper", ""), ("gpg.program", "false")),
    *(("commit.gpgSign", "false"), ("log.showSignature", "false"), ("merge.verifySignatures", "false")),
    *(("gc.auto", "0"), ("maintenance.auto", "false"), ("submodule.recurse", "false")),
)


class SettingsListing(Struct, frozen=True, kw_only=True):
    """All settings that git reads in one place, and the files they come from."""

    values: Values = {}
    files: frozenset[str] = frozenset()


class GitGuard:
    """What git may run. `trusted`: the settings before any agent ran; None: nobody looked, so none that run a program
    are trusted."""

    def __init__(self, project: ProjectDir | None, root: str, trusted: SettingsListing | None) -> None:
        self._project, self._root = project, root
        self._trusted = trusted
        self._files = _list_files(project, trusted)
        self._seen = _read_stamps(self._files)
        self._overrides: tuple[tuple[str, str], ...] | None = () if trusted else None
        self._hooks_dir = _find_hooks_dir(project, root, trusted)
        self._hooks = _read_hooks(self._hooks_dir)
        # Then every work tree has a file of its own.
        self._has_more_files = bool(trusted and "extensions.worktreeconfig" in trusted.values)
        self.changed: tuple[str, ...] = ()  # settings that are others now, of those that matter

    @property
    def trusted_values(self) -> Values:
        """Settings as they were before any agent ran."""
        return self._trusted.values if self._trusted else {}

    @property
    def has_repository(self) -> bool:
        return self._project is not None

    def list_overrides(self, list_settings: Callable[[], SettingsListing]) -> tuple[tuple[str, str], ...]:
        """Settings in the place of those that changed. They are listed only where a file of theirs is another."""
        now = _read_stamps(self._files)
        if self._overrides is None or now != self._seen or self._has_more_files:
            before, after = (self._trusted or SettingsListing()).values, list_settings().values
            self._has_more_files = "extensions.worktreeconfig" in after
            self.changed = tuple(sorted(_list_changed(before, after, RUNS_PROGRAM)))
            self._overrides = tuple(_override_changed(before, self.changed))
            self._seen = now
        return self._overrides

    def list_misleading(self, list_settings: Callable[[], SettingsListing]) -> tuple[str, ...]:
        """Settings that have been changed so that a push may lead elsewhere."""
        if _read_stamps(self._files) == self._seen and not self.changed:
            return ()
        before = (self._trusted or SettingsListing()).values
        return tuple(sorted(_list_changed(before, list_settings().values, LEADS_ELSEWHERE)))

    def may_convert_files(self) -> bool:
        """Whether a file may be checked out with other bytes than were committed, even without a `.gitattributes`."""
        values = (self._trusted or SettingsListing()).values
        common = self._project.common if self._project else ""
        return (
            self._trusted is None
            or values.get("core.autocrlf", ("false",))[-1].lower() not in ("false", "no", "off", "0")
            or "core.attributesfile" in values
            or any(os.path.exists(path) for path in (f"{common}/info/attributes", *_GLOBAL_ATTRIBUTES))
        )

    def list_changed_hooks(self) -> tuple[str, ...]:
        """Hooks that are new or others now; deleted ones run nothing."""
        now = _read_hooks(self._hooks_dir)
        return tuple(sorted(name for name, stamp in now.items() if self._hooks.get(name) != stamp))

    def choose_hooks_dir(self) -> str:
        """Where the user's own hooks are, for what is done on the user's behalf; none once one of them changed."""
        return self._hooks_dir if self._trusted and not self.list_changed_hooks() else os.devnull


def parse_settings(output: str) -> SettingsListing:
    """What `git config --list --null --show-origin` prints."""
    words = output.split("\0")
    values: dict[str, tuple[str, ...]] = {}
    for entry in words[1::2]:
        key, _, value = entry.partition("\n")
        values[key] = (*values.get(key, ()), value)
    origins = {origin.removeprefix("file:") for origin in words[::2] if origin.startswith("file:")}
    return SettingsListing(values=values, files=frozenset(origins))


def list_changed_programs(before: Values, after: Values) -> list[str]:
    """Settings that are not as they were, of those that run a program."""
    return sorted(_list_changed(before, {**before, **after}, RUNS_PROGRAM))


def _list_changed(before: Values, after: Values, pattern: str) -> Iterator[str]:
    for key in before.keys() | after.keys():
        if before.get(key) != after.get(key) and re.fullmatch(pattern, key):
            yield key


def _override_changed(before: Values, changed: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for key in changed:
        if key.endswith(".helper"):
            yield key, ""  # an empty one takes back all before it
        values = before.get(key) or (_find_harmless_value(key),)
        yield from ((key, value) for value in values)


def _find_harmless_value(key: str) -> str:
    ending = next((value for end, value in _HARMLESS_ENDINGS.items() if key.endswith(end)), "")
    return _HARMLESS_VALUES.get(key, ending)


def _list_files(project: ProjectDir | None, trusted: SettingsListing | None) -> tuple[str, ...]:
    own = (
        f"{folder}/{name}" for folder in _list_git_dirs(project) for name in ("config", "config.worktree", "commondir")
    )
    return tuple(sorted({*own, *(trusted.files if trusted else ())}))


def _list_git_dirs(project: ProjectDir | None) -> tuple[str, ...]:
    return (project.common, project.git_dir) if project else ()


def _find_hooks_dir(project: ProjectDir | None, root: str, trusted: SettingsListing | None) -> str:
    """As an absolute path: in another work tree a relative one leads to what an agent checked in there."""
    if project is None:
        return os.devnull
    chosen = (trusted.values if trusted else {}).get("core.hookspath", ("",))[-1]
    return os.path.normpath(os.path.join(root, os.path.expanduser(chosen))) if chosen else f"{project.common}/hooks"


def _read_hooks(folder: str) -> dict[str, _Stamp]:
    try:
        names = os.listdir(folder)
    except OSError:
        return {}
    return {
        name: _read_stamp(os.path.join(folder, name))
        for name in names
        if not name.endswith(".sample") and os.access(os.path.join(folder, name), os.X_OK)
    }


def _read_stamps(files: tuple[str, ...]) -> tuple[_Stamp, ...]:
    return tuple(map(_read_stamp, files))


def _read_stamp(path: str) -> _Stamp:
    """Another one after every change: the time of that cannot be set."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ctime_ns, found.st_ino, found.st_size
