"""Whether a test file was only added to: all it had is there, and nothing new reaches into it."""

import ast
import difflib
import re
from collections.abc import Sequence

from ralph.core.proofs.weakening import describe_weakening, strip_comments

MAX_COMPARED_CHARS = 400_000
_SPECIAL_NAMES = re.compile(
    r"pytestmark|pytest_\w+|__\w+__|collect_ignore\w*|load_tests|set[uU]p\w*|tear[dD]own\w*|pytest_plugins"
)
# How a new piece of a test file may begin, in languages with braces: a test, a group of tests, an import, a helper.
_OPENINGS = re.compile(
    r"(?:(?:it|test|describe|context|suite|specify)(?:\.each)?\b"
    r"|import\b|const\s+\w+\s*=|use\s|using\s|func\s+(?:Test|Benchmark|Example|Fuzz)\w*\(|#\[(?:\w+::)*test\]|fn\s+\w+"
    r"|@(?:Test|ParameterizedTest|RepeatedTest|DisplayName)\b|(?:public\s+)?function\s+test\w*|TEST\w*\(|\[(?:Fact|Theory|Test)"
    r"|$)"
)


def is_only_added_to(language: str, old: str, new: str) -> bool:
    """Doubt is no: then the file counts as changed, which costs one more look."""
    if max(len(old), len(new)) > MAX_COMPARED_CHARS or describe_weakening(language, old, new):
        return False
    if language == "python":
        return _has_only_new_definitions(old, new)
    if language in ("javascript", "go", "rust", "java", "php", "c", "csharp"):
        return _has_only_new_blocks(language, old, new)
    return False


def _has_only_new_definitions(old: str, new: str) -> bool:
    try:
        before, after = ast.parse(old), ast.parse(new)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return _extends(before.body, after.body, _bound_names(before.body))


def _extends(before: Sequence[ast.stmt], after: Sequence[ast.stmt], bound: frozenset[str]) -> bool:
    """Whether all statements of before are there in their order, classes maybe longer, and the others are new names."""
    left = list(before)
    for statement in after:
        if left and _holds_all_of(left[0], statement, bound):
            left.pop(0)
        elif not _is_new_definition(statement, bound):
            return False
    return not left


def _holds_all_of(before: ast.stmt, after: ast.stmt, bound: frozenset[str]) -> bool:
    return _dump(before) == _dump(after) or _is_longer_class(before, after) or _is_longer_import(before, after, bound)


def _is_longer_class(before: ast.stmt, after: ast.stmt) -> bool:
    if not isinstance(before, ast.ClassDef) or not isinstance(after, ast.ClassDef) or before.name != after.name:
        return False
    heads = [[*map(_dump, (*node.bases, *node.keywords, *node.decorator_list))] for node in (before, after)]
    return heads[0] == heads[1] and _extends(before.body, after.body, _bound_names(before.body))


def _is_longer_import(before: ast.stmt, after: ast.stmt, bound: frozenset[str]) -> bool:
    """`from calc import add` has become `from calc import add, sub`."""
    if not isinstance(before, ast.ImportFrom) or not isinstance(after, ast.ImportFrom):
        return False
    if (before.module, before.level) != (after.module, after.level):
        return False
    known = {*map(_dump, before.names)}
    new = [alias for alias in after.names if _dump(alias) not in known]
    return known <= {*map(_dump, after.names)} and all((alias.asname or alias.name) not in bound for alias in new)


def _is_new_definition(statement: ast.stmt, bound: frozenset[str]) -> bool:
    match statement:
        case ast.Import() | ast.ImportFrom():
            names = {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
            return "*" not in names and names.isdisjoint(bound)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return _is_new_name(statement.name, bound) and not _is_automatic(statement)
        case ast.ClassDef():
            return _is_new_name(statement.name, bound)
        case ast.Assign(targets=targets, value=value) if not any(
            isinstance(node, ast.Call) for node in ast.walk(value)
        ):
            return all(isinstance(target, ast.Name) and _is_new_name(target.id, bound) for target in targets)
        case ast.Expr(value=ast.Constant()):
            return True  # a string on its own
        case _:
            return False


def _is_new_name(name: str, bound: frozenset[str]) -> bool:
    return name not in bound and not _SPECIAL_NAMES.fullmatch(name)


def _is_automatic(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A fixture that every test gets, asked for or not."""
    return any("autouse" in ast.dump(decorator) for decorator in function.decorator_list)


def _bound_names(body: Sequence[ast.stmt]) -> frozenset[str]:
    names: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                names.add(node.id)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.arg):
                names.add(node.arg)
            elif isinstance(node, ast.alias):
                names.add(node.asname or node.name.partition(".")[0])
    return frozenset(names)


def _dump(node: ast.AST) -> str:
    return ast.dump(node)


def _has_only_new_blocks(language: str, old: str, new: str) -> bool:
    """Whether no line is gone, and every new piece begins like a test and closes what it opens."""
    before, after = old.splitlines(), new.splitlines()
    code = strip_comments(language, new).splitlines()
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, _, _, start, end in matcher.get_opcodes():
        if tag in ("delete", "replace") or (tag == "insert" and not _is_whole_block(code[start:end])):
            return False
    return True


def _is_whole_block(lines: Sequence[str]) -> bool:
    """A diff may show `});⏎it(…{` for `it(…{⏎});`: what is closed first may be opened last."""
    text = "\n".join(lines).strip()
    return text.count("{") == text.count("}") and text.count("(") == text.count(")") and _begins_like_a_test(text)


def _begins_like_a_test(text: str) -> bool:
    return bool(_OPENINGS.match(text.lstrip("})]; \n")))
