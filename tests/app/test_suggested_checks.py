"""Which checks a repository suggests."""

from pathlib import Path

import pytest

from ralph.app.suggested_checks import suggest_guardrails

MAKEFILE = """\
lint = ruff
test := pytest
.PHONY: test lint
all: lint
lint test: deps
\techo test
"""
UNITTEST = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test(self): ...\n"
NPM = '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1", "lint": "eslint ."}}'


@pytest.mark.parametrize(
    ("files", "commands"),
    [
        ({}, []),
        ({"Makefile": MAKEFILE}, ["make lint", "make test"]),
        ({"Makefile": "test = x\ntested:\n"}, []),
        ({"Makefile": "check:\n\ttrue\n"}, ["make check"]),
        ({"Makefile": "check:\ntest:\n"}, ["make test"]),
        ({"GNUmakefile": "test:\n", "Makefile": "lint:\n"}, ["make test"]),
        ({"justfile": "test arg='x':\n  true\nlint:\n"}, ["just lint", "just test"]),
        ({"package.json": NPM}, ["npm run lint"]),
        ({"package.json": '{"scripts": {"test": "jest"}}'}, ["npm run test"]),
        ({"package.json": '{"scripts": {"test": "jest"}}', "pnpm-lock.yaml": ""}, ["pnpm run test"]),
        ({"package.json": '{"scripts": {"test": "jest"}}', "yarn.lock": ""}, ["yarn run test"]),
        ({"package.json": "{ not json"}, []),
        ({"package.json": "[1]"}, []),
        ({"package.json": '{"scripts": {"test": 3, "lint": null}}'}, []),
        (
            {"pyproject.toml": "[tool.ruff]\n[tool.pytest.ini_options]\n"},
            ["python3 -m ruff check .", "python3 -m pytest"],
        ),
        ({"pyproject.toml": "[tool.ruff]\n", "uv.lock": ""}, ["uv run ruff check ."]),
        ({"pytest.ini": "", "poetry.lock": ""}, ["poetry run pytest"]),
        ({"pytest.ini": "", ".venv/bin/pytest": ""}, [".venv/bin/pytest"]),
        ({"test_calc.py": "def test_add():\n    assert 1\n"}, ["python3 -m pytest"]),
        ({"tests/test_a.py": UNITTEST, "tests/test_b.py": "def test_b(): ..."}, ["python3 -m pytest"]),
        ({"tests/calc_test.py": UNITTEST}, ["python3 -m pytest"]),
        ({"test_calc.py": UNITTEST, "tests/test_a.py": UNITTEST}, ["python3 -m pytest"]),
        ({"test_calc.py": UNITTEST}, ["python3 -m unittest"]),
        ({"tests/__init__.py": "", "tests/test_a.py": UNITTEST}, ["python3 -m unittest"]),
        ({"tests/test_a.py": UNITTEST, ".venv/bin/python": ""}, [".venv/bin/python -m unittest discover tests"]),
        ({"latest_news.py": "", "tests/notes.txt": ""}, []),
        ({"Cargo.toml": ""}, ["cargo test"]),
        ({"go.mod": ""}, ["go vet ./...", "go test ./..."]),
        ({"go.mod": "", ".golangci.yml": ""}, ["golangci-lint run", "go test ./..."]),
        ({"pom.xml": ""}, ["mvn -q test"]),
        ({"pom.xml": "", "mvnw": ""}, ["./mvnw -q test"]),
        ({"build.gradle": "", "gradlew": ""}, ["./gradlew test"]),
        (
            {"Makefile": "test:\n", "pyproject.toml": "[tool.ruff]\n[tool.pytest]\n"},
            ["python3 -m ruff check .", "make test"],
        ),
    ],
)
def test_the_repository_suggests_its_guardrails(tmp_path: Path, files: dict[str, str], commands: list[str]) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert [found.command for found in suggest_guardrails(str(tmp_path))] == commands


def test_a_build_file_that_is_no_text_suggests_nothing(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_bytes(b"\xff\xfe\x00" * 1000)
    (tmp_path / "package.json").mkdir()
    assert suggest_guardrails(str(tmp_path)) == ()
