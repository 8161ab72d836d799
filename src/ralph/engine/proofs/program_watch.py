"""Finds programs that judge and were replaced while a run went on: installed ones that no tree of git knows.

A file's change time cannot be set back, so what is older than the run needs no second look. What is newer was installed
(and then looks like what installers leave), or somebody wrote it."""

import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ralph.model.proofs import ProofChange, WorkTime
from ralph.process.atomic_file import open_regular_file
from ralph.process.shell import find_program

if TYPE_CHECKING:
    from ralph.core.proofs.check_rules import CheckRules

MAX_LAUNCHER_BYTES = 1 << 16
_MAX_WALKED_FOLDERS = 20_000
_INSTALLED_FOLDERS = ("node_modules", ".venv", "venv", "env", ".tox", ".nox", "vendor", ".direnv")
_ENVIRONMENT_RUNNERS = frozenset(("uv", "poetry", "pdm", "hatch", "rye", "pipenv"))
_PYTHON_PLUGS = ("sitecustomize.py", "usercustomize.py")
# Strings, as most runs need neither of them.
_CONSOLE_SCRIPT_LINES = (  # as pip, uv and distlib write them
    r"#.*|'''exec'.*|' '''|import (re|sys)|from (?P<module>[\w.]+) import \w+|if __name__ == .*:|sys\.argv\[0\] = .*"
    r"|sys\.exit\([\w.]+\(\)\)|if sys\.argv\[0\]\.endswith\(.*|elif sys\.argv\[0\]\.endswith\(.*|"
)
_HARMLESS_PATH_LINES = (  # of a .pth file: folders, and what installers write
    r"(?!import\b).*|import (_virtualenv|__editable__\w*|_distutils_hack|coverage)\b.*|import os; var = .*"
)


def find_changed_programs(
    rules: "Sequence[CheckRules]", *, root: str, environment: Mapping[str, str], since: WorkTime
) -> tuple[ProofChange, ...]:
    """Programs of the checks that are not what was there, or could have been installed, since agents began."""
    found: dict[str, ProofChange] = {}
    for rule in rules:
        for path in _list_programs(rule, root, environment):
            if reason := _find_replacement(path, root, since):
                found[path] = ProofChange(
                    path=_name_path(path, root), kind="shadowed", reason=reason, check=rule.command
                )
        for site in _list_site_folders(rule, root, environment):
            for path, reason in _find_site_changes(site, rule.modules, since):
                found[path] = ProofChange(
                    path=_name_path(path, root), kind="shadowed", reason=reason, check=rule.command
                )
    return tuple(found.values())


def find_ignored_shadows(rules: "Sequence[CheckRules]", *, root: str, since: WorkTime) -> Iterator[ProofChange]:
    """Files that would be taken for something else, also those git does not look at."""
    for rule in rules:
        modules = [
            (os.path.join(folder, f"{module}{ending}"), f"would be imported as {module}")
            for folder in rule.folders
            for module in rule.modules
            for ending in (".py", "/__init__.py", ".pyc")
        ]
        for path, reason in (*((shadow.path, shadow.reason) for shadow in rule.shadows), *modules):
            if is_newer_file(os.path.join(root, path), since):
                yield ProofChange(path=path, kind="shadowed", reason=reason, check=rule.command)


def find_ignored_protected(protected: Sequence[str], *, root: str, since: WorkTime) -> Iterator[ProofChange]:
    """Protected files that came or changed while agents worked, also those git does not look at."""
    if not protected:
        return
    from ralph.core.proofs.file_patterns import matches_any

    anchored = [pattern for pattern in protected if "/" in pattern.rstrip("/") and "**" not in pattern]
    places = [os.path.join(glob.escape(root), pattern.lstrip("/")) for pattern in anchored]
    found = [path for place in places for path in glob.iglob(place, include_hidden=True)]
    if len(anchored) < len(protected):
        found += _walk_files(root)
    for path in found:
        name = os.path.relpath(path, root)
        if is_newer_file(path, since) and not os.path.isdir(path) and matches_any(name, protected):
            yield ProofChange(path=name, kind="changed", reason="git ignores it", protected=True)


def is_newer_file(path: str, since: WorkTime) -> bool:
    """By its change time, which nobody can set back."""
    try:
        return since.covers(os.lstat(path).st_ctime)
    except OSError:
        return False


def _walk_files(root: str) -> Iterator[str]:
    for visited, (folder, folders, files) in enumerate(os.walk(root)):
        if visited > _MAX_WALKED_FOLDERS:
            return
        folders[:] = [name for name in folders if name not in (".git", ".ralph", *_INSTALLED_FOLDERS)]
        yield from (os.path.join(folder, name) for name in files)


def _list_programs(rule: "CheckRules", root: str, environment: Mapping[str, str]) -> Iterator[str]:
    names = {program.name for program in rule.programs}
    for program in rule.programs:
        place = os.path.join(root, program.folder)
        path = find_program(program.name, environment, place)
        if path and not _is_project_file(path, root):
            yield path
        if "/" not in program.name:
            yield from (os.path.join(folder, "node_modules/.bin", program.name) for folder in (place, root))
    if not _ENVIRONMENT_RUNNERS.isdisjoint(names):
        yield from (os.path.join(root, ".venv/bin", name) for name in (*names, *rule.runners, "python", "python3"))


def _is_project_file(path: str, root: str) -> bool:
    """A file of the project itself is compared with its tree; what was installed there is not part of it."""
    if not path.startswith(f"{root}/"):
        return False
    return os.path.relpath(path, root).split("/")[0] not in _INSTALLED_FOLDERS and "/node_modules/" not in path


def _find_replacement(path: str, root: str, since: WorkTime) -> str:
    """Why a program is not what was there and not what an installer leaves; empty: it is fine, or there is none."""
    try:
        if not is_newer_file(path, since) and not is_newer_file(os.path.realpath(path), since):
            return ""
        target = os.path.realpath(path)
        with open(target, "rb", opener=open_regular_file) as file:
            text = file.read(MAX_LAUNCHER_BYTES)
    except OSError:
        return ""
    if "/node_modules/" in target:
        if os.path.islink(path):
            return _find_package_change(target, since)
        return "" if b"basedir=$(dirname" in text else "replaced, and not by an installer"  # as pnpm writes them
    if text.startswith(b"\x7fELF") or _is_console_script(text.decode("utf-8", "replace"), root):
        return ""
    if not is_newer_file(target, since):  # a link to what has always been there: a Python, for instance
        return ""
    return "replaced, and not by an installer"


def _find_package_change(target: str, since: WorkTime) -> str:
    """A package that was there before and has one new file in it was edited, not installed."""
    folders = target.split("/node_modules/")
    names = folders[-1].split("/")
    package = "/".join(names[:2] if names[0].startswith("@") else names[:1])
    manifest = f"{'/node_modules/'.join(folders[:-1])}/node_modules/{package}/package.json"
    return "" if is_newer_file(manifest, since) or not is_newer_file(target, since) else "edited where it is installed"


def _is_console_script(text: str, root: str) -> bool:
    """A launcher that imports one module and calls it; of a module that is installed, not one of the project."""
    modules: list[str] = []
    for line in text.splitlines():
        found = re.fullmatch(_CONSOLE_SCRIPT_LINES, line.strip())
        if found is None:
            return False
        if found["module"]:
            modules.append(found["module"].partition(".")[0])
    own = (os.path.join(root, f"{module}{ending}") for module in modules for ending in ("", ".py"))
    return len(modules) == 1 and not any(os.path.exists(path) for path in own)


def has_changed_packages(rule: "CheckRules", *, root: str, environment: Mapping[str, str], since: WorkTime) -> bool:
    """Whether packages of its Python came or went since agents began."""
    return any(is_newer_file(site, since) for site in _list_site_folders(rule, root, environment))


def _list_site_folders(rule: "CheckRules", root: str, environment: Mapping[str, str]) -> Iterator[str]:
    """Where the Python of a check finds its packages: beside its program, and in the user's home."""
    if not rule.modules:
        return
    prefixes = {os.path.dirname(os.path.dirname(path)) for path in _list_programs(rule, root, environment)}
    homes = {prefix for prefix in prefixes if os.path.exists(os.path.join(prefix, "pyvenv.cfg"))}
    if home := environment.get("HOME"):
        homes.add(os.path.join(home, ".local"))
    for prefix in sorted(homes):
        with suppress(OSError):
            versions = [name for name in os.listdir(os.path.join(prefix, "lib")) if name.startswith("python")]
            yield from (os.path.join(prefix, "lib", name, "site-packages") for name in versions)


def _find_site_changes(site: str, modules: Iterable[str], since: WorkTime) -> Iterator[tuple[str, str]]:
    try:
        names = os.listdir(site)
    except OSError:
        return
    for name in names:
        path = os.path.join(site, name)
        is_run = name in _PYTHON_PLUGS or name.endswith(".pth")
        if is_run and is_newer_file(path, since) and not (name.endswith(".pth") and _has_only_folders(path)):
            yield path, "is run at the start of every Python"
        elif name in modules and os.path.isdir(path):
            yield from _find_edited_module(site, names, name, since)


def _find_edited_module(site: str, names: Sequence[str], module: str, since: WorkTime) -> Iterator[tuple[str, str]]:
    """Sources that are newer than the run in a package whose record is not: nobody installed them."""
    records = [os.path.join(site, name, "RECORD") for name in names if name.endswith(".dist-info")]
    if any(is_newer_file(record, since) and _lists_module(record, module) for record in records):
        return
    for folder, folders, files in os.walk(os.path.join(site, module)):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in files:
            if name.endswith((".py", ".so")) and is_newer_file(os.path.join(folder, name), since):
                yield os.path.join(folder, name), "edited where it is installed"


def _lists_module(record: str, module: str) -> bool:
    try:
        with open(record, encoding="utf-8", errors="replace", opener=open_regular_file) as file:
            return any(line.startswith(f"{module}/") for line in file)
    except OSError:
        return False


def _has_only_folders(path: str) -> bool:
    """A folder may hold what every Python runs at its start, too."""
    try:
        with open(path, encoding="utf-8", errors="replace", opener=open_regular_file) as file:
            lines = [line.strip() for line in file]
    except OSError:
        return True
    plugs = (os.path.join(os.path.dirname(path), line, name) for line in lines for name in _PYTHON_PLUGS)
    return all(re.fullmatch(_HARMLESS_PATH_LINES, line) for line in lines) and not any(map(os.path.exists, plugs))


def _name_path(path: str, root: str) -> str:
    """From the root of the tree, where it is in it."""
    return os.path.relpath(path, root) if path.startswith(f"{root}/") else path
