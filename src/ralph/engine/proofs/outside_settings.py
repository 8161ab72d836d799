"""Finds settings outside the tree that steer a check: in the home folder, in folders above, in the repository's own."""

import os
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ralph.engine.proofs.program_watch import is_newer_file
from ralph.model.proofs import ProofChange, WorkTime
from ralph.process.atomic_file import open_regular_file

if TYPE_CHECKING:
    from ralph.core.proofs.check_rules import CheckRules

_HOME_FILES = (  # what these programs read there
    (("npm", "npx", "pnpm", "yarn", "bun"), (".npmrc", ".yarnrc", ".yarnrc.yml", ".bunfig.toml")),
    (("cargo",), (".cargo/config", ".cargo/config.toml")),
    (("gradle", "gradlew"), (".gradle/init.gradle", ".gradle/init.gradle.kts", ".gradle/gradle.properties")),
    (("mvn", "mvnw", "mvnd"), (".m2/settings.xml", ".mavenrc")),
    (("go",), (".config/go/env",)),
    (("rspec",), (".rspec",)),
    (("Rscript",), (".Rprofile",)),
    (("zsh",), (".zshenv",)),
    (("mypy", "dmypy"), (".mypy.ini", ".config/mypy/config")),
    (("ruff",), (".config/ruff/ruff.toml", ".config/ruff/.ruff.toml", ".config/ruff/pyproject.toml")),
    (("black",), (".config/black", ".config/black/pyproject.toml")),
    (("flake8",), (".config/flake8", ".flake8")),
    (("pylint",), (".pylintrc", ".config/pylintrc")),
    (("isort",), (".isort.cfg", ".config/isort.cfg")),
    (("eslint",), (".eslintrc", ".eslintrc.json", ".eslintrc.js", ".eslintrc.yml")),
    (("shellcheck",), (".shellcheckrc", ".config/shellcheckrc")),
    (("golangci-lint",), (".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json")),
    (("rubocop",), (".rubocop.yml", ".config/rubocop/config.yml")),
    (("prove",), (".proverc",)),
    (("behave",), (".behaverc",)),
    (("bazel",), (".bazelrc",)),
    (("bundle", "rake", "rails"), (".bundle/config",)),
    (("julia",), (".julia/config/startup.jl",)),
)
_GIT_HOME_FILES = (".gitconfig", ".config/git/config", ".config/git/attributes", ".config/git/ignore")
_LOGIN_SHELL = re.compile(r"\b(?:ba|z|k|da)?sh\b[^|;&]*?\s(?:-\w*l|--login\b)")
_LOGIN_FILES = (".bash_profile", ".bash_login", ".profile", ".bashrc", ".zshenv", ".zprofile", ".zlogin")
_USES_GIT = re.compile(r"(?<![\w.-])git[ \t]+[a-z-]")
_IGNORING_RUNNERS = frozenset(("ruff", "black", "prettier", "biome"))  # they leave out what git ignores
_GIT_SETTINGS = ("config", "config.worktree", "info/attributes", "info/exclude")
_INDEX_HEADER, _INDEX_FLAGS_AT = struct.Struct(">4sII"), 60  # of an entry whose hash has 20 bytes
_ASSUMED, _EXTENDED, _SKIPPED = 0x8000, 0x4000, 0x4000
_MAX_SETTINGS_CHARS = 1 << 20
_MAX_INDEX_BYTES = 1 << 25


def find_changed_home_files(
    rules: "Sequence[CheckRules]", *, environment: Mapping[str, str], since: WorkTime
) -> Iterator[ProofChange]:
    """Settings in the home folder that steer a check: a sealed one has a home without them."""
    home = environment.get("HOME", "")
    for rule in rules if home else ():
        used = {*rule.runners, *(program.name.rpartition("/")[2] for program in rule.programs)}
        names = [name for tools, files in _HOME_FILES if not used.isdisjoint(tools) for name in files]
        names += [*_LOGIN_FILES] if _LOGIN_SHELL.search(rule.command) else []
        names += [*_GIT_HOME_FILES] if any(_USES_GIT.search(line) for line in rule.lines) else []
        for name in names:
            if is_newer_file(os.path.join(home, name), since):
                reason = "steers the check from your home folder"
                yield ProofChange(path=f"~/{name}", kind="changed", reason=reason, check=rule.command)


def find_changed_above(rules: "Sequence[CheckRules]", *, root: str, since: WorkTime) -> Iterator[ProofChange]:
    """Configuration in the folders above the tree, which many runners look for. Nobody can put that back. The work tree
    of a task lies in the repository itself, whose files change as others land."""
    from ralph.core.proofs.runners import RUNNERS

    folders = _list_folders_above(root)
    for rule in rules:
        patterns = {pattern for name in rule.runners for pattern in RUNNERS[name].files if "*" not in pattern}
        for path in (os.path.join(folder, name) for folder in folders for name in sorted(patterns)):
            if is_newer_file(path, since) and _configures(path, rule.runners):
                reason = "steers the check from a folder above"
                yield ProofChange(path=path, kind="changed", reason=reason, check=rule.command)


def _configures(path: str, runners: Sequence[str]) -> bool:
    """Whether there is anything in it for them: a pyproject.toml may be about something else."""
    from ralph.core.proofs.config_parts import extract_config_part

    with suppress(OSError), open(path, encoding="utf-8", errors="replace", opener=open_regular_file) as file:
        empty = "{}" if path.endswith(".json") else ""
        return extract_config_part(path, file.read(_MAX_SETTINGS_CHARS), runners) != extract_config_part(
            path, empty, runners
        )
    return False


def _list_folders_above(root: str) -> list[str]:
    folders = [os.path.dirname(root)]
    while folders[-1] != os.path.dirname(folders[-1]):
        folders.append(os.path.dirname(folders[-1]))
    around = os.path.dirname(_find_git_dirs(root)[1])
    return folders[folders.index(around) + 1 :] if around in folders else folders


def find_changed_git_settings(rules: "Sequence[CheckRules]", *, root: str, since: WorkTime) -> Iterator[ProofChange]:
    """What tells git, or who asks it, to look away. A sealed check has a repository without it, but for the index."""
    for rule in rules:
        asks_git = any(_USES_GIT.search(line) for line in rule.lines)
        names = _GIT_SETTINGS if asks_git else ("info/exclude",)
        if not asks_git and _IGNORING_RUNNERS.isdisjoint(rule.runners):
            continue
        git_dir, common = _find_git_dirs(root)
        for path in (os.path.join(common, name) for name in names):
            if is_newer_file(path, since):
                reason = "tells git what to leave out"
                yield ProofChange(path=_shorten(path, root), kind="changed", reason=reason, check=rule.command)
        if asks_git and (hidden := _find_hidden_entry(os.path.join(git_dir, "index"))):
            reason = f"has git take {hidden} for unchanged"
            yield ProofChange(
                path=_shorten(os.path.join(git_dir, "index"), root), kind="doubtful", reason=reason, noted=True
            )


def _find_git_dirs(root: str) -> tuple[str, str]:
    """That of the work tree, and the one it shares with others."""
    git_dir = os.path.join(root, ".git")
    with suppress(OSError), open(git_dir, encoding="utf-8", errors="surrogateescape", opener=open_regular_file) as file:
        git_dir = os.path.join(root, file.read().removeprefix("gitdir:").strip())
    shared = os.path.join(git_dir, "commondir")
    with (
        suppress(OSError),
        open(shared, encoding="utf-8", errors="surrogateescape", opener=open_regular_file) as file,
    ):
        return git_dir, os.path.normpath(os.path.join(git_dir, file.read().strip()))
    return git_dir, git_dir


def _find_hidden_entry(index: str) -> str:
    """The first file that git was told to take for unchanged; empty: none, or nobody can tell."""
    try:
        with open(index, "rb", opener=open_regular_file) as file:
            data = file.read(_MAX_INDEX_BYTES)
        mark, version, count = _INDEX_HEADER.unpack_from(data)
    except (OSError, struct.error):
        return ""
    at = _INDEX_HEADER.size
    for _ in range(count if mark == b"DIRC" and version in (2, 3) else 0):
        if at + 64 > len(data):
            break
        flags, more = struct.unpack_from(">HH", data, at + _INDEX_FLAGS_AT)
        begin = at + _INDEX_FLAGS_AT + (4 if flags & _EXTENDED else 2)
        end = data.find(b"\0", begin)
        if flags & _ASSUMED or (flags & _EXTENDED and more & _SKIPPED):
            return data[begin:end].decode("utf-8", "replace")
        at += (end - at + 8) & ~7
    return ""


def _shorten(path: str, root: str) -> str:
    return os.path.relpath(path, root) if path.startswith(f"{root}/") else path
