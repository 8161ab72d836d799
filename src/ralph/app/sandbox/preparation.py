"""The `setup` command: makes a work tree ready, in the sandbox, and not again while its lock files stay the same."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Literal

from ralph.app.sandbox.shared_setup import SharedSetup, list_other_files
from ralph.model.command import Command
from ralph.model.errors import MachineError
from ralph.model.ports import Processes
from ralph.process.atomic_file import open_regular_file, write_atomic
from ralph.process.output import Excerpt
from ralph.process.shell import build_shell_argv

LOCK_FILES = (
    *("package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock"),
    *("bun.lockb", "deno.lock", "uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pyproject.toml"),
    *("requirements.txt", "requirements-dev.txt", "Cargo.lock", "go.sum", "Gemfile.lock", "composer.lock"),
    *("mix.lock", "pubspec.lock", "flake.lock"),
)
OUTPUT_CHARS = 2000


Prepared = Literal["run", "known", "shared"]


def prepare_tree(
    command: str,
    folder: str,
    *,
    marks: str,
    environment: Mapping[str, str],
    processes: Processes,
    share: Callable[[str], SharedSetup] | None = None,
) -> Prepared:
    """It is not run where it was run before with the same lock files: here (known), or in another work tree whose
    result can serve (shared). `marks`: a folder of our own that remembers it; `share`: what other trees have, by a
    digest; None: this one is no fresh checkout. MachineError: it failed."""
    mark = os.path.join(marks, hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:16])
    digest = digest_setup(command, folder)
    with suppress(OSError), open(mark, encoding="ascii") as file:
        if file.read() == digest:
            return "known"
    shared = share(digest_lock_files(command, folder)) if share else None
    if shared is not None and shared.restore(folder):
        _write_mark(marks, mark, digest_setup(command, folder))
        return "shared"
    before = list_other_files(folder) if shared is not None else None
    output = Excerpt(OUTPUT_CHARS, OUTPUT_CHARS)
    exited = processes.run(
        Command(argv=build_shell_argv(command, environment), environment=environment, cwd=folder, merged=True),
        output.write,
        output.write,
    )
    if exited.ending == "stopped":
        return "run"
    if exited.code != 0:
        tail = output.text().strip()[-OUTPUT_CHARS:]
        raise MachineError(f"setup failed (exit code {exited.code}): {command}\n{tail}", "try it: ralph sandbox shell")
    _write_mark(marks, mark, digest_setup(command, folder))
    if shared is not None:
        with suppress(OSError):
            shared.keep(folder, before)
    return "run"


def _write_mark(marks: str, mark: str, digest: str) -> None:
    with suppress(OSError):
        os.makedirs(marks, mode=0o700, exist_ok=True)
        write_atomic(mark, digest)


def digest_lock_files(command: str, folder: str) -> str:
    """The same in every work tree that installs the same."""
    digest = hashlib.sha256(command.encode("utf-8", "surrogateescape"))
    for name, content in _read_lock_files(folder):
        digest.update(f"\0{name}\0".encode() + content)
    return digest.hexdigest()[:32]


def digest_setup(command: str, folder: str) -> str:
    """Changes with the command, and with what it installs from; a tree that was made anew is another."""
    digest = hashlib.sha256(command.encode("utf-8", "surrogateescape"))
    digest.update(str(os.stat(folder).st_ino).encode())
    link = os.path.join(folder, ".git")
    if os.path.isfile(link):  # written once, with the work tree: numbers of files are given again
        digest.update(f" {os.stat(link).st_mtime_ns}".encode())
    for name, content in _read_lock_files(folder):
        digest.update(f"\0{name}\0".encode() + content)
    return digest.hexdigest()


def _read_lock_files(folder: str) -> Iterator[tuple[str, bytes]]:
    for name in LOCK_FILES:
        with suppress(OSError), open(os.path.join(folder, name), "rb", opener=open_regular_file) as file:
            yield name, file.read()
