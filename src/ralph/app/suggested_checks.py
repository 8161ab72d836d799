"""Which checks a repository itself suggests, by its build files. Reads files, starts nothing."""

import os
import re
from collections.abc import Callable, Iterator

import msgspec
from msgspec import Struct

from ralph.process.atomic_file import open_regular_file

_MAX_FILE_CHARS = 1_000_000  # characters of a build file worth reading
_MAX_TEST_FILES = 200
_NPM_PLACEHOLDER = "no test specified"  # npm's own script that always fails


class SuggestedGuardrail(Struct, frozen=True):
    """A guardrail the repository itself suggests."""

    command: str
    purpose: str  # lint or test
    source: str  # the file that suggests it


def suggest_guardrails(folder: str) -> tuple[SuggestedGuardrail, ...]:
    """One lint and one test command, the best of each."""
    chosen: dict[str, SuggestedGuardrail] = {}
    for found in list_suggestions(folder):
        chosen.setdefault(found.purpose, found)
    return tuple(chosen.values())


def list_suggestions(folder: str) -> tuple[SuggestedGuardrail, ...]:
    """Lint commands, then test commands; the repository's own words before a language's habits."""
    found = [*_iter_suggestions(folder)]
    return tuple(suggestion for purpose in ("lint", "test") for suggestion in found if suggestion.purpose == purpose)


def _iter_suggestions(folder: str) -> Iterator[SuggestedGuardrail]:
    def text(name: str) -> str:
        return _read_text(os.path.join(folder, name))

    def exists(name: str) -> bool:
        return os.path.exists(os.path.join(folder, name))

    yield from _suggest_make(text)
    yield from _suggest_just(text)
    yield from _suggest_node(text, exists)
    yield from _suggest_python(folder, text, exists)
    for marker, purpose, command in _USUAL_COMMANDS:
        if exists(marker):
            yield SuggestedGuardrail(command, purpose, marker)


def _suggest_make(text: Callable[[str], str]) -> Iterator[SuggestedGuardrail]:
    for name in ("GNUmakefile", "makefile", "Makefile"):  # the order make itself looks in
        if content := text(name):
            rules = re.findall(r"^([A-Za-z][\w ./-]*?)\s*::?(?![:=])", content, re.MULTILINE)
            yield from _suggest_targets("make", name, {target for rule in rules for target in rule.split()})
            return


def _suggest_just(text: Callable[[str], str]) -> Iterator[SuggestedGuardrail]:
    for name in ("justfile", "Justfile"):
        recipes = re.findall(r"^@?([A-Za-z][\w-]*)[^:\n]*:(?!=)", text(name), re.MULTILINE)
        yield from _suggest_targets("just", name, set(recipes))


def _suggest_targets(program: str, source: str, targets: set[str]) -> Iterator[SuggestedGuardrail]:
    for purpose, target in (("lint", "lint"), ("test", "test"), ("test", "check")):
        if target in targets:
            yield SuggestedGuardrail(f"{program} {target}", purpose, source)


def _suggest_node(text: Callable[[str], str], exists: Callable[[str], bool]) -> Iterator[SuggestedGuardrail]:
    runners = (("pnpm", "pnpm-lock.yaml"), ("yarn", "yarn.lock"), ("bun", "bun.lock"), ("bun", "bun.lockb"))
    runner = next((program for program, lock in runners if exists(lock)), "npm")
    scripts = parse_npm_scripts(text("package.json"))
    for purpose in ("lint", "test"):
        if scripts.get(purpose, _NPM_PLACEHOLDER).find(_NPM_PLACEHOLDER) < 0:
            yield SuggestedGuardrail(f"{runner} run {purpose}", purpose, "package.json")


def read_npm_scripts(folder: str) -> dict[str, str]:
    return parse_npm_scripts(_read_text(os.path.join(folder, "package.json")))


def parse_npm_scripts(package: str) -> dict[str, str]:
    try:
        document = msgspec.json.decode(package)
    except (msgspec.DecodeError, RecursionError):
        return {}
    scripts = document.get("scripts") if isinstance(document, dict) else None
    lines = scripts.items() if isinstance(scripts, dict) else ()
    return {name: line for name, line in lines if isinstance(line, str)}


def _suggest_python(
    folder: str, text: Callable[[str], str], exists: Callable[[str], bool]
) -> Iterator[SuggestedGuardrail]:
    project = text("pyproject.toml")
    if "[tool.ruff" in project or exists("ruff.toml") or exists(".ruff.toml"):
        yield SuggestedGuardrail(f"{_choose_python_runner(exists, 'ruff')} check .", "lint", "pyproject.toml")
    tested = "pytest" in project or "pytest" in text("tox.ini") or "[tool:pytest]" in text("setup.cfg")
    if tested or exists("pytest.ini") or exists("conftest.py") or exists("tests/conftest.py"):
        yield SuggestedGuardrail(_choose_python_runner(exists, "pytest"), "test", "pyproject.toml")
    elif tests := _list_python_tests(folder):
        command = (
            _choose_unittest_command(tests[0], exists)
            if all(_is_for_unittest(name, tests[0], text) for name in tests)
            else _choose_python_runner(exists, "pytest")
        )
        yield SuggestedGuardrail(command, "test", tests[0])


def _list_python_tests(folder: str) -> list[str]:
    """Test files here, or in the folders that are usual for them."""
    found: list[str] = []
    for part in ("", "tests", "test"):
        try:
            names = sorted(os.listdir(os.path.join(folder, part)))
        except OSError:
            continue
        found += [os.path.join(part, name) for name in names if re.fullmatch(r"test_.*\.py|.*_test\.py", name)]
    return found[:_MAX_TEST_FILES]


def _is_for_unittest(name: str, first: str, text: Callable[[str], str]) -> bool:
    """unittest passes over other names, other folders and tests that are mere functions, without a word."""
    is_found = os.path.basename(name).startswith("test") and os.path.dirname(name) == os.path.dirname(first)
    return is_found and bool(re.search(r"^class .*\bTestCase\b", text(name), re.MULTILINE))


def _choose_unittest_command(test: str, exists: Callable[[str], bool]) -> str:
    """It looks into packages only, unless it is told where."""
    python = ".venv/bin/python" if exists(".venv/bin/python") else "python3"
    part = os.path.dirname(test)
    return f"{python} -m unittest" + (f" discover {part}" if part and not exists(f"{part}/__init__.py") else "")


def _choose_python_runner(exists: Callable[[str], bool], program: str) -> str:
    if exists(f".venv/bin/{program}"):
        return f".venv/bin/{program}"
    runners = (("uv run", "uv.lock"), ("poetry run", "poetry.lock"), ("pdm run", "pdm.lock"))
    runner = next((words for words, lock in runners if exists(lock)), "python3 -m")
    return f"{runner} {program}"


_USUAL_COMMANDS = (  # a file that is there → what it is for, and the usual command
    ("Cargo.toml", "test", "cargo test"),
    ("clippy.toml", "lint", "cargo clippy --all-targets -- -D warnings"),
    (".clippy.toml", "lint", "cargo clippy --all-targets -- -D warnings"),
    (".golangci.yml", "lint", "golangci-lint run"),
    (".golangci.yaml", "lint", "golangci-lint run"),
    ("go.mod", "lint", "go vet ./..."),
    ("go.mod", "test", "go test ./..."),
    ("mvnw", "test", "./mvnw -q test"),
    ("pom.xml", "test", "mvn -q test"),
    ("gradlew", "test", "./gradlew test"),
    ("build.gradle", "test", "gradle test"),
    ("build.gradle.kts", "test", "gradle test"),
    ("mix.exs", "test", "mix test"),
    (".rspec", "test", "bundle exec rspec"),
    ("phpunit.xml", "test", "vendor/bin/phpunit"),
    ("phpunit.xml.dist", "test", "vendor/bin/phpunit"),
    ("Package.swift", "test", "swift test"),
)


def _read_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace", opener=open_regular_file) as file:
            return file.read(_MAX_FILE_CHARS)
    except OSError:
        return ""
