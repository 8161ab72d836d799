"""What `ralph doctor` sees."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ralph.app.setup.doctor import DoctorContext, DoctorFinding, extract_program, find_missing_part, run_checks
from ralph.core.own_files import GITIGNORE_LINES
from ralph.model.errors import CorruptState

SETTINGS = '{"agent": {"command": "claude"}, "guardrails": [{"command": "make test"}]}'
Look = Callable[..., dict[str, DoctorFinding]]


def program(folder: Path, name: str) -> None:
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A repository where all is well."""
    for folder in ("bin", "repo/.git", "repo/.ralph"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("git", "claude", "make"):
        program(tmp_path / "bin", name)
    (tmp_path / "repo/.git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "repo/.gitignore").write_text("\n".join(GITIGNORE_LINES))
    (tmp_path / "repo/.ralph/settings.json").write_text(SETTINGS)
    return tmp_path


def look(home: Path, **changes: Any) -> tuple[DoctorFinding, ...]:
    patient = DoctorContext(
        folder=str(home / "repo"), environment={"PATH": str(home / "bin")}, free_bytes=lambda folder: 10**12
    )
    return run_checks(msgspec.structs.replace(patient, **changes))


def bad(home: Path, **changes: Any) -> list[tuple[str, str, str]]:
    return [(f.verdict, f.what, f.next) for f in look(home, **changes) if f.verdict != "OK"]


def test_all_is_well(home: Path) -> None:
    findings = look(home, version_of=lambda program: "2.1.197")
    assert [f for f in findings if f.verdict != "OK"] == []
    assert f"agent {home}/bin/claude 2.1.197" in [f.what for f in findings]
    assert len(findings) >= 11


@pytest.mark.parametrize(
    ("changes", "verdict", "what", "advice"),
    [
        ({"python": (3, 10)}, "FAIL", "Python 3.10", "uv python install"),
        ({"platform": "win32"}, "WARN", "Windows", "wsl --install"),
        ({"free_bytes": lambda folder: 5 * 10**8}, "WARN", "only 0.5 GB", "df -h"),
        ({"free_bytes": lambda folder: 10**7}, "FAIL", "only 0.0 GB", "df -h"),
        ({"active_run": lambda: "20260101-x"}, "WARN", "run 20260101-x is active", "ralph status"),
        ({"encoding": "ascii"}, "WARN", "terminal encoding ascii", "export LC_ALL=C.UTF-8"),
    ],
)
def test_each_trouble_is_told_with_what_to_type(
    home: Path, changes: dict[str, Any], verdict: str, what: str, advice: str
) -> None:
    ((found, said, next_command),) = bad(home, **changes)
    assert found == verdict
    assert what in said
    assert next_command.startswith(advice)


def test_an_extra_that_is_wanted_and_not_installed_is_told(home: Path) -> None:
    (home / "repo/.ralph/settings.json").write_text(SETTINGS.replace("{", '{"notify": {"apprise": ["json://h"]}, ', 1))
    variables = {"PATH": str(home / "bin"), "OTEL_EXPORTER_OTLP_ENDPOINT": "http://h"}
    advice = ["pip install 'ralph-verified[notify]'", "pip install 'ralph-verified[otel]'"]
    missing = bad(home, environment=variables, has_extra=lambda module: False)
    assert [(verdict, next_) for verdict, _, next_ in missing] == [("WARN", each) for each in advice]
    assert bad(home, environment=variables, has_extra=lambda module: True) == []
    assert bad(home, has_extra=lambda module: module == "apprise") == []


def test_utf8_has_many_spellings(home: Path) -> None:
    assert bad(home, encoding="UTF-8") == bad(home, encoding="utf8") == []


def test_a_broken_database_is_a_finding(home: Path) -> None:
    def broken() -> str:
        raise CorruptState("the database is broken", "mv it")

    assert bad(home, active_run=broken) == [("FAIL", "the database is broken", "mv it")]


def test_no_git(home: Path) -> None:
    (home / "bin/git").unlink()
    assert bad(home) == [("WARN", "git not found: what an agent breaks cannot be undone", "install git")]


def test_no_repository(home: Path) -> None:
    (home / "repo/.git/HEAD").unlink()
    [(verdict, text, advice)] = bad(home)
    assert (verdict, advice, "cannot be undone" in text) == ("WARN", "git init", False)


def test_no_settings_and_so_no_guardrails(home: Path) -> None:
    (home / "repo/.ralph/settings.json").unlink()
    assert [(verdict, advice) for verdict, _, advice in bad(home)] == [("WARN", "ralph init"), ("WARN", "ralph init")]


def test_settings_that_cannot_be_read_fail_with_the_place(home: Path) -> None:
    (home / "repo/.ralph/settings.json").write_text('{"maximumIterations": "x"}')
    ((verdict, what, advice),) = bad(home)
    assert verdict == "FAIL"
    assert what == '.ralph/settings.json:1: maximumIterations: expected an integer ≥ 1, got "x"'
    assert "ralph init --force" in advice


def test_an_unknown_key_warns(home: Path) -> None:
    (home / "repo/.ralph/settings.json").write_text(SETTINGS[:-1] + ', "maxIterations": 1}')
    ((verdict, what, advice),) = bad(home)
    assert (verdict, advice) == ("WARN", "ralph config schema")
    assert 'did you mean "maximumIterations"?' in what


def test_the_configured_agent_is_missing(home: Path) -> None:
    (home / "bin/claude").unlink()
    assert [(verdict, what) for verdict, what, _ in bad(home)] == [("FAIL", "agent claude not found on PATH")]


def test_no_agent_at_all(home: Path) -> None:
    (home / "bin/claude").unlink()
    (home / "repo/.ralph/settings.json").write_text('{"guardrails": [{"command": "make"}]}')
    ((verdict, what, _),) = bad(home)
    assert verdict == "FAIL"
    assert what.startswith("no agent on PATH: none of claude, codex")


def test_a_guardrail_of_an_unknown_kind_fails_and_names_the_nearest(home: Path) -> None:
    (home / "repo/.ralph/settings.json").write_text('{"agent": "claude", "guardrails": [{"kind": "files_changed"}]}')
    (found,) = bad(home)
    known = "no guardrail kind named 'files_changed'; known: files_unchanged, shell"
    assert found == ("FAIL", f"guardrail 'files_changed': {known}", "did you mean 'files_unchanged'?")


def test_a_guardrail_of_another_kind_is_named(home: Path) -> None:
    rail = '{"kind": "files_unchanged", "paths": ["tests"]}'
    (home / "repo/.ralph/settings.json").write_text(f'{{"agent": "claude", "guardrails": ["make test", {rail}]}}')
    assert bad(home) == []
    assert "guardrail files_unchanged tests" in [finding.what for finding in look(home)]


def test_a_guardrail_that_could_never_pass_fails(home: Path) -> None:
    (home / "bin/make").unlink()
    ((verdict, what, advice),) = bad(home)
    assert (verdict, what) == ("FAIL", "guardrail 'make test' can never pass: make not found")
    assert advice.startswith("install make")


def test_logs_that_git_would_keep(home: Path) -> None:  # 001-33
    (home / "repo/.gitignore").write_text("\n".join(GITIGNORE_LINES[1:]))
    assert bad(home) == [("WARN", ".gitignore lacks .ralph/*.log", "printf '%s\\n' '.ralph/*.log' >> .gitignore")]


def test_a_file_where_a_folder_must_be(home: Path) -> None:
    (home / "repo/.ralph/settings.json").unlink()
    (home / "repo/.ralph").rmdir()
    (home / "repo/.ralph").write_text("")
    (home / "repo/.git/ralph").write_text("")
    assert [what for verdict, what, _ in bad(home) if verdict == "FAIL"] == [
        f"settings and logs: {home}/repo/.ralph is not a writable folder",
        f"state: {home}/repo/.git/ralph is not a writable folder",
    ]


@pytest.mark.parametrize(
    ("command", "program_"),
    [
        ("make test", "make"),
        ("CI=1 A=b make test", "make"),
        ("./mvnw -q verify", "./mvnw"),
        ("cd sub && make", ""),
        ("(make)", ""),
        ("! grep x y", ""),
        ("$TOOL x", ""),
        ("if true; then x; fi", ""),
        ("'my tool' x", ""),
        ("make 'unclosed", ""),
        ("A=b", ""),
    ],
)
def test_only_what_is_certain_counts_as_a_guardrails_program(command: str, program_: str) -> None:
    assert extract_program(command) == program_


@pytest.mark.parametrize(("judge", "verdicts"), [("claude -p", []), ("nope", ["FAIL"])])
def test_a_judge_is_looked_for_where_one_is_configured(home: Path, judge: str, verdicts: list[str]) -> None:
    settings = {**msgspec.json.decode(SETTINGS), "specflow": {"judge": {"agent": judge}}}
    (home / "repo/.ralph/settings.json").write_bytes(msgspec.json.encode(settings))
    found = bad(home)
    assert [verdict for verdict, _, _ in found] == verdicts
    assert all(what.startswith("judge nope not found on PATH") for _, what, _ in found)


@pytest.mark.parametrize(
    ("scm", "verdicts"),
    [
        ({"command": "git", "tasks": ["commit"]}, []),
        ({"command": "hg --quiet", "tasks": ["commit"]}, ["FAIL"]),
        ({"command": "hg", "tasks": []}, []),
    ],
)
def test_an_scm_is_looked_for_where_it_has_something_to_do(
    home: Path, scm: dict[str, object], verdicts: list[str]
) -> None:
    settings = {**msgspec.json.decode(SETTINGS), "scm": scm}
    (home / "repo/.ralph/settings.json").write_bytes(msgspec.json.encode(settings))
    found = bad(home)
    assert [verdict for verdict, _, _ in found] == verdicts
    assert all(what.startswith("scm.command hg not found") for _, what, _ in found)
    assert all("ralph config show" in advice for _, _, advice in found)


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("python3 -m pytest", "the Python module pytest"),
        ("npm run lint", "the script 'lint' in package.json"),
        ("npm run test", ""),
        ("uv run ruff check", "ruff (in .venv or on PATH)"),
        ("uv run --with x ruff", ""),
        ("make test", ""),
    ],
)
def test_it_sees_through_what_starts_a_check(home: Path, command: str, missing: str) -> None:
    for name in ("python3", "npm", "uv"):
        program(home / "bin", name)
    (home / "repo/.venv").mkdir()
    (home / "repo/package.json").write_text('{"scripts": {"test": "jest"}}')
    context = DoctorContext(
        folder=str(home / "repo"), environment={"PATH": str(home / "bin")}, has_module=lambda python, module: False
    )
    assert find_missing_part(command, context) == missing
