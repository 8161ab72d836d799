"""The habits of the house: small modules, honest names, light imports, nothing of anybody's machine."""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.workshop import ProjectFixture

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "ralph"
MODULES = sorted(SOURCE.rglob("*.py"))
LONGEST = 400  # lines of code
LONGEST_FUNCTION = 60
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b")
EMPTY_NAMES = {"util", "utils", "helper", "helpers", "common", "manager", "managers", "misc"}
HEAVY = ("textual", "rich", "starlette", "asyncio", "yaml", "click", "apprise", "opentelemetry", "mcp")
PROBE = """
import sys
sys.argv = ["ralph", *{arguments!r}]
{run}
print("IMPORTED", *(name for name in {heavy!r} if name in sys.modules))
"""
REGISTRY = re.compile(
    r"\b(?:index-url|find-links|trusted-host)\b|\"resolved\": *\"https?:"
    r"|https?://[\w.-]*(?:pypi|pythonhosted|npmjs|registry|artifactory|nexus|jfrog|mirror)[\w.-]*",
    re.IGNORECASE,
)
MACHINE = re.compile(r"(?<![\w.$}~-])/work/(?!app\b)")  # /work/app is the invented project of the guard's tests
PERSONAL = re.compile(r"(?<![\w.$}~-])/(?:tmp|root|home|Users)/")
MAY_NAME_SCRATCH = {"src/ralph/agents/_player.py"}  # a nameless file, where the system has no memfd
HOLDS_THE_PATTERNS = "tests/architecture/test_house.py"


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def docstrings(text: str) -> set[int]:
    """The lines they stand on."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str()), lineno=first, end_lineno=int(last)):
                lines.update(range(first, last + 1))
            case _:
                pass
    return lines


def code_lines(text: str) -> set[int]:
    """Those that are neither blank nor comment nor docstring."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines - docstrings(text)


def long_functions(text: str) -> dict[str, int]:
    """Those with too many lines of code, from `def` to their end."""
    code = code_lines(text)
    functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    sizes = {node.name: len(code & {*range(node.lineno, (node.end_lineno or 0) + 1)}) for node in functions}
    return {name: size for name, size in sizes.items() if size > LONGEST_FUNCTION}


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module=str(module)):
                yield module
            case _:
                pass


def texts() -> Iterator[tuple[str, str]]:
    """Every file git keeps or is about to keep, as far as it is text."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip("not a git checkout")
    for name in filter(None, found.stdout.split("\0")):
        try:
            yield name, (ROOT / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue  # deleted, a link to a folder, or no text


def places(pattern: re.Pattern[str], name: str, text: str) -> list[str]:
    return [f"{name}:{number}" for number, line in enumerate(text.splitlines(), 1) if pattern.search(line)]


def probed(workshop: ProjectFixture, run: str, *arguments: str) -> str:
    """What of HEAVY is there after this; the line says only that, if it says anything."""
    script = PROBE.format(arguments=arguments, run=run, heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=workshop.repo,
        env=workshop.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_a_module_fits_in_the_head(path: Path) -> None:
    assert len(code_lines(path.read_text(encoding="utf-8"))) <= LONGEST


def test_a_function_fits_on_a_screen() -> None:
    found = {named(path): long_functions(path.read_text(encoding="utf-8")) for path in MODULES}
    assert {name: functions for name, functions in found.items() if functions} == {}


def test_long_functions_are_found_by_their_code() -> None:
    head, line = 'def f():\n    """Says."""\n    # why\n\n', "    x = 1\n"
    assert long_functions(head + line * LONGEST_FUNCTION) == {"f": LONGEST_FUNCTION + 1}
    assert long_functions(head + line * (LONGEST_FUNCTION - 1)) == {}


def test_lines_of_code_are_counted_without_comments_blanks_and_docstrings() -> None:
    module = '"""Two\nlines."""\n\n# why\nX = """\none\n"""\n\n\ndef f() -> None:\n    """Says."""\n    pass\n'
    assert len(code_lines(module)) == 5


def test_nothing_is_left_for_later() -> None:  # what a string says is data: some modules look for such words
    found = [
        f"{named(path)}:{token.start[0]}"
        for path in MODULES
        for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
        if (token.type == tokenize.COMMENT and UNFINISHED.search(token.string)) or token.string == "NotImplementedError"
    ]
    assert found == []


def test_modules_are_named_by_their_idea() -> None:
    names = {part for path in MODULES for part in (path.stem, *path.relative_to(SOURCE).parts[:-1])}
    assert {name.strip("_") for name in names} & EMPTY_NAMES == set()


def test_every_module_says_what_it_is_for() -> None:
    assert [named(path) for path in MODULES if not ast.get_docstring(ast.parse(path.read_text()))] == []


def test_only_tests_import_subprocess() -> None:
    assert [named(path) for path in MODULES if "subprocess" in imported(path)] == []


def test_importing_ralph_imports_nothing_heavy(workshop: ProjectFixture) -> None:
    assert probed(workshop, "import ralph") == "IMPORTED"


@pytest.mark.parametrize("arguments", [["--version"], ["-v"], ["status"], ["status", "--json"]], ids=" ".join)
def test_the_quick_answers_import_nothing_heavy(workshop: ProjectFixture, arguments: list[str]) -> None:
    assert workshop.ralph("run", "-p", "x").returncode == 0  # so that there is something to tell
    run = "from ralph.__main__ import main; assert main() == 0; print()"
    assert probed(workshop, run, *arguments) == "IMPORTED"


def test_a_run_imports_no_other_face(workshop: ProjectFixture) -> None:
    run = "from ralph.__main__ import main; assert main() == 0; print()"
    assert probed(workshop, run, "run", "-p", "x") == "IMPORTED click"


@pytest.mark.parametrize(
    "arguments",
    [["run", "-p", "x"], ["task", "list"], ["board", "--once"], ["board", "--json"], ["--help"]],
    ids=" ".join,
)
def test_only_someone_who_watches_waits_for_textual(workshop: ProjectFixture, arguments: list[str]) -> None:
    run = "from ralph.__main__ import main; assert main() == 0; print()"
    assert {"textual", "rich", "asyncio"}.isdisjoint(probed(workshop, run, *arguments).split())


def test_the_probe_sees_what_is_imported(workshop: ProjectFixture) -> None:
    assert probed(workshop, "import yaml, dis") == "IMPORTED yaml"


def test_no_file_names_a_package_registry() -> None:
    found = [place for name, text in texts() if name != HOLDS_THE_PATTERNS for place in places(REGISTRY, name, text)]
    assert found == []


def test_no_file_names_a_place_on_somebodys_machine() -> None:
    found = [place for name, text in texts() if name != HOLDS_THE_PATTERNS for place in places(MACHINE, name, text)]
    assert found == []


def test_no_module_names_a_home_or_a_scratch_folder() -> None:
    modules = [path for path in MODULES if named(path) not in MAY_NAME_SCRATCH]
    assert [place for path in modules for place in places(PERSONAL, named(path), path.read_text())] == []


def test_make_has_every_target() -> None:  # 001-33
    rules = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(rules) >= {"all", "build", "test", "lint", "fmt", "check", "clean", "install", "demo", "bench"}


def test_the_readme_has_every_chapter() -> None:  # 001-33
    text = (ROOT / "README.md").read_text()
    chapters = re.findall(r"^##+ (.*)", text, re.MULTILINE)
    wanted = {"Prerequisites", "Install", "Usage", "Exit codes", "Configuration", "Working on ralph", "Architecture"}
    assert wanted <= set(chapters)


def test_the_readme_is_short_and_names_no_command_that_is_not_there() -> None:  # 001-33
    from ralph.faces.cli.main import COMMAND_ALIASES, COMMAND_MODULES

    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 150
    told = re.findall(r"(?:^|`)ralph ([a-z]+)", text, re.MULTILINE)
    assert set(told) >= {"run", "init", "status", "story", "execute", "supervise"}
    assert [name for name in told if name not in (*COMMAND_MODULES, *COMMAND_ALIASES)] == []
