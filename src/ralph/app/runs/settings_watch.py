"""Settings, prompts and hooks are remembered when a run starts: what changes while agents work is named, and asked
about before the next run."""

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING
from zlib import crc32

import msgspec
from msgspec import Struct

from ralph.app.paths import Paths
from ralph.app.repositories import find_machine_state
from ralph.config.location import LOCAL_SETTINGS_FILE, SETTINGS_FILE, SPECFLOW_FILE, locate_user_settings, shorten_home
from ralph.core.watched_files import (
    GIT_CONFIG,
    HOOKS_FOLDER,
    HOST_SETTINGS,
    Texts,
    extract_git_program_settings,
    find_hooks_path,
)
from ralph.model.errors import ConfigError
from ralph.process.atomic_file import open_regular_file, read_regular_file
from ralph.process.identity import ProcessIdentity, identify_self, is_alive

if TYPE_CHECKING:
    from ralph.config.schema import Settings
    from ralph.core.watched_changes import FileChange

MAX_WATCHED_CHARS = 256 << 10
MAX_HOOKS = 100
WATCHED_FOLDER = "watched"
UNREADABLE_TEXT = "(not shown: SHA-256 {digest})"


class WatchRecord(Struct, frozen=True, kw_only=True):
    """What a run found when it began. It outlives the run while something differs from it."""

    run: str
    pid: int
    ticks: int
    boot: str
    prompt_file: str = ""
    texts: Texts = {}


class PendingChanges(Struct, frozen=True, kw_only=True):
    """What changed while agents of runs that have ended were at work, and nobody has been told or asked yet."""

    runs: tuple[str, ...] = ()
    files: "tuple[FileChange, ...]" = ()
    weakenings: tuple[str, ...] = ()


class SettingsWatch:
    """Of one run. Safe to use from several threads."""

    def __init__(self, paths: Paths, variables: Mapping[str, str], *, run: str, prompt_file: str = "") -> None:
        me = identify_self()
        self._paths, self._variables, self._prompt_file = paths, variables, prompt_file
        self._before = self._last = read_watched(paths, variables, prompt_file)
        self._record = WatchRecord(
            run=run, pid=me.pid, ticks=me.ticks, boot=me.boot, prompt_file=prompt_file, texts=self._before
        )
        self._path = os.path.join(_locate_records(paths, variables), f"{run}.json")
        self._lock = threading.Lock()
        _write_record(self._path, self._record)

    def find_changes(self) -> list[str]:
        """What changed since the last look, a sentence each."""
        with self._lock:
            now = read_watched(self._paths, self._variables, self._prompt_file)
            last, self._last = self._last, now
        return _describe_changes(last, now) if now != last else []

    def close(self) -> None:
        """What differs from the start stays on record, for the next run to ask about."""
        if read_watched(self._paths, self._variables, self._prompt_file) == self._before:
            _remove_record(self._path)


def find_pending_changes(paths: Paths, variables: Mapping[str, str]) -> PendingChanges:
    """Since runs began that have ended, however they did. What was put back since is none."""
    runs: list[str] = []
    files: dict[str, FileChange] = {}
    weaker: dict[str, None] = {}
    for path, record in _list_records(paths, variables):
        if is_alive(ProcessIdentity(record.pid, record.ticks, record.boot)):
            continue
        now = read_watched(paths, variables, record.prompt_file)
        if now == record.texts:
            _remove_record(path)
            continue
        from ralph.core.watched_changes import compare_texts

        runs.append(record.run)
        files.update((change.name, change) for change in compare_texts(record.texts, now))
        weaker.update(dict.fromkeys(_list_weakenings(record.texts, now)))
    return PendingChanges(runs=tuple(runs), files=tuple(files.values()), weakenings=tuple(weaker))


def forget_pending_changes(paths: Paths, variables: Mapping[str, str], pending: PendingChanges) -> None:
    """Somebody was told, and where a check got weaker, accepted it."""
    for path, record in _list_records(paths, variables):
        if record.run in pending.runs:
            _remove_record(path)


def read_watched(paths: Paths, variables: Mapping[str, str], prompt_file: str = "") -> dict[str, str]:
    """The texts as they are now, by name."""
    found = ((name, _read_text(path)) for name, path in _list_watched(paths, variables, prompt_file))
    texts = {name: text for name, text in found if text is not None}
    if GIT_CONFIG in texts:
        texts[GIT_CONFIG] = extract_git_program_settings(texts[GIT_CONFIG])
        folder = find_hooks_path(texts[GIT_CONFIG])
        found = ((name, _read_text(path)) for name, path in _list_files(paths.root, folder) if folder)
        texts.update((name, text) for name, text in found if text is not None)
    return texts


def _list_watched(paths: Paths, variables: Mapping[str, str], prompt_file: str) -> Iterator[tuple[str, str]]:
    for name in (SPECFLOW_FILE, SETTINGS_FILE, LOCAL_SETTINGS_FILE):
        yield name, os.path.join(paths.folder, name)
    if own := locate_user_settings(variables):
        yield shorten_home(own, variables), own
    if prompt_file:
        yield prompt_file, os.path.join(paths.started_in, prompt_file)
    for name in HOST_SETTINGS:
        if not name.startswith((".ralph/", ".specflow/")):
            yield name, os.path.join(paths.root, name)
    if paths.in_git:
        common = os.path.dirname(paths.state)
        yield GIT_CONFIG, os.path.join(common, "config")
        for name, path in _list_files(common, "hooks"):
            if not name.endswith(".sample"):
                yield f"{HOOKS_FOLDER}{os.path.basename(name)}", path
    for name, path in _list_files(paths.folder, ".ralph"):
        if name.endswith(".md"):
            yield name, path


def _list_files(root: str, folder: str) -> list[tuple[str, str]]:
    """Name and path of each, not below."""
    try:
        names = sorted(os.listdir(os.path.join(root, folder)))[:MAX_HOOKS]
    except OSError:
        return []
    return [(os.path.join(folder, name), os.path.join(root, folder, name)) for name in names]


def _read_text(path: str) -> str | None:
    """None where there is no such file. What is no text, or too much of it, is known by its digest."""
    try:
        text = read_regular_file(path, MAX_WATCHED_CHARS, "surrogateescape")
    except OSError:
        return _digest_file(path) if os.path.isfile(path) else None
    return text if _is_plain(text) else _digest_file(path)


def _is_plain(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


def _digest_file(path: str) -> str | None:
    import hashlib  # hardly ever needed

    try:
        with open(path, "rb", opener=open_regular_file) as file:
            return UNREADABLE_TEXT.format(digest=hashlib.file_digest(file, "sha256").hexdigest())
    except OSError:
        return None


# -- what got weaker ------------------------------------------------------------------------------
def _describe_changes(before: Texts, after: Texts) -> list[str]:
    from ralph.core.watched_changes import compare_texts

    names = ", ".join(f"{change.name} ({change.what})" for change in compare_texts(before, after))
    weaker = "; ".join(_list_weakenings(before, after))
    lines = [f"changed while an agent was running: {names}"]
    return [*lines, f"weaker from the next run on, unless you revert it: {weaker}"] if weaker else lines


def _list_weakenings(before: Texts, after: Texts) -> tuple[str, ...]:
    from ralph.config.weakening import find_weakenings
    from ralph.core.watched_changes import find_hook_weakenings

    then, now = _parse_settings(before), _parse_settings(after)
    settings = find_weakenings(then, now) if then and now else ()
    return (*settings, *find_hook_weakenings(before, after))


def _parse_settings(texts: Texts) -> "Settings | None":
    """None where they cannot be read: then no run starts with them."""
    from ralph.config.schema import convert_settings
    from ralph.config.sources import combine_layers, parse_json_layer
    from ralph.config.specflow import parse_specflow

    user = [name for name in texts if name.endswith("settings.json") and not name.startswith((".claude", ".ralph"))]
    try:
        layers = [parse_json_layer(name, texts[name]) for name in user]
        layers += [parse_specflow(SPECFLOW_FILE, texts[SPECFLOW_FILE])] if SPECFLOW_FILE in texts else []
        layers += [
            parse_json_layer(name, texts[name]) for name in (SETTINGS_FILE, LOCAL_SETTINGS_FILE) if name in texts
        ]
        return convert_settings(combine_layers(layers)[0])
    except ConfigError:
        return None


# -- its record -----------------------------------------------------------------------------------
def forget_watching(paths: Paths, variables: Mapping[str, str]) -> None:
    """Where nothing is left to be told of."""
    with suppress(OSError):
        os.rmdir(_locate_records(paths, variables))


def _locate_records(paths: Paths, variables: Mapping[str, str]) -> str:
    """Out of the way of agents, where there is such a place."""
    base = find_machine_state(variables) or paths.state
    return os.path.join(base, WATCHED_FOLDER, f"{os.path.basename(paths.root)}-{crc32(os.fsencode(paths.folder)):08x}")


def _write_record(path: str, record: WatchRecord) -> None:
    """Without it the next run cannot be warned; this one works all the same."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "xb", opener=_open_privately) as file:
            file.write(msgspec.json.encode(record))
    except OSError:
        return


def _open_privately(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _list_records(paths: Paths, variables: Mapping[str, str]) -> Iterator[tuple[str, WatchRecord]]:
    folder = _locate_records(paths, variables)
    for _, path in _list_files(folder, ""):
        try:
            with open(path, "rb") as file:
                yield path, msgspec.json.decode(file.read(), type=WatchRecord)
        except (OSError, msgspec.MsgspecError):
            _remove_record(path)


def _remove_record(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
