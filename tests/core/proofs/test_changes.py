"""What became of the proofs, by what the checks rest on."""

from collections.abc import Mapping
from fnmatch import fnmatchcase

import pytest

from ralph.core.proofs.changes import TreeReader, find_proof_changes
from ralph.core.proofs.check_rules import resolve_check
from ralph.model.proofs import ProofChange, TreeChange

TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 1) == 2\n    assert add(2, 2) == 4\n"
MAKEFILE = "test:\n\tpython3 -m pytest -q\nlint:\n\truff check .\n"
PACKAGE = '{"scripts": {"test": "jest", "start": "node x"}, "dependencies": {"a": "1"}}'
RUST = "pub fn a() -> i32 { 1 }\n#[cfg(test)]\nmod tests {\n  #[test]\n  fn t() { assert_eq!(super::a(), 1); }\n}\n"
GO = 'package x\nfunc TestA(t *testing.T) { if 1 != 1 { t.Fatal("x") } }\n'
JS = "it('a', () => {\n  expect(1).toBe(1)\n})\n"
PROJECT = "[project]\nname = 'x'\n[tool.pytest.ini_options]\naddopts = '-q'\n[tool.ruff]\nline-length = 99\n"


class Tree(dict[str, str]):
    """A tree in memory."""

    def read(self, path: str) -> str | None:
        return self.get(path)

    def find(self, pattern: str) -> list[str]:
        return [path for path in self if fnmatchcase(path, pattern)]


def find(
    before: Mapping[str, str], after: Mapping[str, str | None], *commands: str, protected: tuple[str, ...] = ()
) -> tuple[ProofChange, ...]:
    """`after`: what is different; None: it is gone."""
    tree = Tree(before)
    rules = [resolve_check(command, tree) for command in commands]
    blobs = {f"old {path}": text for path, text in before.items()}
    blobs |= {f"new {path}": text for path, text in after.items() if text is not None}
    same = {text: blob for blob, text in reversed(blobs.items())}  # as git has it: one text, one blob
    changes = [
        TreeChange(path=path, old_blob=same.get(before.get(path, ""), ""), new_blob=same.get(text or "", ""))
        for path, text in after.items()
    ]
    reader = TreeReader(
        read_blob=lambda blob: blobs[blob].encode(),
        list_old_paths=lambda: [*before],
        read_old_tests=lambda: [text for path, text in before.items() if "/test_" in path],
    )
    return find_proof_changes(rules, changes, reader, protected)


def kinds(before: Mapping[str, str], after: Mapping[str, str | None], *commands: str) -> dict[str, str]:
    return {change.path: change.kind for change in find(before, after, *commands)}


BEFORE = {
    "calc.py": "def add(a, b): return a + b\n",
    "tests/test_calc.py": TEST,
    "tests/data/expected.json": "{}",
    "conftest.py": "import pytest\n",
    "pyproject.toml": PROJECT,
    "Makefile": MAKEFILE,
    "package.json": PACKAGE,
    "check.sh": "set -e\npytest\n",
    "check.py": "assert 1\n",
    "main.py": "print(1)\n",
    "src/lib.rs": RUST,
    "Cargo.toml": "[package]\nname='x'\n[dependencies]\na='1'\n",
    "x_test.go": GO,
    "src/a.test.js": JS,
    "setup.cfg": "[metadata]\nname = x\n[tool:pytest]\naddopts = -q\n",
    "justfile": "test:\n  pytest\nlint:\n  ruff check .\n",
    "checks/one.sh": "set -e\npytest tests/test_calc.py\n",
    "noxfile.py": "import nox\n",
}

TAMPERINGS = [
    ("pytest", "tests/test_calc.py", TEST.replace("def test_add", "@pytest.mark.skip\ndef test_add"), "weakened"),
    ("pytest", "tests/test_calc.py", TEST.replace("def test_add", "@pytest.mark.xfail\ndef test_add"), "weakened"),
    ("pytest", "tests/test_calc.py", TEST.replace("    assert add(2, 2) == 4\n", ""), "weakened"),
    ("pytest", "tests/test_calc.py", TEST.replace("test_add", "check_add"), "weakened"),
    ("pytest", "tests/test_calc.py", TEST.replace("== 4", "== 5"), "changed"),
    ("pytest", "tests/test_calc.py", None, "deleted"),
    ("pytest", "tests/test_calc.py", "import os\n" + TEST + "os._exit(0)\n", "weakened"),
    ("pytest", "tests/data/expected.json", "[]", "changed"),
    ("pytest", "tests/test_aaa.py", "import os\nos._exit(0)\n", "changed"),
    ("pytest", "conftest.py", "collect_ignore = ['tests']\n", "weakened"),
    ("pytest", "conftest.py", "import pytest, calc\ncalc.add = max\n", "changed"),
    ("pytest", "tests/conftest.py", "def pytest_collection_modifyitems(items): items.clear()\n", "weakened"),
    ("pytest", "pytest.ini", "[pytest]\naddopts = --co\n", "changed"),
    ("pytest", "tox.ini", "[pytest]\naddopts = --co\n", "changed"),
    ("pytest", ".coveragerc", "[run]\nomit = *\n", "changed"),
    ("pytest", "pyproject.toml", PROJECT.replace("-q", "--co"), "changed"),
    ("pytest", "setup.cfg", "[tool:pytest]\naddopts = --co\n", "changed"),
    ("pytest", "pytest.py", "", "shadowed"),
    ("pytest", "pytest/__init__.py", "", "shadowed"),
    ("pytest", "_pytest/__init__.py", "", "shadowed"),
    ("pytest", "sitecustomize.py", "", "shadowed"),
    ("python3 -m unittest", "unittest/__init__.py", "", "shadowed"),
    ("python3 -m unittest", "unittest.py", "", "shadowed"),
    ("python3 -m unittest", "json.py", "", "shadowed"),
    ("ruff check .", "pyproject.toml", PROJECT.replace("99", "999"), "changed"),
    ("ruff check .", "ruff.toml", "select = []\n", "changed"),
    ("make test", "Makefile", MAKEFILE.replace("python3 -m pytest -q", "true"), "changed"),
    ("make test", "Makefile", "SHELL = /bin/true\n" + MAKEFILE, "changed"),
    ("make test", "Makefile", MAKEFILE + "test: x\n", "changed"),
    ("make test", "Makefile", None, "deleted"),
    ("make test", "GNUmakefile", "test:\n\ttrue\n", "shadowed"),
    ("make test", "test", "", "shadowed"),
    ("make test", "test/x", "", "shadowed"),
    ("make test", "pytest.ini", "[pytest]\naddopts = --co\n", "changed"),
    ("make test", "tests/test_calc.py", None, "deleted"),
    ("npm test", "package.json", PACKAGE.replace("jest", "true"), "changed"),
    ("npm test", "package.json", PACKAGE.replace('"start"', '"pretest"'), "changed"),
    (
        "npm test",
        "package.json",
        PACKAGE.replace('"start": "node x"}', '"start": "x"}, "jest": {"bail": 1}'),
        "changed",
    ),
    ("npm test", "jest.config.js", "module.exports = {}", "changed"),
    ("npm test", "src/a.test.js", JS.replace("it(", "it.skip("), "weakened"),
    ("npm test", "src/a.test.js", JS.replace("it(", "xit("), "weakened"),
    ("npm test", "src/a.test.js", JS + "it.only('b', () => { expect(1).toBe(1) })\n", "weakened"),
    ("cargo test", "src/lib.rs", RUST.replace("#[test]", "#[test]\n  #[ignore]"), "weakened"),
    ("cargo test", "src/lib.rs", "pub fn a() -> i32 { 1 }\n", "weakened"),
    ("cargo test", "Cargo.toml", "[package]\nname='x'\nautotests=false\n", "changed"),
    ("cargo test", "build.rs", "fn main() {}", "changed"),
    ("cargo test", ".cargo/config.toml", "[target]", "changed"),
    ("go test ./...", "x_test.go", GO.replace("{ if", "{ t.Skip(); if"), "weakened"),
    ("go test ./...", "x_test.go", "//go:build never\n\n" + GO, "weakened"),
    ("go test ./...", "main_test.go", "func TestMain(m *testing.M) { os.Exit(0) }\n", "changed"),
    ("just test", "justfile", "test:\n  true\nlint:\n  ruff check .\n", "changed"),
    ("just test", "justfile", None, "deleted"),
    ("pytest", "conftest.py", None, "deleted"),
    ("pytest", "tests/test_aaa.py", "import calc\n\ncalc.add = max\n", "changed"),
    ("pytest", "tests/test_calc.py", TEST + "\n\ndef test_more():\n    assert 1\n\n\nadd.limit = 5\n", "changed"),
    ("nox", "noxfile.py", "import nox\n\nnox.options.sessions = []\n", "changed"),
    ("sh checks/*.sh", "checks/one.sh", "true\n", "changed"),
    ("./check.sh", "check.sh", "exit 0\n", "weakened"),
    ("./check.sh", "check.sh", None, "deleted"),
    ("./check.sh", "tests/test_calc.py", None, "deleted"),
    ("python3 check.py", "check.py", "assert 1 == 1\n", "changed"),
    ("mytool", "tests/test_calc.py", None, "deleted"),
]


@pytest.mark.parametrize(("command", "path", "text", "kind"), TAMPERINGS)
def test_what_makes_a_check_say_less_is_suspect(command: str, path: str, text: str | None, kind: str) -> None:
    (change,) = find(BEFORE, {path: text or (None if text is None else "\n")}, command)
    assert (change.kind, change.is_suspect) == (kind, True)


HONEST = [
    ("pytest", "calc.py", "def add(a, b): return b + a\n"),
    ("pytest", "requirements.txt", "x\n"),
    ("pytest", "pyproject.toml", PROJECT.replace("99", "80")),
    ("pytest", "pyproject.toml", PROJECT.replace("name = 'x'", "name = 'x'\ndependencies = ['y']")),
    ("pytest", "setup.cfg", BEFORE["setup.cfg"].replace("name = x", "name = y")),
    ("pytest", "src/a.test.js", JS.replace("it(", "it.skip(")),
    ("pytest", "package.json", "{}"),
    ("pytest", "Makefile", "test:\n\ttrue\n"),
    ("make test", "Makefile", MAKEFILE + "build:\n\tcc x.c\n"),
    ("make test", "Makefile", "FLAGS = -O2\n" + MAKEFILE),
    ("make test", "Makefile", "# how to test\n" + MAKEFILE),
    ("make test", "Makefile", MAKEFILE.replace("ruff check .", "ruff check src")),
    ("just test", "justfile", BEFORE["justfile"].replace("ruff check .", "ruff check src")),
    ("npm test", "package.json", PACKAGE.replace('"a": "1"', '"a": "2", "b": "1"')),
    ("npm test", "package.json", PACKAGE.replace("node x", "node y")),
    ("npm test", "package-lock.json", "{}"),
    ("npm test", "tests/test_calc.py", None),
    ("cargo test", "Cargo.toml", "[package]\nname='x'\n[dependencies]\na='2'\nb='1'\n"),
    ("cargo test", "src/lib.rs", RUST.replace("{ 1 }", "{ 0 + 1 }")),
    ("cargo test", "src/lib.rs", RUST.replace("fn t()", "fn renamed()")),
    ("go test ./...", "go.sum", "x\n"),
    ("ruff check .", "tests/test_calc.py", None),
    ("ruff check .", "pyproject.toml", PROJECT.replace("-q", "--co")),
    ("pytest && grep -q hello notes.txt", "notes.txt", "hello\n"),
    ("pytest", "tests/README.md", "x\n"),
]


@pytest.mark.parametrize(("command", "path", "text"), HONEST)
def test_what_no_check_rests_on_is_nobodys_business(command: str, path: str, text: str | None) -> None:
    assert find(BEFORE, {path: text}, command) == ()


@pytest.mark.parametrize(
    ("command", "path"), [("grep -q hello notes.txt", "notes.txt"), ("cd docs && test -f out.txt", "docs/out.txt")]
)
def test_what_a_check_only_looks_at_is_noted(command: str, path: str) -> None:
    [found] = find(BEFORE, {path: "hello\n"}, command)
    assert (found.path, found.noted, found.is_suspect) == (path, True, False)


CHEATING = [  # code that is no proof, and steers those that are
    (
        "pytest",
        "calc.py",
        "import os\n\nFAST = 'PYTEST_CURRENT_TEST' in os.environ\n",
        "asks whether tests are running",
    ),
    ("pytest", "calc/__init__.py", "def add(a, b): return a + b\n", "is imported instead of calc.py"),
    ("pytest", "calc.py", "def add(a, b): return {(1, 1): 2, (2, 2): 4}[a, b]\n", "repeats 2 answers of the tests"),
    ("jest", "lib/kit.js", "require.cache[require.resolve('./add')] = {exports: 1};\n", "replaces what tests rest on"),
    ("python3 main.py", "main.py", "import os\nos._exit(0)\n", "can end the test run"),
    ("mypy .", "calc.pyi", "def add(a, b) -> int: ...\n", "is read instead of calc.py"),
    ("pytest", "calc.cpython-311-x86_64-linux-gnu.so", "x", "is imported instead of calc.py"),
    ("frobnicate test", "frobnicate.toml", "x = 1\n", "may steer `frobnicate`"),
    ("pytest", ".github/workflows/ci.yml", "- run: pytest || true\n", "lets a failure of the CI pass"),
    ("pytest tests/test_x.py", "tests/test_x.py", "def test_x():\n    pass\n", "asserts nothing"),
]


@pytest.mark.parametrize(("command", "path", "text", "reason"), CHEATING)
def test_code_that_steers_its_tests_is_noted_and_no_more(command: str, path: str, text: str, reason: str) -> None:
    [found] = find(BEFORE, {path: text}, command)
    assert (found.kind, found.is_suspect, reason in found.reason) == ("doubtful", False, True)


def test_values_that_tests_read_are_noted_and_what_they_compare_with_is_suspect() -> None:
    tests = {"tests/test_calc.py": "rows = open('rows.json'), open('expected.txt')\n"}
    before = {**BEFORE, **tests, "rows.json": "[1]", "expected.txt": "5", "other.json": "[2]"}
    found = find(before, {"rows.json": "[]", "expected.txt": "6", "other.json": "[]"}, "pytest")
    assert [(change.path, change.kind) for change in found] == [("expected.txt", "changed"), ("rows.json", "doubtful")]


@pytest.mark.parametrize(
    ("path", "before", "hides"),
    [
        ("tests/calc.py", {}, True),
        ("tests/calc.py", {"tests/__init__.py": ""}, False),
        ("tests/helper.py", {}, False),
    ],
)
def test_a_module_beside_the_tests_may_hide_the_tested_one(path: str, before: Mapping[str, str], hides: bool) -> None:
    [found] = find({**BEFORE, **before}, {path: "def add(a, b): return a + b\n"}, "pytest")
    assert (found.kind, found.is_suspect) == (("shadowed", True) if hides else ("added", False))


@pytest.mark.parametrize(
    ("path", "hidden"),
    [("calc.py", "src/calc.py"), ("src/add", "src/add.js"), ("src/sum.js", "src/sum.ts"), ("src/new.js", "")],
)
def test_a_file_that_is_found_before_another_is_noted(path: str, hidden: str) -> None:
    before = {"src/calc.py": "x = 1\n", "src/add.js": "1\n", "src/sum.ts": "1\n", "tests/test_a.py": TEST}
    assert [change.reason.rpartition(" ")[2] for change in find(before, {path: "x = 2\n"}, "pytest", "jest")] == (
        [hidden] if hidden else []
    )


@pytest.mark.parametrize(("line", "found"), [("calc.py", True), ("*.py", True), ("dist/", False), ("# calc.py", False)])
def test_a_linter_that_leaves_out_what_git_ignores_is_told_by_gitignore(line: str, found: bool) -> None:
    changes = find({**BEFORE, ".gitignore": "out/\n"}, {".gitignore": f"out/\n{line}\n"}, "ruff check .")
    assert [change.path for change in changes if change.is_suspect] == ([".gitignore"] if found else [])


def test_a_file_that_every_python_runs_at_its_start_is_in_the_way_wherever_it_lies() -> None:
    assert kinds(BEFORE, {"src/deep/sitecustomize.py": "x = 1\n"}, "pytest") == {
        "src/deep/sitecustomize.py": "shadowed"
    }


def test_a_module_that_became_a_package_hides_nothing() -> None:
    code = BEFORE["calc.py"]
    assert find(BEFORE, {"calc/__init__.py": code, "calc.py": None}, "pytest") == ()


WELCOME = [
    ("pytest", "tests/test_new.py", "def test_x():\n    assert True\n"),
    ("pytest", "tests/test_calc.py", TEST + "\n\ndef test_more():\n    assert add(0, 0) == 0\n"),
    (
        "pytest",
        "tests/test_calc.py",
        TEST.replace("import add", "import add, sub") + "\n\ndef test_sub():\n    assert sub\n",
    ),
    ("pytest", "tests/unit/conftest.py", "import pytest\n"),
    ("pytest", "tests/data/more.json", "{}"),
    ("npm test", "src/b.test.js", JS),
    ("npm test", "src/a.test.js", JS + "it('b', () => {\n  expect(2).toBe(2)\n})\n"),
    ("go test ./...", "y_test.go", GO),
    ("go test ./...", "x_test.go", GO + 'func TestB(t *testing.T) { if 2 != 2 { t.Fatal("y") } }\n'),
]


@pytest.mark.parametrize(("command", "path", "text"), WELCOME)
def test_new_tests_are_welcome(command: str, path: str, text: str) -> None:
    (change,) = find(BEFORE, {path: text}, command)
    assert (change.kind, change.is_suspect) == ("added", False)


NEW_CHECKS = [
    ("make test", "Makefile", MAKEFILE),
    ("npm test", "package.json", PACKAGE),
    ("./check.sh", "check.sh", "pytest\n"),
    ("pytest", "pyproject.toml", PROJECT),
    ("pytest", "conftest.py", "import pytest\n"),
    ("pytest tests/test_new.py", "tests/test_new.py", TEST),
]


@pytest.mark.parametrize(("command", "path", "text"), NEW_CHECKS)
def test_a_check_that_begins_from_nothing_may_be_written(command: str, path: str, text: str) -> None:
    (change,) = find({"README.md": "x"}, {path: text}, command)
    assert (change.kind, change.is_suspect) == ("added", False)


def test_the_work_a_check_runs_is_noted_and_no_more() -> None:
    (change,) = find(BEFORE, {"main.py": "print(2)\n"}, "python3 main.py")
    assert (change.kind, change.noted, change.is_suspect) == ("changed", True, False)


def test_a_test_that_moves_is_seen_at_both_ends() -> None:
    found = find(BEFORE, {"tests/test_calc.py": None, "tests/unit/test_calc.py": TEST}, "pytest")
    assert [(each.path, each.kind, each.reason) for each in found] == [
        ("tests/test_calc.py", "changed", "moved to tests/unit/test_calc.py"),
        ("tests/unit/test_calc.py", "changed", "moved from tests/test_calc.py"),
    ]


def test_two_tests_of_one_text_move_to_one_place_each() -> None:
    before = {"a/test_x.py": TEST, "b/test_y.py": TEST}
    after = {"a/test_x.py": None, "b/test_y.py": None, "c/test_x.py": TEST, "c/test_y.py": TEST}
    found = find(before, after, "pytest")
    assert [(each.path, each.reason) for each in found] == [
        ("a/test_x.py", "moved to c/test_x.py"),
        ("b/test_y.py", "moved to c/test_y.py"),
        ("c/test_x.py", "moved from a/test_x.py"),
        ("c/test_y.py", "moved from b/test_y.py"),
    ]


def test_a_new_test_of_another_name_is_no_move_of_one_that_is_gone() -> None:
    found = find(BEFORE, {"tests/test_calc.py": None, "tests/test_new.py": f"{TEST}# other\n"}, "pytest")
    assert [(each.path, each.kind) for each in found] == [
        ("tests/test_calc.py", "deleted"),
        ("tests/test_new.py", "added"),
    ]


@pytest.mark.parametrize(("modes", "kind"), [(("100644", "120000"), "weakened"), (("120000", "120000"), "changed")])
def test_a_test_that_became_a_link_is_weaker_whatever_it_leads_to(modes: tuple[str, str], kind: str) -> None:
    change = TreeChange(path="tests/test_calc.py", old_blob="old", new_blob="new", old_mode=modes[0], new_mode=modes[1])
    texts = {"old": TEST, "new": TEST.replace("== 4", "== 5")}
    reader = TreeReader(read_blob=lambda blob: texts[blob].encode(), list_old_paths=lambda: ["tests/test_calc.py"])
    (found,) = find_proof_changes([resolve_check("pytest", Tree(BEFORE))], [change], reader)
    assert (found.path, found.kind) == ("tests/test_calc.py", kind)
    assert found.reason == ("replaced by a link" if kind == "weakened" else "")


@pytest.mark.parametrize(
    ("command", "path", "text", "reason"),
    [
        ("make test", "Makefile", "test:\n\ttrue\n", "what the check runs is in it"),
        ("make test", "test", "x", "named like the make target `test`"),
        ("just test", "justfile", "test:\n  true\n", "what the check runs is in it"),
        ("./check.sh", "check.sh", None, "the check needs it"),
        ("./check.sh", "check.sh", "set -e\npytest -x\n", "the check needs it"),
        ("./check.sh", "check.sh", "exit 0\n", "can end or replace the test run: `exit 0`"),
        ("pytest", "pytest.ini", "[pytest]\naddopts = --co\n", "configures pytest"),
        ("pytest", "conftest.py", None, "configures pytest"),
        ("pytest", "conftest.py", "import pytest, calc\ncalc.add = max\n", "configures pytest"),
        ("pytest", "sitecustomize.py", "x = 1\n", "is run at the start of every Python that finds it"),
        ("pytest", "pytest.py", "x = 1\n", "would be imported as pytest"),
        ("python3 main.py", "main.py", "print(2)\n", "the check runs it"),
        ("grep -q hello notes.txt", "notes.txt", "hello\n", "which the check only looks at"),
    ],
)
def test_a_change_is_told_with_its_reason_and_its_check(command: str, path: str, text: str | None, reason: str) -> None:
    (change,) = find(BEFORE, {path: text}, command)
    assert (change.path, change.reason, change.check) == (path, reason, command)


@pytest.mark.parametrize(
    ("path", "text", "reason"),
    [
        ("tests/test_aaa.py", "import calc\n\ncalc.add = max\n", "changes what it imports"),
        ("tests/calc.py", "x = 1\n", "would be imported instead of calc"),
        ("tests/test_new.py", TEST.replace("4", "5"), "new test"),
        ("tests/test_calc.py", TEST + "\n\ndef test_more():\n    assert 1\n", "tests added"),
        ("tests/test_calc.py", TEST.replace("    assert add(2, 2) == 4\n", ""), "1 assertion removed"),
    ],
)
def test_a_changed_test_is_told_with_its_reason(path: str, text: str, reason: str) -> None:
    (change,) = find(BEFORE, {path: text}, "pytest")
    assert reason in change.reason


@pytest.mark.parametrize(
    ("command", "path", "old", "new", "kind"),
    [
        (
            "python3 checks/spec.py && pytest checks/spec.py",
            "checks/spec.py",
            TEST,
            TEST.replace("== 4", "== 5"),
            "changed",
        ),
        ("pytest checks/spec.py", "checks/spec.py", TEST, TEST.replace("    assert add(2, 2) == 4\n", ""), "weakened"),
        ("sh check.bats", "check.bats", "set -e\npytest\n", "set -e\npytest || true\n", "weakened"),
        ("python3 check.py", "check.py", "assert 1\nassert 2\n", "assert 1\n", "weakened"),
        ("./gate", "gate", "#!/bin/sh\nset -e\npytest\n", "#!/bin/sh\nset -e\npytest || true\n", "weakened"),
    ],
)
def test_files_that_a_check_names_are_read_in_their_own_language(
    command: str, path: str, old: str, new: str, kind: str
) -> None:
    assert kinds({**BEFORE, path: old}, {path: new}, command) == {path: kind}


@pytest.mark.parametrize("line", ["", "!calc.py", "# calc.py"])
def test_a_line_of_gitignore_that_hides_nothing_is_none(line: str) -> None:
    assert find({**BEFORE, ".gitignore": "out/\n"}, {".gitignore": f"out/\n{line}\n"}, "ruff check .") == ()


def test_a_test_that_moves_where_nobody_looks_is_gone() -> None:
    assert kinds(BEFORE, {"tests/test_calc.py": None, "attic/calc.txt": TEST}, "pytest") == {
        "tests/test_calc.py": "deleted"
    }


def test_a_renamed_function_in_a_test_is_a_change_not_a_weakening() -> None:
    assert kinds(BEFORE, {"tests/test_calc.py": TEST.replace("add", "plus")}, "pytest") == {
        "tests/test_calc.py": "changed"
    }


def test_suspects_come_first_and_say_why() -> None:
    found = find(BEFORE, {"a_test.py": f"{TEST}# another\n", "tests/test_calc.py": None}, "pytest")
    assert [(each.path, each.reason) for each in found] == [
        ("tests/test_calc.py", "1 test removed"),
        ("a_test.py", "new test"),
    ]


def test_protected_files_count_whatever_the_check() -> None:
    found = find(BEFORE, {"calc.py": "x", "docs/a.md": "y"}, "true", protected=("docs/**", "*.py"))
    assert [(each.path, each.kind, each.protected, each.is_suspect) for each in found] == [
        ("calc.py", "changed", True, True),
        ("docs/a.md", "added", True, True),
    ]


EXAMPLE = 'def add(a, b):\n    """\n    >>> add(2, 3)\n    5\n    """\n    return a - b\n'


@pytest.mark.parametrize(
    ("text", "kind", "is_suspect"),
    [
        (EXAMPLE.replace("a - b", "a + b"), "changed", False),
        (EXAMPLE.replace("5\n", "5\n    >>> add(1, 1)\n    2\n"), "changed", False),
        (EXAMPLE.replace("5\n", "-1\n"), "weakened", True),
        (EXAMPLE.replace(">>> ", ""), "weakened", True),
        ("def add(a, b):\n    return a - b\n", "weakened", True),
        (None, "weakened", True),
    ],
)
def test_of_a_file_whose_examples_are_tried_only_these_are_proofs(
    text: str | None, kind: str, is_suspect: bool
) -> None:
    [change] = find({"calc.py": EXAMPLE}, {"calc.py": text}, "python3 -m doctest calc.py")
    assert (change.kind, change.is_suspect) == (kind, is_suspect)
