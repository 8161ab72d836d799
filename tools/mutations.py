"""Small wrong changes to a module, one at a time: what its tests should notice."""

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

Node = ast.expr | ast.stmt
Swap = dict[type[ast.AST], type[ast.AST]]
COMPARISONS: Swap = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS: Swap = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
MAX_NUMBER = 10  # larger ones are sizes and times: one more or less is all the same
ALIKE = (ast.Name, ast.Attribute, ast.Constant)  # two of one of these may well be of one type


@dataclass(frozen=True)
class Mutant:
    """The whole module with one change, and what that is."""

    line: int
    change: str
    source: str


def mutate(source: str) -> Iterator[Mutant]:
    """Every mutant, in the order of the lines."""
    tree = ast.parse(source)
    quiet = set(_untold(tree))
    nodes = [node for node in ast.walk(tree) if node not in quiet]
    found: list[tuple[Node, ast.AST]] = []
    for node in nodes:
        found += [(test, _negated(test)) for test in _questions(node)]
        if isinstance(node, Node):
            found += [(node, new) for new in _changes(node)]
    found.sort(key=lambda pair: (pair[0].lineno, pair[0].col_offset))
    for place, new in found:
        old, text = ast.unparse(place), ast.unparse(new)
        if text != old:
            yield Mutant(place.lineno, f"{_one_line(old)}  →  {_one_line(text)}", _replaced(source, place, text))


def _untold(tree: ast.AST) -> Iterator[ast.AST]:
    """What no test can see: annotations, decorators, settings of classes, aliases of types."""
    for node in ast.walk(tree):
        hidden: list[ast.AST | None] = []
        match node:
            case ast.FunctionDef(returns=returns, decorator_list=decorators):
                hidden = [returns, *decorators]
            case ast.ClassDef(keywords=keywords):
                hidden = [*keywords]
            case ast.arg(annotation=annotation) | ast.AnnAssign(annotation=annotation):
                hidden = [annotation]
            case ast.Assign(value=ast.Subscript() as alias):  # Name = Literal[…]
                hidden = [alias]
            case ast.JoinedStr():
                hidden = [each for each in node.values if isinstance(each, ast.Constant)]
            case _:
                pass
        for each in hidden:
            yield from ast.walk(each) if each is not None else ()


def _questions(node: ast.AST) -> Iterator[ast.expr]:
    """What is asked without a comparison: those have their own changes."""
    match node:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) | ast.match_case(guard=ast.expr() as test):
            if isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.NamedExpr):
                yield test
        case _:
            pass


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(op=ast.Not(), operand=test)


def _changes(node: Node) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(ops=[op]):
            yield _with(node, lambda new: setattr(new, "ops", [COMPARISONS[type(op)]()]))
        case ast.BoolOp(op=op):
            yield _with(node, lambda new: setattr(new, "op", ast.Or() if isinstance(op, ast.And) else ast.And()))
            for place in range(len(node.values)):
                rest = [value for number, value in enumerate(node.values) if number != place]
                yield rest[0] if len(rest) == 1 else _with(node, lambda new, rest=rest: setattr(new, "values", rest))
        case ast.BinOp(op=op) if type(op) in OPERATORS:
            yield _with(node, lambda new: setattr(new, "op", OPERATORS[type(op)]()))
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            yield inner
        case ast.Constant(value=bool(value)):
            yield ast.Constant(value=not value)
        case ast.Constant(value=int(value) | float(value)) if value <= MAX_NUMBER:
            yield ast.Constant(value=value + 1)
            if value:
                yield ast.Constant(value=value - 1)
        case ast.Call():
            yield from _calls(node)
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case _:
            pass


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    """Neighbours change places, a named value is forgotten."""
    for left in range(len(node.args) - 1):
        if _alike(node.args[left], node.args[left + 1]):
            yield _with(node, lambda new, left=left: _swap(new.args, left))
    named = [(place, each) for place, each in enumerate(node.keywords) if each.arg]
    for (left, one), (_, other) in pairwise(named):
        if _alike(one.value, other.value):
            yield _with(node, lambda new, left=left: _swap_values(new.keywords, left))
    for place, _ in named:
        yield _with(node, lambda new, place=place: new.keywords.pop(place))


def _alike(one: ast.expr, other: ast.expr) -> bool:
    if isinstance(one, ast.Constant) and isinstance(other, ast.Constant):
        return type(one.value) is type(other.value)
    return any(isinstance(one, kind) and isinstance(other, kind) for kind in ALIKE)


def _swap(values: list[ast.expr], left: int) -> None:
    values[left], values[left + 1] = values[left + 1], values[left]


def _swap_values(keywords: list[ast.keyword], left: int) -> None:
    one, other = keywords[left], keywords[left + 1]
    one.value, other.value = other.value, one.value


def _with(node: ast.AST, change: Callable[..., object]) -> ast.AST:
    new = copy.deepcopy(node)
    change(new)
    return new


def _replaced(source: str, node: Node, text: str) -> str:
    """The source with other text where the node was; in parentheses, so that it binds as it did."""
    lines = source.encode().splitlines(keepends=True)
    start = len(b"".join(lines[: node.lineno - 1])) + node.col_offset
    end = len(b"".join(lines[: (node.end_lineno or 0) - 1])) + (node.end_col_offset or 0)
    new = f"({text})" if isinstance(node, ast.expr) else text
    whole = b"".join(lines)
    return (whole[:start] + new.encode() + whole[end:]).decode()


def _one_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 90 else f"{text[:89]}…"
