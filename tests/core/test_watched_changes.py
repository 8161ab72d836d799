"""Settings, prompts and hooks that are not what they were."""

import json

import pytest

from ralph.core.watched_changes import compare_texts, find_hook_weakenings
from ralph.core.watched_files import extract_git_program_settings, find_hooks_path

HOOK = {".git/hooks/pre-commit": "make test\n"}


def claude(**settings: object) -> dict[str, str]:
    return {".claude/settings.json": json.dumps(settings)}


def test_each_file_is_told_with_its_diff() -> None:
    before = {"a": "1\n", "b": "API_KEY=old\n", "c": "same\n"}
    found = compare_texts(before, {"b": "API_KEY=new\nmore\n", "c": "same\n", "d": "4\n"})
    assert [(change.name, change.what) for change in found] == [("a", "deleted"), ("b", "changed"), ("d", "added")]
    assert "+more" in found[1].diff
    assert "new\n" not in found[1].diff.partition("@@")[2], "secrets stay out of it"


def test_a_long_diff_is_cut() -> None:
    (change,) = compare_texts({}, {"a": "x\n" * 500})
    assert change.diff.splitlines()[-1] == "… 443 more lines"


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ({}, ("git hook removed: .git/hooks/pre-commit",)),
        ({".git/hooks/pre-commit": "true\n"}, ("git hook changed: .git/hooks/pre-commit",)),
        ({**HOOK, ".git/config": "core.hookspath = /tmp\n"}, ("git looks for hooks in /tmp (was .git/hooks/)",)),
        ({**HOOK, ".git/hooks/post-commit": "x"}, ()),
        (HOOK, ()),
    ],
)
def test_a_hook_that_no_longer_does_what_it_did_is_weaker(after: dict[str, str], said: tuple[str, ...]) -> None:
    assert find_hook_weakenings(HOOK, after) == said


def test_who_had_no_hooks_may_get_some() -> None:
    after = {".git/config": "core.hooksPath = .husky/_\n", ".husky/_/pre-commit": "npm test\n"}
    assert find_hook_weakenings({}, after) == ()
    gone = find_hook_weakenings(after, {".git/config": "core.hooksPath = .husky/_\n"})
    assert gone == ("git hook removed: .husky/_/pre-commit",)
    back = find_hook_weakenings(after, {".husky/_/pre-commit": "npm test\n"})
    assert back == ("git looks for hooks in .git/hooks/ (was .husky/_)",)


def test_a_file_that_is_no_hook_is_none_wherever_hooks_lie() -> None:
    for config in ({}, {".git/config": "core.hooksPath = .husky/_\n"}):
        assert find_hook_weakenings({**config, "prompt.md": "a"}, {**config, "prompt.md": "b"}) == ()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"hooks": {"Stop": [{"hooks": []}]}}, {}, "a hook was removed"),
        ({"permissions": {"deny": ["Bash(rm:*)"]}}, {"permissions": {"deny": []}}, "no longer denied"),
        ({}, {"permissions": {"allow": ["Bash(*)"]}}, "more is permitted (Bash(*))"),
        ({}, {"hooks": {"Stop": []}, "permissions": {"deny": ["Read"], "allow": []}}, ""),
        ({"permissions": "odd"}, {"permissions": ["odd"]}, ""),
        ({"permissions": {"deny": ["Read"]}}, {"permissions": {"deny": ["Read", "Bash"]}}, ""),
        ({"permissions": {"allow": ["Read", "Bash"]}}, {"permissions": {"allow": ["Bash"]}}, ""),
        ({"hooks": {"Stop": {"a": 1, "b": 2}}}, {"hooks": {"Stop": {"b": 2, "a": 1}}}, ""),
        ({"permissions": {"allow": [{"a": 1, "b": 2}]}}, {"permissions": {"allow": [{"b": 2, "a": 1}]}}, ""),
    ],
)
def test_claudes_own_settings_are_compared_by_what_they_permit(
    before: dict[str, object], after: dict[str, object], said: str
) -> None:
    found = find_hook_weakenings(claude(**before), claude(**after))
    assert len(found) == bool(said)
    assert said in "".join(found)


def test_what_is_no_json_is_no_reason_to_fail() -> None:
    assert find_hook_weakenings({".claude/settings.json": "{"}, {".claude/settings.json": "[]"}) == ()


def test_of_gits_configuration_only_what_may_run_something_counts() -> None:
    harmless = '[remote "origin"]\n\turl = x\n# no\n[branch "m"]\na=b\n'
    text = f'[core]\n\tbare = false\n{harmless}[filter "lfs"]\n  clean = git-lfs clean\n'
    assert extract_git_program_settings(text) == "core.bare = false\nfilter.lfs.clean = git-lfs clean\n"


def test_the_folder_of_hooks_is_found() -> None:
    assert find_hooks_path('core.hooksPath = "a b"\n') == "a b"
    assert find_hooks_path("core.bare = true\n") == ""
