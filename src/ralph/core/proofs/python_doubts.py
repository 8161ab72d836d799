"""Python that cheats its tests, by its syntax: a value that equals everything, a function replaced in another module,
answers that are those of the tests."""

import ast
from collections.abc import Iterable, Iterator

MIN_LEARNED_ANSWERS = 2  # one table entry that a test also has is no wonder
KnownAnswer = tuple[tuple[object, ...], object]  # the arguments of a call, and what is expected of it


def describe_python_doubt(old: str, new: str) -> str:
    """What is in the new text and was not in the old one; empty where nothing is, or nobody can tell."""
    before, after = _parse(old), _parse(new)
    if after is None:
        return ""
    known = {*_list_doubts(before)} if before else set()
    return next((doubt for doubt in _list_doubts(after) if doubt not in known), "")


def find_answers(text: str) -> frozenset[KnownAnswer]:
    """What code knows by heart: tables and comparisons of constants with constants. Of tests: what they expect."""
    tree = _parse(text)
    return frozenset(_list_tables(tree)) if tree else frozenset()


def find_expectations(text: str) -> frozenset[KnownAnswer]:
    """Of a test file: calls with constants and what they are compared with; rows of tables, the last value."""
    tree = _parse(text)
    return frozenset(_list_expectations(tree)) if tree else frozenset()


def describe_learned_answers(old: str, new: str, expected: Iterable[frozenset[KnownAnswer]]) -> str:
    """Where all the new code knows is what tests ask. `expected` is asked for only where the code knows anything."""
    learned = find_answers(new) - find_answers(old)
    if len(learned) < MIN_LEARNED_ANSWERS or not learned <= frozenset().union(*expected):
        return ""
    return f"repeats {len(learned)} answers of the tests"


def _parse(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _list_doubts(tree: ast.Module) -> Iterator[str]:
    if any(map(_equals_everything, ast.walk(tree))):
        yield "has a value that equals everything: `__eq__`"
    imported = {name for node in ast.walk(tree) for name in _list_imported_names(node)}
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    for statement in tree.body:
        if target := _find_replaced_function(statement, imported, functions):
            yield f"replaces `{target}` when it is imported"


def _equals_everything(node: ast.AST) -> bool:
    """A comparison that always says yes, in a class or given to `type`."""
    match node:
        case ast.FunctionDef(name="__eq__", args=ast.arguments(args=[_, other])):
            return not any(isinstance(each, ast.Name) and each.id == other.arg for each in ast.walk(node))
        case ast.Dict(keys=keys, values=values):
            named = (value for key, value in zip(keys, values, strict=True) if _get_constant(key) == "__eq__")
            return any(_is_always_true(value) for value in named)
        case ast.Assign(targets=[ast.Name(id="__eq__") | ast.Attribute(attr="__eq__")], value=value):
            return _is_always_true(value)
        case _:
            return False


def _is_always_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Lambda) and _get_constant(node.body) is True


def _list_imported_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)


def _find_replaced_function(statement: ast.stmt, imported: set[str], functions: set[str]) -> str:
    """`calc.add` of `calc.add = lambda …`: a setting that is set is none, a function that is replaced is one."""
    match statement:
        case ast.Assign(targets=[ast.Attribute() as target], value=value) if _is_function(value, functions):
            return ast.unparse(target) if _get_root(target) in imported else ""
        case ast.Expr(value=ast.Call(func=ast.Name(id="setattr"), args=[target, name, value])) if _is_function(
            value, functions
        ):
            return f"{ast.unparse(target)}.{_get_constant(name)}" if _get_root(target) in imported else ""
        case _:
            return ""


def _is_function(value: ast.expr, functions: set[str]) -> bool:
    return isinstance(value, ast.Lambda) or (isinstance(value, ast.Name) and value.id in functions)


def _get_root(target: ast.expr) -> str:
    while isinstance(target, ast.Attribute):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def _list_tables(tree: ast.Module) -> Iterator[KnownAnswer]:
    for node in ast.walk(tree):
        match node:
            case ast.Dict(keys=keys, values=values):
                rows = [_read_row(key, value) for key, value in zip(keys, values, strict=True)]
                yield from [row for row in rows if row] if all(rows) else ()
            case ast.If(test=test, body=[ast.Return(value=ast.expr() as value)]):
                yield from filter(None, [_read_branch(test, value)])
            case ast.IfExp(test=test, body=value):
                yield from filter(None, [_read_branch(test, value)])
            case ast.match_case(pattern=pattern, body=[ast.Return(value=ast.expr() as value)]):
                yield from filter(None, [_read_row(_read_pattern(pattern), value)])
            case _:
                continue


def _read_pattern(pattern: ast.pattern) -> ast.expr | None:
    """`(2, 3)` of `case (2, 3):`"""
    match pattern:
        case ast.MatchValue(value=value):
            return value
        case ast.MatchSequence(patterns=parts):
            values = [_read_pattern(part) for part in parts]
            return ast.Tuple([value for value in values if value]) if all(values) else None
        case _:
            return None


def _read_row(key: ast.expr | None, value: ast.expr) -> KnownAnswer | None:
    arguments, answer = _read_constants(key), _read_constants(value)
    return (arguments, answer[0]) if arguments and answer and len(answer) == 1 else None


def _read_branch(test: ast.expr, value: ast.expr) -> KnownAnswer | None:
    """`if a == 2 and b == 3: return 5`, `if (a, b) == (2, 3): return 5`"""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    arguments: tuple[object, ...] = ()
    for part in parts:
        match part:
            case ast.Compare(ops=[ast.Eq()], comparators=[compared]) if found := _read_constants(compared):
                arguments += found
            case _:
                return None
    answer = _read_constants(value)
    return (arguments, answer[0]) if answer and len(answer) == 1 else None


def _list_expectations(tree: ast.Module) -> Iterator[KnownAnswer]:
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                yield from _read_expectation(left, right)
            case ast.Call(func=ast.Attribute(attr=name), args=[left, right, *_]) if "qual" in name:
                yield from _read_expectation(left, right)
            case ast.Tuple() | ast.List():
                values = _read_constants(node)
                if values and len(values) > 1:
                    yield values[:-1], values[-1]
            case _:
                continue


def _read_expectation(left: ast.expr, right: ast.expr) -> Iterator[KnownAnswer]:
    for call, expected in ((left, right), (right, left)):
        answer = _read_constants(expected)
        if isinstance(call, ast.Call) and answer and len(answer) == 1:
            arguments = [_read_constants(argument) for argument in call.args]
            if arguments and all(each and len(each) == 1 for each in arguments):
                yield tuple(each[0] for each in arguments if each), answer[0]


def _read_constants(node: ast.expr | None) -> tuple[object, ...] | None:
    """Of a constant or a row of them; None: it is something else."""
    if isinstance(node, ast.Tuple | ast.List):
        found = [_read_constants(each) for each in node.elts]
        return tuple(each[0] for each in found if each) if all(each and len(each) == 1 for each in found) else None
    try:
        value = ast.literal_eval(node) if isinstance(node, ast.Constant | ast.UnaryOp) else None
    except (ValueError, TypeError):
        return None
    return None if value is None else (value,)


def _get_constant(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None
