"""`ralph spec`, as people and programs use it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ralph.faces.cli.commands.spec import command
from ralph.model.board import InvalidInput, NoSuchSpec
from ralph.model.errors import RalphError, UsageError


@pytest.fixture(autouse=True)
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ralph_spec(*words: str, stdin: str = "") -> Result:
    result = CliRunner().invoke(command, words, input=stdin)
    if isinstance(result.exception, RalphError):
        raise result.exception
    return result


def test_a_spec_is_made_from_a_file_and_named_by_its_heading(repo: Path) -> None:
    (repo / "SPEC.md").write_text("\n# Auth for all\n\nTokens everywhere.\n")
    assert ralph_spec("create", "auth", "--file", "SPEC.md").output == "Created spec auth\n"
    assert ralph_spec("show", "auth").output == "\n# Auth for all\n\nTokens everywhere.\n"
    record = json.loads(ralph_spec("show", "auth", "--json").output)
    assert (record["id"], record["title"]) == ("auth", "Auth for all")


def test_specs_are_listed_with_the_number_of_their_tasks() -> None:
    assert "No specs here yet" in ralph_spec("list").output
    ralph_spec("create", "auth", "--title", "Auth")
    ralph_spec("create", "payments")
    assert ralph_spec("list").output == "auth      0 tasks  Auth\npayments  0 tasks  payments\n"
    assert json.loads(ralph_spec("list", "--json").output)["specs"][0] == {"id": "auth", "title": "Auth", "tasks": 0}


def test_title_and_text_are_edited_apart(repo: Path) -> None:
    ralph_spec("create", "auth", "--file", "-", stdin="First")
    assert ralph_spec("edit", "auth", "--title", "New").output == "Changed spec auth\n"
    ralph_spec("edit", "auth", "--file", "-", stdin="Second")
    record = json.loads(ralph_spec("edit", "auth", "--title", "Newer", "--json").output)
    assert (record["title"], record["text"]) == ("Newer", "Second")


def test_without_a_terminal_there_is_no_editor(repo: Path) -> None:
    ralph_spec("create", "auth")
    with pytest.raises(UsageError, match="no terminal"):
        ralph_spec("edit", "auth")


def test_what_cannot_be_is_told(repo: Path) -> None:
    ralph_spec("create", "auth")
    with pytest.raises(InvalidInput, match="there is a spec 'auth' already") as refused:
        ralph_spec("create", "auth")
    assert "ralph spec edit auth" in refused.value.hint
    with pytest.raises(NoSuchSpec, match="no spec 'pay'") as missing:
        ralph_spec("show", "pay")
    assert "ralph spec create pay" in missing.value.hint
    with pytest.raises(UsageError, match="may hold only letters"):
        ralph_spec("create", "../auth")
    with pytest.raises(UsageError, match=r"cannot read 'gone\.md'"):
        ralph_spec("create", "pay", "--file", "gone.md")


def test_looking_creates_nothing(repo: Path) -> None:
    ralph_spec("list")
    for words in (["show", "auth"], ["edit", "auth", "--title", "x"]):
        with pytest.raises(NoSuchSpec):
            ralph_spec(*words)
    assert [*repo.iterdir()] == []


def test_nothing_but_text_reaches_the_terminal(repo: Path) -> None:
    (repo / "SPEC.md").write_bytes(b"# A\x00\x1b[2J\n")
    ralph_spec("create", "auth", "--file", "SPEC.md")
    assert "\x1b" not in ralph_spec("show", "auth").output
