"""Rules of `.gitignore` files as one file at the root: git must ignore the same with it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.workspaces.ignore_rules import read_ignore_rules, rebase_rules
from support.repository import RepositoryFixture, open_repository

FILES = ("a.log", "keep.log", "build/x", "build.txt", "sub/a.log", "sub/keep.log", "sub/deep/a.log", "sub/build/y")
ODD = ("sub/[1]*/a", "sub/#x", "sub/!y", "sub/space ", "x/y/z", "sub/x/y", "sub/deep/x/y", "sub/deep/only")
RULES = {
    "": "*.log\n!keep.log\n/build/\n# nothing\n\nx/y\n",
    "sub": "!a.log\r\n/deep/only\nx/y\nbuild\n\\#x\n\\!y\nspace\\ \n",
    "sub/[1]*": "a\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[RepositoryFixture]:
    with open_repository(tmp_path) as made:
        for name in (*FILES, *ODD):
            (made.root / name).parent.mkdir(parents=True, exist_ok=True)
            (made.root / name).write_text("x")
        for folder, text in RULES.items():
            (made.root / folder / ".gitignore").write_bytes(text.encode())
        yield made


def test_one_file_ignores_what_all_files_ignore(repo: RepositoryFixture) -> None:
    rules = read_ignore_rules(str(repo.root), RULES, "")
    combined = repo.scratch / "all"
    combined.write_text(rules.combine())
    listed = ("ls-files", "--others", "-z")
    assert repo.run(*listed, f"--exclude-from={combined}") == repo.run(*listed, "--exclude-standard")


def test_a_rule_is_known_to_have_changed_whatever_its_time_says(repo: RepositoryFixture) -> None:
    rules = read_ignore_rules(str(repo.root), [*RULES, "sub/deep"], "")
    assert not rules.have_changed()
    (repo.root / "sub/deep/.gitignore").write_text("*\n")
    assert rules.have_changed()
    (repo.root / "sub/deep/.gitignore").unlink()
    assert not rules.have_changed()
    (repo.root / ".gitignore").write_bytes(RULES[""].replace("*.log", "*.txt").encode())
    assert rules.have_changed()


def test_a_link_is_no_file_of_rules(repo: RepositoryFixture) -> None:
    rules = read_ignore_rules(str(repo.root), [*RULES, "sub/deep"], "")
    (repo.root / "sub/deep/.gitignore").symlink_to(repo.root / ".gitignore")
    assert not rules.have_changed()  # git does not follow it either


def test_rules_at_the_root_stay_as_they_are() -> None:
    assert rebase_rules("a\n/b\n", "") == "a\n/b\n"
    assert rebase_rules("a\n/b\n#c\n!d/\n", "x") == "/x/**/a\n/x/b\n!/x/**/d/"
