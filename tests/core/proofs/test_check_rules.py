"""From a check's command to what it rests on."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.proofs.check_rules import ANY_FOLDER, ANY_LANGUAGE, CheckRules, resolve_check


class Tree(dict[str, str]):
    """A tree in memory."""

    def read(self, path: str) -> str | None:
        return self.get(path)

    def find(self, pattern: str) -> list[str]:
        return [path for path in self if fnmatchcase(path, pattern)]


MAKEFILE = "PY = python3\ntest: unit\n\t$(PY) -m pytest -q\nunit:\n\t./scripts/unit.sh\nlint:\n\truff check .\n"
PACKAGE = '{"scripts": {"test": "jest --ci", "pretest": "npm run lint", "lint": "eslint .", "e2e": "bash e2e.sh"}}'
TREE = Tree(
    {
        "Makefile": MAKEFILE,
        "package.json": PACKAGE,
        "check.sh": "#!/bin/sh\nset -e\ncd sub\ngo test ./...\n",
        "check.py": "import subprocess\nsubprocess.run(['pytest'])\n",
        "main.py": "print(4)\n",
        "justfile": "py := 'python3'\ntest: build\n  {{py}} -m pytest\nbuild:\n  cargo build\n",
        "scripts/unit.sh": "vendor/bin/phpunit\n",
    }
)


def resolve(command: str) -> CheckRules:
    return resolve_check(command, TREE)


@pytest.mark.parametrize(
    ("command", "runners"),
    [
        ("pytest", ["pytest"]),
        ("make test", ["pytest", "phpunit"]),
        ("make lint", ["ruff"]),
        ("make -C . lint", ["ruff"]),
        ("make -f Makefile lint", ["ruff"]),
        ("make", ["pytest", "phpunit"]),
        ("npm test", ["eslint", "jest", "npm"]),
        ("npm run lint", ["eslint", "npm"]),
        ("yarn lint", ["eslint", "npm"]),
        ("pnpm run test", ["eslint", "jest", "npm"]),
        ("yarn jest", ["jest"]),
        ("./check.sh", ["go"]),
        ("python3 check.py", ["pytest"]),
        ("just test", ["pytest", "cargo"]),
        ("just", ["pytest", "cargo"]),
        ("bash -c 'make lint && npm run lint'", ["ruff", "eslint", "npm"]),
        ("grep -q hello notes.txt", []),
        ("test -f out.txt", []),
    ],
)
def test_a_check_is_followed_to_its_runners(command: str, runners: list[str]) -> None:
    assert sorted(resolve(command).runners) == sorted(runners)


@pytest.mark.parametrize(
    ("command", "languages"),
    [
        ("pytest", ["python"]),
        ("cargo test", ["rust"]),
        ("cargo clippy -- -D warnings", []),
        ("go vet ./...", []),
        ("ruff check .", []),
        ("tsc --noEmit", []),
        ("mytool verify", ["any"]),
        ("grep -q x y.txt", []),
        ("npm test --workspaces", ["javascript"]),
    ],
)
def test_only_the_tests_a_check_runs_are_proofs(command: str, languages: list[str]) -> None:
    assert sorted(resolve(command).languages) == sorted(languages)


@pytest.mark.parametrize(
    ("command", "scripts", "work"),
    [
        ("./check.sh", ["check.sh"], []),
        ("python3 check.py", ["check.py"], []),
        ("make test", ["scripts/unit.sh"], []),
        ("npm run e2e", ["e2e.sh"], []),
        ("python3 main.py", [], ["main.py"]),
        ('test "$(python3 main.py)" = 4', [], ["main.py"]),
        ("diff out.txt expected.txt", ["expected.txt"], []),
        ("grep -q hello notes.txt", [], []),
        ("bash deploy.sh", [], ["deploy.sh"]),
    ],
)
def test_what_judges_is_told_from_what_is_judged(command: str, scripts: list[str], work: list[str]) -> None:
    rules = resolve(command)
    assert ([*rules.scripts], [*rules.work]) == (scripts, work)


@pytest.mark.parametrize(
    ("command", "tests"),
    [
        ("pytest tests/test_a.py::test_x -q", ["tests/test_a.py"]),
        ("cd sub && pytest checks/verify.py", ["sub/checks/verify.py"]),
        ("pytest -c other.ini tests", ["other.ini"]),
        ("jest --config=jest.ci.js", ["jest.ci.js"]),
        ("ruff check src/app.py", []),
        ("ruff check --config other.toml src/app.py", ["other.toml"]),
    ],
)
def test_files_given_to_a_runner_are_proofs(command: str, tests: list[str]) -> None:
    assert [*resolve(command).tests] == tests


def test_names_that_make_would_take_for_something_else() -> None:
    assert [shadow.path for shadow in resolve("make test").shadows] == ["test", "unit", "GNUmakefile", "makefile"]


def test_a_phony_target_cannot_be_faked_by_a_file() -> None:
    tree = Tree({"Makefile": ".PHONY: test\ntest:\n\tpytest\nout.txt:\n\techo > $@\n"})
    assert [shadow.path for shadow in resolve_check("make test out.txt", tree).shadows] == ["GNUmakefile", "makefile"]


def test_included_makefiles_count() -> None:
    tree = Tree({"Makefile": "include ci.mk\n-include local.mk\n", "ci.mk": "test:\n\tpytest\n"})
    rules = resolve_check("make test", tree)
    assert [part.path for part in rules.makefiles] == ["Makefile", "ci.mk", "local.mk"]
    assert rules.runners == ("pytest",)


def test_programs_are_remembered_with_where_they_run() -> None:
    programs = resolve("cd sub && timeout 5 .venv/bin/pytest").programs
    assert [(each.name, each.folder) for each in programs] == [("timeout", "sub"), (".venv/bin/pytest", "sub")]


def test_a_module_of_python_is_no_program() -> None:
    assert [each.name for each in resolve("python3 -m pytest").programs] == ["python3"]


def test_scripts_that_call_each_other_end() -> None:
    tree = Tree(
        {"a/check.sh": "bash a/check.sh\nmake test\n", "Makefile": "test:\n\t$(MAKE) test\n\tbash a/check.sh\n"}
    )
    assert resolve_check("make test", tree).scripts == ("a/check.sh",)


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_any_command_and_any_files_give_rules(command: str, makefile: str, package: str) -> None:
    tree = Tree({"Makefile": makefile, "package.json": package, "justfile": makefile, "check.sh": makefile})
    for line in (command, "make", "make x", "npm test", "just", "./check.sh"):
        assert resolve_check(line, tree).command == line


def test_what_a_script_sources_is_a_part_of_it() -> None:
    rules = resolve_check("sh check.sh", Tree({"check.sh": ". ./lib.sh\nexpect 1 1\n", "lib.sh": "pytest\n"}))
    assert rules.scripts == ("check.sh", "lib.sh")
    assert rules.runners == ("pytest",)


@pytest.mark.parametrize("command", ["sh < check.sh", "cat check.sh | sh", "cat check.sh | bash -e -", "sh check.sh"])
def test_a_shell_carries_out_what_it_is_given(command: str) -> None:
    assert "check.sh" in resolve(command).scripts


@pytest.mark.parametrize(
    "source", ['. "$DIR/lib.sh"', 'source "$(dirname "$0")/lib.sh"', '. "${BASH_SOURCE%/*}/lib.sh"']
)
def test_a_script_finds_what_lies_beside_it(source: str) -> None:
    tree = Tree({"ci/run.sh": f'DIR=$(cd "$(dirname "$0")" && pwd)\n{source}\n', "ci/lib.sh": ""})
    assert "ci/lib.sh" in resolve_check("sh ci/run.sh", tree).scripts


def test_scripts_a_check_loops_over_are_proofs_unless_they_are_only_parsed() -> None:
    tree = Tree({"run.sh": 'for each in checks/*.sh; do sh "$each" || exit 1; done\n'})
    assert "checks/*.sh" in resolve_check("sh run.sh", tree).scripts
    work = Tree({"run.sh": 'for each in src/*.sh; do sh -n "$each"; done\n'})
    assert resolve_check("sh run.sh", work).scripts == ()


def test_a_program_of_awk_judges() -> None:
    assert resolve("sh main.sh | awk -f rules.awk").scripts == ("rules.awk",)


def test_modules_beside_a_script_that_judges_do_so_by_their_name() -> None:
    script = "import csv\nimport calc\nfrom checks import equal\nfrom expect import expect\n"
    files = {"scripts/check.py": script, "scripts/expect.py": "", "scripts/checks.py": "", "calc.py": ""}
    rules = resolve_check("python3 scripts/check.py", Tree(files))
    assert rules.scripts == ("scripts/check.py", "scripts/checks.py")
    assert rules.work == ("scripts/expect.py",)
    assert "scripts/csv.py" in [shadow.path for shadow in rules.shadows]


def test_files_that_make_includes_by_a_pattern_count() -> None:
    makefile = "include $(wildcard mk/*.mk)\ntest:\n\t$(RUN)\n"
    rules = resolve_check("make test", Tree({"Makefile": makefile, "mk/run.mk": "RUN = pytest\n"}))
    assert [part.path for part in rules.makefiles] == ["Makefile", "mk/run.mk", "mk/*.mk"]
    assert rules.runners == ("pytest",)


@pytest.mark.parametrize(
    ("makefile", "faked"),
    [
        ("test: .tested\n.tested: calc.py\n\tpytest\n\ttouch .tested\n", True),
        ("test: out/ok\nout/ok: calc.py\n\tpytest && touch $@\n", True),
        ("test: .venv/ready\n\tpytest\n.venv/ready:\n\tpip install pytest\n\ttouch $@\n", False),
        ("test: calc.o\n\tpytest\ncalc.o: calc.c\n\tcc -o $@ calc.c\n", False),
    ],
)
def test_a_stamp_of_make_stands_for_tests_that_ran(makefile: str, faked: bool) -> None:
    shadows = resolve_check("make test", Tree({"Makefile": makefile})).shadows
    assert any("again" in shadow.reason for shadow in shadows) is faked


def test_folders_of_pythonpath_are_searched_for_what_hides_a_runner() -> None:
    assert {"src", "lib"} <= {*resolve("PYTHONPATH=src:lib pytest").folders}


def test_a_runner_nobody_knows_runs_tests_of_any_language() -> None:
    assert resolve_check("node_modules/.bin/tester", Tree({})).languages == ("any",)


DEEP = Tree(
    {
        "Makefile": "all: lint\nlint:\n\truff check .\ntest:\n\tpytest\n",
        "ci.mk": "test:\n\tmypy .\n",
        "sub/Makefile": "test: stamp\n\tgo test ./...\nstamp:\n\tgo test ./a && touch stamp\n",
        "sub/ci.mk": "test:\n\tcargo test\n",
        "sub/justfile": "test:\n  pytest\nlint:\n  ruff check .\n",
        "package.json": '{"scripts": {"test": "jest", "lint": "eslint ."}}',
        "sub/package.json": '{"scripts": {"test": "mocha"}}',
        "bin/check": "#!/usr/bin/env bash\npytest\n",
        "bin/plain": "pytest\n",
        "bin/lines": "#!/bin/sh -e\npytest\n",
        "outer.sh": "sh sub/inner.sh\nsh $(dirname $0)/beside.sh\n",
        "beside.sh": "jest\n",
        "sub/inner.sh": "pytest\n",
        "sub/beside.sh": "mocha\n",
    }
)


@pytest.mark.parametrize(
    ("command", "runners"),
    [
        ("make -C sub test", ["go"]),
        ("make --directory=sub test", ["go"]),
        ("cd sub && make test", ["go"]),
        ("make -f ci.mk test", ["mypy"]),
        ("make --file=ci.mk test", ["mypy"]),
        ("make -C sub -f ci.mk test", ["cargo"]),
        ("make -j4 test", ["pytest"]),
        ("make -j 4 test", ["pytest"]),
        ("make -j test", ["pytest"]),
        ("make -o lint test", ["pytest"]),
        ("make --jobs=2 lint", ["ruff"]),
        ("make V=1 test", ["pytest"]),
        ("make -k test $GOALS", ["pytest"]),
        ("make", ["ruff"]),
        ("cd sub && just test", ["pytest"]),
        ("cd sub && just --quiet MODE=x lint", ["ruff"]),
        ("just test", []),
        ("npm --prefix sub test", ["mocha", "npm"]),
        ("npm --prefix=sub test", ["mocha", "npm"]),
        ("npm t", ["jest", "npm"]),
        ("npm run lint", ["eslint", "npm"]),
        ("npm run lint -- --fix", ["eslint", "npm"]),
        ("yarn lint", ["eslint", "npm"]),
        ("yarn mocha --bail", ["mocha"]),
        ("npm ci", []),
        ("pnpm install", []),
        ("bun test", ["bun"]),
        ("bin/check", ["pytest"]),
        ("bin/plain", ["pytest"]),
        ("bin/lines", ["pytest"]),
        ("./outer.sh", ["pytest", "jest"]),
    ],
)
def test_options_of_make_just_and_npm_lead_where_they_lead(command: str, runners: list[str]) -> None:
    assert sorted(resolve_check(command, DEEP).runners) == sorted(runners)


@pytest.mark.parametrize(
    ("command", "folder", "scripts"),
    [
        ("npm test -w web", "*", ["test"]),
        ("npm run e2e --workspace=web", "*", ["e2e"]),
        ("npm run e2e --workspace web", "*", ["e2e"]),
        ("pnpm --filter web test", "*", ["test"]),
        ("yarn workspace web test", "*", ["test"]),
        ("npm run e2e", "", ["e2e"]),
        ("npm --prefix sub run e2e", "sub", ["e2e"]),
    ],
)
def test_a_script_nobody_can_read_may_be_that_of_any_workspace(command: str, folder: str, scripts: list[str]) -> None:
    rules = resolve_check(command, DEEP)
    (part,) = rules.packages
    assert [*part.scripts] == scripts
    assert part.folder == (ANY_FOLDER if folder == "*" else folder)
    assert rules.languages, "somebody's tests"


def test_names_that_make_would_take_for_something_else_lie_in_its_folder() -> None:
    shadows = {shadow.path: shadow.reason for shadow in resolve_check("make -C sub test", DEEP).shadows}
    assert shadows["sub/test"] == "named like the make target `test`"
    assert shadows["sub/stamp"].startswith(("make would not run `stamp` again", "named like the make target `stamp`"))
    assert shadows["sub/GNUmakefile"] == "make would read it instead of sub/Makefile"


def test_a_makefile_that_is_not_there_yet_may_be_any_and_run_anything() -> None:
    rules = resolve_check("make -C sub2 test", DEEP)
    assert [part.path for part in rules.makefiles] == ["sub2/GNUmakefile", "sub2/makefile", "sub2/Makefile"]
    assert {*rules.makefiles[0].use.targets} == {"test"}
    assert (rules.makefiles[0].use.is_default, rules.languages) == (False, (ANY_LANGUAGE,))
    named = resolve_check("make -f new.mk", DEEP)
    assert [(part.path, part.use.is_default) for part in named.makefiles] == [("new.mk", True)]
