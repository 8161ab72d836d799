"""Values are passed by name: two that were swapped would say nonsense, and no type checker would see it."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ralph.model.spec import VerificationAttempt

ROOT = Path(__file__).parents[2]
MAX_FIELDS = 3  # of a struct that may be made by position
MAX_VALUES = 4  # that a call may pass by position

# None of these is on the hot path: made by name, a `Usage` costs 49 ns and not 46, a `ToolEnded` 61 and not 55.
POSITIONAL_STRUCTS = {
    "CompletionCriteria": "public Python API: the signature is given",
    "ExecutionResult": "public Python API: the signature is given",
    "RalphLoopConfig": "public Python API: the signature is given",
    "RalphLoopState": "public Python API: the signature is given",
    "Task": "public Python API: the signature is given",
    "TaskCompletionSpec": "public Python API: the signature is given",
}
FOREIGN_CALLEES = {
    "ctypes.CDLL(None).prctl": "a function of the C library",
    "datetime": "year, month, day, hour, minute: an order everybody knows",
    "shutil.ignore_patterns": "any number of patterns",
    "st.one_of": "any number of alternatives",
    "struct.pack": "as many values as its format has",
}
CALLS_BY_NAME = re.compile(r"\b(click|command|pytest|given)\b")  # decorators: what they wrap is called by name

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@cache
def nodes() -> list[tuple[str, ast.ClassDef | Function | ast.Call]]:
    """Every class and function of every file, and the calls that pass many values, with where each stands."""
    return [
        (f"{path.relative_to(ROOT)}:{node.lineno}", node)
        for top in ("src", "tests", "bench", "tools")
        for path in sorted((ROOT / top).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.ClassDef | Function) or (isinstance(node, ast.Call) and count_values(node) > MAX_VALUES)
    ]


def positional(function: Function) -> list[str]:
    """The parameters that can be given by position; `*words` is one value of any length, and not among them."""
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def takes_any_number(function: Function) -> bool:
    return function.args.vararg is not None


def count_values(call: ast.Call) -> int:
    """How many it passes by position, those of a starred tuple that stands there included."""
    return sum(
        len(each.value.elts) if isinstance(each, ast.Starred) and isinstance(each.value, ast.Tuple) else 1
        for each in call.args
    )


def called_name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def own_fields(node: ast.ClassDef) -> list[ast.AnnAssign]:
    return [each for each in node.body if isinstance(each, ast.AnnAssign) and "ClassVar" not in ast.unparse(each)]


def is_positional_struct(node: ast.ClassDef) -> bool:
    """Whether it has too many fields for a struct, named tuple or dataclass that is made by position."""
    made = [*node.bases, *node.decorator_list]
    kind = " ".join(ast.unparse(each) for each in made)
    words = [*node.keywords, *(word for each in made if isinstance(each, ast.Call) for word in each.keywords)]
    by_name = any(word.arg == "kw_only" for word in words)
    is_struct = bool(node.keywords) or re.search(r"\b(Struct|NamedTuple|dataclass)\b", kind) is not None
    return is_struct and not by_name and len(own_fields(node)) > MAX_FIELDS


def crowded(function: Function) -> bool:
    """Whether it could be called with too many values by position."""
    if len(positional(function)) <= MAX_VALUES:
        return False
    if isinstance(function, ast.Lambda):
        return True
    wrapped = any(CALLS_BY_NAME.search(ast.unparse(each)) for each in function.decorator_list)
    return not wrapped and not function.name.startswith("test_")


def variadic_names() -> set[str]:
    """Functions, and classes by their `__init__`, that take any number of values of one kind."""
    found: set[str] = set()
    for _, node in nodes():
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if takes_any_number(node):
                found.add(name)
            case ast.ClassDef(name=name, body=body):
                makers = [each for each in body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
                found.update(name for maker in makers if takes_any_number(maker))
            case _:
                pass
    return found


def first(source: str) -> Any:
    """The one statement, or the expression that it is."""
    statement = ast.parse(source).body[0]
    return statement.value if isinstance(statement, ast.Expr) else statement


def test_structs_of_many_fields_are_made_by_name() -> None:
    found = {
        node.name: place for place, node in nodes() if isinstance(node, ast.ClassDef) and is_positional_struct(node)
    }
    assert {name: place for name, place in found.items() if name not in POSITIONAL_STRUCTS} == {}
    assert sorted(POSITIONAL_STRUCTS.keys() - found.keys()) == []


def test_no_function_takes_many_values_by_position() -> None:
    functions = ((place, node) for place, node in nodes() if isinstance(node, Function))
    assert [place for place, function in functions if crowded(function)] == []


def test_no_call_passes_many_values_by_position() -> None:
    """With the rule above: what takes words of a command, or any number of one kind, takes them as one value."""
    words = variadic_names()
    found = [
        (f"{place}: {ast.unparse(node.func)}", node)
        for place, node in nodes()
        if isinstance(node, ast.Call) and called_name(node) not in words
    ]
    assert [place for place, call in found if ast.unparse(call.func) not in FOREIGN_CALLEES] == []
    assert sorted(FOREIGN_CALLEES.keys() - {ast.unparse(call.func) for _, call in found}) == []


def test_what_was_swapped_by_position_is_refused() -> None:
    values = (1, False, True, "no", "now")
    with pytest.raises(TypeError):
        VerificationAttempt(*values)  # type: ignore[call-arg]  # by position: that is the point


@pytest.mark.parametrize(
    ("source", "many"),
    [
        ("class A(Struct):\n a: int\n b: int\n c: int\n d: int", True),
        ("class A(Base, frozen=True):\n a: int\n b: int\n c: int\n d: int", True),
        ("class A(NamedTuple):\n a: int\n b: int\n c: int\n d: int", True),
        ("@dataclass(frozen=True)\nclass A:\n a: int\n b: int\n c: int\n d: int", True),
        ("@dataclass(kw_only=True)\nclass A:\n a: int\n b: int\n c: int\n d: int", False),
        ("class A(Struct, kw_only=True):\n a: int\n b: int\n c: int\n d: int", False),
        ("class A(Struct):\n a: int\n b: int\n c: int\n d: ClassVar[int]", False),
        ("class A(Protocol):\n a: int\n b: int\n c: int\n d: int", False),
    ],
)
def test_structs_are_told_apart(source: str, many: bool) -> None:
    assert is_positional_struct(first(source)) is many


@pytest.mark.parametrize(
    ("source", "many"),
    [
        ("def f(a, b, c, d, e): ...", True),
        ("def f(self, a, b, c, d): ...", False),
        ("def f(a, b, c, d, *, e): ...", False),
        ("def f(a, b, c, d, *words): ...", False),
        ("@click.command()\ndef f(a, b, c, d, e): ...", False),
        ("@cache\ndef f(a, b, c, d, e): ...", True),
        ("lambda a, b, c, d, e: 1", True),
    ],
)
def test_functions_are_told_apart(source: str, many: bool) -> None:
    assert crowded(first(source)) is many


@pytest.mark.parametrize(("source", "count"), [("f(1, 2, x=3)", 2), ("f(1, *(2, 3))", 3), ("f(1, *rest)", 2)])
def test_values_of_a_call_are_counted(source: str, count: int) -> None:
    assert count_values(first(source)) == count
