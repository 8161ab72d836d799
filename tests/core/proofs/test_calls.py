"""Wrappers are looked through: what judges is found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.proofs.calls import find_calls


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("pytest -q", "pytest"),
        ("env A=b timeout 60 python3 -m pytest -q", "pytest"),
        ("timeout -k 5 60 make test", "make"),
        ("A=1 B=2 pytest", "pytest"),
        ("python -X dev -W error -m unittest discover", "unittest"),
        ("uv run --with x pytest -q", "pytest"),
        ("uv run -m pytest", "pytest"),
        ("uv run --directory sub pytest", "pytest"),
        ("uv tool run ruff check .", "ruff"),
        ("uvx ruff check .", "ruff"),
        ("poetry run python -m pytest", "pytest"),
        ("pipenv run pytest", "pytest"),
        ("npx -y jest --ci", "jest"),
        ("npm exec -- vitest run", "vitest"),
        ("pnpm exec vitest", "vitest"),
        ("bunx vitest", "vitest"),
        ("bundle exec rspec", "rspec"),
        ("bash -c 'cd b && npm test'", "npm"),
        ("bash -euxc 'make'", "make"),
        ("sh -c make", "make"),
        ("coverage run -m pytest", "pytest"),
        ("python3 -m coverage run --source x -m pytest tests", "pytest"),
        (".venv/bin/pytest -q", "pytest"),
        (".venv/bin/python -m pytest", "pytest"),
        ("node node_modules/.bin/jest", "jest"),
        ("php vendor/bin/phpunit", "phpunit"),
        ("vendor/bin/phpunit", "phpunit"),
        ("./gradlew test", "gradlew"),
        ("python manage.py test", "django"),
        ("nix-shell --run 'make test'", "make"),
        ("nice -n 10 cargo test", "cargo"),
        ("sudo -u x make test", "make"),
        ("xargs -n1 pytest", "pytest"),
        ("cross-env CI=1 jest", "jest"),
        ("concurrently 'npm:lint'", "npm"),
        ("./run.sh", "script"),
        ("bash -eux scripts/check.sh fast", "script"),
        ("python3 check.py", "script"),
        ("node check.js", "script"),
        ("uv run check.py", "script"),
        ("node --test", "node"),
        ("python3 -c 'import x'", "python"),
    ],
)
def test_what_judges_is_found(line: str, name: str) -> None:
    assert [call.name for call in find_calls(line)] == [name]


@pytest.mark.parametrize(
    ("line", "script"),
    [
        ("./run.sh", "run.sh"),
        ("cd ci && bash check.sh", "ci/check.sh"),
        ("uv run --directory sub check.py", "sub/check.py"),
        ("env -C sub ./x.sh", "sub/x.sh"),
        ("python3 ../outside.py", ""),
    ],
)
def test_scripts_are_found_where_they_lie(line: str, script: str) -> None:
    assert [call.script for call in find_calls(line)] == [script]


def test_arguments_are_kept() -> None:
    (call,) = find_calls("timeout 60 uv run pytest tests/test_a.py -q")
    assert (call.arguments, call.launchers) == (("tests/test_a.py", "-q"), ("timeout", "uv"))


@given(
    st.text(alphabet="abc '\"\\$()`|&;-=/.\n", max_size=40)
    | st.lists(
        st.sampled_from(["uv", "run", "env", "-c", "bash", "npx", "python3", "-m", "timeout", "5", "x", "nix", "flock"])
    ).map(" ".join)
)
def test_any_text_gives_calls(line: str) -> None:
    assert all(call.name or call.program for call in find_calls(line))
