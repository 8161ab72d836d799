"""One name, one thing; one folder, one room."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "ralph"
MODULES = sorted(SOURCE.rglob("*.py"))
MAX_MODULES = 25  # of a folder, `__init__` apart
VERBS_LIKE_PARTICIPLES = {"feed", "listen", "open", "reopen", "shorten", "shutdown", "spawn"}
PARTICIPLE = re.compile(
    r"[a-z]+(?:ed|en|wn)|built|found|heard|held|kept|left|lent|made|said|sent|swept|told|understood"
)

SHARED_NAMES = {
    "CARD": "each agent's own card, read by the name of its module",
    "KIND": "the word each loop's runs are stored under",
    "TYPE_CHECKING": "type checkers know it by this name; a false one costs no import of typing",
    "VERIFIES": "each verifier's own sentence, read by the name of its module",
    "probe": "whether a sandbox works here, one function of each",
    "build": "the one function of every agent, guardrail and verifier",
    "command": "the one command of every module in faces/cli/commands",
    "configure_endpoint": "how each agent's own client is pointed at a model",
    "grant_permissions": "how each agent is told what it may do",
    "entry": "the console scripts of pyproject.toml",
    "sweep": "how each engine of containers removes what a killed run left",
    "main": "what a program of its own starts with",
}


def public_names(text: str) -> Iterator[str]:
    """What a module defines on top for others, imports apart."""
    return (name for name in top_names(ast.parse(text)) if not name.startswith("_"))


def top_names(module: ast.Module) -> Iterator[str]:
    for node in module.body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names = [name]
            case ast.Assign(targets=targets):
                names = [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names = [name]
            case _:
                names = []
        yield from names


def defined_twice() -> dict[str, list[str]]:
    homes: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        for name in set(public_names(path.read_text(encoding="utf-8"))):
            homes[name].append(str(path.relative_to(SOURCE)))
    return {name: found for name, found in sorted(homes.items()) if len(found) > 1}


def test_a_public_name_is_defined_in_one_module_only() -> None:
    assert {name: homes for name, homes in defined_twice().items() if name not in SHARED_NAMES} == {}


def test_every_shared_name_is_still_shared() -> None:
    assert sorted(SHARED_NAMES.keys() - defined_twice().keys()) == []


def test_names_are_found_however_they_are_defined() -> None:
    text = "A = B, C = 1, 2\nD: int = 3\nclass E: ...\ndef f(): x = 1\nasync def g(): ...\nimport h\n_I = 4\n"
    assert list(public_names(text)) == ["A", "B", "C", "D", "E", "f", "g"]


def test_no_folder_has_more_modules_than_fit_on_a_screen() -> None:
    folders: dict[str, int] = defaultdict(int)
    for path in MODULES:
        folders[str(path.parent.relative_to(ROOT))] += path.stem != "__init__"
    assert {folder: count for folder, count in folders.items() if count > MAX_MODULES} == {}


def is_found_by_name(node: ast.stmt) -> bool:
    """Whether a decorator hands it on: a command, a route."""
    return bool(getattr(node, "decorator_list", ()))


def unused_names(modules: dict[str, str], others: str = "") -> list[str]:
    """What a module defines on top and nobody mentions, not even the module itself."""
    mentions = Counter(re.findall(r"\w+", " ".join([*modules.values(), others])))
    found = []
    for name, text in modules.items():
        body = [node for node in ast.parse(text).body if not is_found_by_name(node)]
        defined = top_names(ast.Module(body=body, type_ignores=[]))
        found += [f"{name}: {each}" for each in defined if mentions[each] == 1 and not each.startswith("__")]
    return found


def test_whatever_is_defined_on_top_is_used() -> None:
    """By ralph itself: what only tests call serves nobody."""
    modules = {str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8") for path in MODULES}
    plugin = "".join(path.read_text() for path in (ROOT / "plugins").rglob("*.py") if path.name != "review.py")
    assert unused_names(modules, plugin) == []


def test_unused_names_are_found_private_ones_too() -> None:
    text = "A = 1\n_B = A\ndef c(): ...\n@command\ndef d(): ...\nclass E: ...\nE()\n"
    assert unused_names({"m": text}) == ["m: _B", "m: c"]
    assert unused_names({"m": text}, "c _B") == []


def test_every_room_has_its_tests() -> None:
    rooms = {path.parent.relative_to(SOURCE) for path in MODULES if path.stem != "__init__"}
    assert sorted(str(room) for room in rooms if not any((ROOT / "tests" / room).glob("**/test_*.py"))) == []


def bare_participles(text: str) -> list[str]:
    """Functions and methods whose name is one: `told`, `_resolved`. A property reads like a value, and may be."""
    body = ast.parse(text).body
    body += [node for each in body if isinstance(each, ast.ClassDef) for node in each.body]
    found = []
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            is_value = any("property" in ast.unparse(each) for each in node.decorator_list)
            word = node.name.strip("_")
            if not is_value and PARTICIPLE.fullmatch(word) and word not in VERBS_LIKE_PARTICIPLES:
                found.append(node.name)
    return found


def test_a_function_is_named_by_what_it_does() -> None:
    found = {str(path.relative_to(SOURCE)): bare_participles(path.read_text(encoding="utf-8")) for path in MODULES}
    assert {name: names for name, names in found.items() if names} == {}


def test_bare_participles_are_found_in_functions_and_methods_only() -> None:
    text = (
        "told = 1\n"
        "def found(): ...\ndef find(): ...\ndef open(): ...\ndef list_resolved(): ...\n"
        "class A:\n    def _resolved(self): ...\n    @property\n    def kept(self): ...\n"
    )
    assert bare_participles(text) == ["found", "_resolved"]
