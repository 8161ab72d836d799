"""Files an agent must leave as they were when the run began: tests, for instance, that it could bend to pass."""

import fnmatch
import glob
import hashlib
import os
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct, ValidationError, convert

from ralph.core.guardrail import build_gate_result
from ralph.model.errors import ConfigError, MachineError
from ralph.model.loop import GateResult
from ralph.model.ports import Evidence, Gate, GateOptions, Processes
from ralph.process.atomic_file import write_atomic

# What running tests leaves beside them is nobody's work.
IGNORED_NAMES = ("__pycache__", "*.pyc", ".git", "node_modules", ".pytest_cache", ".mypy_cache", ".ruff_cache")

Fingerprints = dict[str, str]  # path from the work folder → what it holds


class FilesUnchangedOptions(Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """As the guardrail has them."""

    paths: tuple[str, ...]  # files, folders with all they hold, or patterns such as src/**/*.sql
    ignore: tuple[str, ...] = ()  # names or patterns that do not count
    forbid_new: bool = False  # a file that was not there fails, too


def build(options: GateOptions, processes: Processes) -> Gate:
    """A gate that knows the files as they are now or, in a resumed run, as they were when it began."""
    return FilesUnchangedGate(options, _parse_options(options))


def _parse_options(options: GateOptions) -> FilesUnchangedOptions:
    try:
        wanted = convert(options.options, FilesUnchangedOptions)
    except ValidationError as error:
        raise ConfigError(f"files_unchanged: {error}", 'for example "paths": ["tests"]') from None
    if options.command or not wanted.paths or not all(wanted.paths):
        raise ConfigError("files_unchanged: it takes paths, and no command", 'for example "paths": ["tests"]')
    return wanted


class FilesUnchangedGate:
    """Passes while every file it guards is there and holds the same bytes; new ones may come, unless forbidden."""

    def __init__(self, options: GateOptions, wanted: FilesUnchangedOptions) -> None:
        self._options, self._wanted = options, wanted
        self._before = self._load_baseline() if options.run_dir else {}

    @property
    def title(self) -> str:
        return f"files_unchanged {', '.join(self._wanted.paths)}"

    def check(self, evidence: Evidence) -> GateResult:
        return build_gate_result(self.title, list(self._find_differences(evidence.folder)), self._options)

    def _find_differences(self, folder: str) -> Iterator[str]:
        now = fingerprint_files(folder, self._wanted.paths, self._wanted.ignore)
        for path, content in self._before.items():
            if path not in now:
                yield f"deleted: {path}"
            elif now[path] != content:
                yield f"changed: {path}"
        if self._wanted.forbid_new:
            yield from (f"new: {path}" for path in now if path not in self._before)

    def _load_baseline(self) -> Fingerprints:
        kept = os.path.join(self._options.run_dir, f"files_unchanged_{self._options.log_name}.json")
        try:
            with open(kept, "rb") as file:
                return msgspec.json.decode(file.read(), type=Fingerprints)
        except FileNotFoundError:
            pass
        found = fingerprint_files(self._options.folder, self._wanted.paths, self._wanted.ignore)
        try:
            write_atomic(kept, msgspec.json.encode(found).decode())
        except OSError as error:
            raise MachineError(f"cannot write {kept}: {error.strerror}", f"df -h {self._options.run_dir}") from error
        return found


def fingerprint_files(folder: str, paths: Sequence[str], ignored: Sequence[str]) -> Fingerprints:
    """Every file below the paths, in order, and a hash of what it holds or, for a link, where it leads."""
    names = {name for path in paths for name in _list_files(folder, path)}
    skipped = (*IGNORED_NAMES, *ignored)
    kept = [name for name in sorted(names) if not _is_ignored(name, skipped)]
    return {_make_printable(name): _hash_file(os.path.join(folder, name)) for name in kept}


def _list_files(folder: str, path: str) -> Iterator[str]:
    for found in glob.glob(path, root_dir=folder, recursive=True, include_hidden=True):
        top = os.path.join(folder, found)
        if os.path.islink(top) or not os.path.isdir(top):
            yield os.path.normpath(found)
        for parent, folders, files in os.walk(top):
            links = [name for name in folders if os.path.islink(os.path.join(parent, name))]
            yield from (os.path.relpath(os.path.join(parent, name), folder) for name in (*files, *links))


def _is_ignored(name: str, patterns: Sequence[str]) -> bool:
    parts = (name, *name.split(os.sep))
    return any(fnmatch.fnmatchcase(part, pattern) for pattern in patterns for part in parts)


def _make_printable(name: str) -> str:
    """Names need not be text; what is kept of them must."""
    return os.fsencode(name).decode(errors="backslashreplace")


def _hash_file(path: str) -> str:
    if os.path.islink(path):
        return f"link to {_make_printable(os.readlink(path))}"
    if not os.path.isfile(path):
        return "no regular file"  # nobody waits for a pipe an agent put there
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"unreadable: {error.strerror}"  # as it was, it stays; made so by the agent, it is a change
