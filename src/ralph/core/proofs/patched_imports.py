"""Whether a Python test changes what it imports: then other tests of the same process see that, not the code."""

import ast
import re
from collections.abc import Iterator

MAX_PARSED_CHARS = 400_000


def describe_patched_import(text: str) -> str:
    """What is assigned to an imported module or name, for good; empty where nothing is, or nobody can tell. What a mock
    library patches it also puts back."""
    if len(text) > MAX_PARSED_CHARS:
        return ""
    try:
        nodes = [*ast.walk(ast.parse(text))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    if not re.search(r"\.stop(?:all)?\b", text) and any(map(_starts_patch, nodes)):
        return "starts a patch and never stops it"
    imported = {name for node in nodes for name in _list_imported_names(node)}
    found = next((target for node in nodes for target in _list_targets(node) if _get_root(target) in imported), None)
    return f"changes what it imports: `{ast.unparse(found)}`" if found else ""


def _starts_patch(node: ast.AST) -> bool:
    """`mock.patch("calc.add").start()`, `patch.object(…).start()`"""
    match node:
        case ast.Call(func=ast.Attribute(attr="start", value=ast.Call(func=patched))):
            return "patch" in ast.unparse(patched)
        case _:
            return False


def _list_imported_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)


def _list_targets(node: ast.AST) -> Iterator[ast.expr]:
    """Attributes and items that are set or deleted; of a name on its own only this file hears."""
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            yield from (target for target in targets if isinstance(target, ast.Attribute | ast.Subscript))
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            yield from [target] if isinstance(target, ast.Attribute | ast.Subscript) else []
        case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[target, *_]):
            yield target
        case _:
            return


def _get_root(target: ast.expr) -> str:
    """`calc` of `calc.sums.add`."""
    while isinstance(target, ast.Attribute | ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""
