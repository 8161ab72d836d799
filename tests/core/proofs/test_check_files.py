"""The files that a check rests on, by the tree it ran on."""

import pytest

from ralph.core.proofs.check_files import MAX_PROOFS_NAMED, TreeTexts, list_check_files

MAKEFILE = "test:\n\tpytest -q\n"
TREE = ("Makefile", "check.sh", "pytest.ini", "src/calc.py", "tests/test_calc.py", "web/a.test.js", "web/package.json")


def list_paths(command: str, paths: tuple[str, ...] = TREE, folder: str = "") -> list[str]:
    texts = {"Makefile": MAKEFILE, "web/package.json": '{"scripts": {"test": "jest"}}'}
    files = TreeTexts({path: path for path in paths}, lambda blob: texts.get(blob, "").encode())
    return [each.path for each in list_check_files(command, files, folder)]


@pytest.mark.parametrize(
    ("command", "folder", "expected"),
    [
        ("sh check.sh", "", ["check.sh"]),
        ("pytest -q", "", ["pytest.ini", "tests/test_calc.py"]),
        ("make test", "", ["Makefile", "pytest.ini", "tests/test_calc.py"]),
        ("npm test", "web", ["web/package.json", "web/a.test.js"]),
        ("true", "", []),
    ],
)
def test_what_is_named_then_configuration_then_tests(command: str, folder: str, expected: list[str]) -> None:
    assert list_paths(command, folder=folder) == expected


def test_not_more_are_named_than_anybody_reads() -> None:
    many = tuple(f"tests/test_{number}.py" for number in range(MAX_PROOFS_NAMED + 5))
    assert len(list_paths("pytest", many)) == MAX_PROOFS_NAMED
