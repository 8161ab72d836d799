"""New files that are taken for others: a module, a stub or a compiled file that hides the code a check is about."""

import re
from collections.abc import Collection

from ralph.core.proofs.suites import detect_test

TYPE_CHECKERS = frozenset(("mypy", "dmypy", "pyright", "basedpyright", "ty", "pyrefly"))
_IMPORT_ROOTS = ("", "src/", "lib/", "python/")
_COMPILED = re.compile(r"(?P<module>.+?)(?:\.(?:cpython|abi3|pypy)[\w-]*)?\.(?:so|pyd)")
_SCRIPT_ENDINGS = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".json")
_TYPED_ENDINGS = (".ts", ".tsx", ".mts", ".cts")


def find_shadowed_file(path: str, old_paths: Collection[str], gone: Collection[str], runners: Collection[str]) -> str:
    """The file that a new one is taken for; empty: none. `gone`: files that are deleted."""
    found = _find_hidden(path, old_paths, runners)
    return "" if found in gone else found


def find_shadowed_module(path: str, old_paths: Collection[str], gone: Collection[str]) -> str:
    """The module at the top of the project that a new file beside the tests is imported instead of."""
    folder, _, name = path.rpartition("/")
    module = name.removesuffix(".py")
    if module == name or not folder or f"{folder}/__init__.py" in old_paths or not detect_test(path):
        return ""
    places = (f"{root}{module}{ending}" for root in _IMPORT_ROOTS for ending in (".py", "/__init__.py"))
    return next((place for place in places if place in old_paths and place not in gone and place != path), "")


def _find_hidden(path: str, old_paths: Collection[str], runners: Collection[str]) -> str:
    folder, slash, name = path.rpartition("/")
    stem, dot, _ = name.rpartition(".")
    beside = f"{folder}{slash}"
    if name == "__init__.py":
        candidates = [f"{folder}.py"] if folder else []
    elif name.endswith(".py"):
        candidates = [f"{root}{stem}{end}" for root in _IMPORT_ROOTS[1:] for end in (".py", "/__init__.py")]
        candidates = [] if folder else candidates
    elif name.endswith(".pyi"):
        candidates = [f"{beside}{stem}.py"] if not TYPE_CHECKERS.isdisjoint(runners) else []
    elif compiled := _COMPILED.fullmatch(name):
        candidates = [f"{beside}{compiled['module']}.py"]
    elif not dot:
        candidates = [f"{path}{ending}" for ending in _SCRIPT_ENDINGS]
    elif name.endswith((".js", ".mjs", ".cjs", ".jsx")):
        candidates = [f"{beside}{stem}{ending}" for ending in _TYPED_ENDINGS]
    else:
        candidates = []
    return next((each for each in candidates if each in old_paths), "")
