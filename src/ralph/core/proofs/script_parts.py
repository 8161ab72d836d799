"""What else a script reads that judges: modules beside it, files named from its own folder, files it loops over."""

import ast
import re
import sys
from collections.abc import Callable, Iterator, Sequence

from ralph.core.proofs.shell_line import join_path

_LOOP = r"\bfor\s+(\w+)\s+in\s+([^;\n]+)"
_NODE_IMPORT = r"""(?:\brequire\(|\bfrom\s|\bimport\s|\bimport\()\s*["'](\.{1,2}/[^"'\n]+)["']"""
_NODE_ENDINGS = ("", ".js", ".mjs", ".cjs", ".ts", ".json", "/index.js")
_OWN_FOLDER = r"\$(?:\{[^}]*\}|\(\)|\w+)/"
Exists = Callable[[str], bool]


def list_looped_patterns(text: str) -> list[str]:
    """`checks/*.sh` of `for each in checks/*.sh; do sh "$each"; done`: a shell carries out what they hold."""
    found = []
    for name, words in re.findall(_LOOP, text):
        if re.search(
            rf"\b(?:sh|bash|\.|source|exec)\s+[\"']?\$\{{?{name}\b(?!.*-n\b)|^\s*[\"']?\$\{{?{name}\b", text, re.M
        ):
            found += [word.strip("\"'") for word in words.split() if "*" in word]
    return found


def find_from_own_folder(path: str, script_folder: str, folder: str, exists: Exists) -> str:
    """The file that `$DIR/lib.sh` means in a script: beside it, or from where it is run; empty: nobody can tell."""
    tail = re.sub(_OWN_FOLDER, "", path)
    if tail == path or "$" in tail:
        return ""
    places = (join_path(place, tail) for place in (script_folder, folder, script_folder.rpartition("/")[0]))
    return next((place for place in places if place and exists(place)), "")


def list_python_modules(text: str) -> list[str]:
    """The modules a script imports, by their first names."""
    try:
        nodes = [*ast.walk(ast.parse(text))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return [*dict.fromkeys(name.partition(".")[0] for name in names if name)]


def list_imported_files(path: str, text: str, exists: Exists) -> Iterator[str]:
    """Files of the project that a script in Python or JavaScript imports from beside it."""
    folder = path.rpartition("/")[0]
    if path.endswith(".py"):
        for name in list_python_modules(text):
            places = (join_path(folder, f"{name}{ending}") for ending in (".py", "/__init__.py"))
            yield from (place for place in places if exists(place))
    for name in re.findall(_NODE_IMPORT, text) if path.endswith((".js", ".mjs", ".cjs", ".ts")) else ():
        places = (join_path(folder, f"{name}{ending}") for ending in _NODE_ENDINGS)
        yield from [place for place in places if place and exists(place)][:1]


def list_library_modules(text: str) -> Sequence[str]:
    """Modules of Python's own library that a script imports: a file beside it would be taken for them."""
    return [name for name in list_python_modules(text) if name in sys.stdlib_module_names]
