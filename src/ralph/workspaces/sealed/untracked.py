"""What lies in a work tree without being in its tree: installed, built, cached or private. What a copy does with it."""

import os
from typing import Literal

Treatment = Literal["link", "copy", "skip"]
DEPENDENCY_FOLDERS = frozenset(  # installed from elsewhere, large, only read by checks
    "node_modules bower_components jspm_packages .venv venv virtualenv .virtualenv vendor Pods .bundle .yarn .pnp"
    " .tox .nox .direnv .conda .eggs elm-stuff .dart_tool .stack-work dist-newstyle".split()
)
CACHE_FOLDERS = frozenset(  # made again by whoever needs them, and believed by whoever finds them
    "__pycache__ .pytest_cache .mypy_cache .ruff_cache .hypothesis .pytype .pyre .cache .parcel-cache .turbo .next"
    " .nuxt .svelte-kit .nyc_output .gradle target .rpt2_cache .angular htmlcov coverage .ralph .git".split()
)
STALE_FOLDERS = frozenset(("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"))
CACHE_SUFFIXES = (".pyc", ".pyo", ".eslintcache", ".tsbuildinfo", ".stylelintcache")
CODE_SUFFIXES = (  # read by a runner or an interpreter before anything else is
    *(".py", ".pth", ".cfg", ".ini", ".toml", ".yml", ".yaml", ".json", ".js", ".cjs", ".mjs", ".ts", ".mts", ".cts"),
    *(".sh", ".bash", ".mk", ".rb", ".pl", ".php", ".lua", ".so", ".dylib", ".dll", ".node", ".jar", ".class"),
)


def choose_treatment(name: str, *, is_new: bool) -> Treatment:
    """Of a file or, with a slash at its end, of a folder that nothing tracked is in. `is_new`: it was made or changed
    since the run started, which for a folder nobody asks."""
    parts = name.rstrip("/").split("/")
    if not CACHE_FOLDERS.isdisjoint(parts):
        return "skip"
    if not DEPENDENCY_FOLDERS.isdisjoint(parts):
        return "link"
    if name.endswith("/"):
        return "copy"
    if name.endswith(CACHE_SUFFIXES) or parts[-1].startswith(".coverage"):
        return "skip"
    is_code = name.endswith(CODE_SUFFIXES) or "." not in parts[-1].lstrip(".")
    return "skip" if is_new and is_code and not parts[-1].startswith(".env") else "copy"


def is_stale_cache(path: str) -> bool:
    """What a runner believes instead of the file it was made from."""
    return path.endswith(CACHE_SUFFIXES) or not STALE_FOLDERS.isdisjoint(path.split("/")[:-1])


def is_newer(path: str, since: float) -> bool:
    """Whether it was made or changed since; by a time that nobody can set."""
    try:
        return os.lstat(path).st_ctime > since
    except OSError:
        return True
