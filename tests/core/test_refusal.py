"""What to say of an agent that was not permitted to do something."""

import shlex

import pytest

from ralph.core.refusal import describe_refusal, join_words


@pytest.mark.parametrize(
    ("commands", "named", "typed"),
    [
        (("npm test",), "`npm test`", '--allow "npm test"'),
        (("npm test", "git push"), "`npm test` and `git push`", '--allow "npm test" --allow "git push"'),
        (("echo $HOME",), "`echo $HOME`", "--allow 'echo $HOME'"),
        (("""python3 -c 'print("x")'""",), "python3 -c", """--allow 'python3 -c '"'"'print("x")'"'"''"""),
    ],
)
def test_refused_commands_are_named_with_the_very_thing_to_type(
    commands: tuple[str, ...], named: str, typed: str
) -> None:
    text = describe_refusal(("Bash",) * len(commands), commands)
    assert named in text
    assert typed in text
    assert shlex.split(typed)[1::2] == [*commands]  # a shell takes it for those commands


@pytest.mark.parametrize("command", ["cat <<EOF\nlong\nEOF", "x" * 300])
def test_what_nobody_would_type_is_not_asked_for(command: str) -> None:
    text = describe_refusal(("Bash",), (command,))
    assert command not in text
    assert "1 tool call (Bash)" in text
    assert "agent.permissions" in text


def test_words_are_joined_as_people_do() -> None:
    assert [join_words("abc"[:count]) for count in range(4)] == ["", "a", "a and b", "a, b and c"]


@pytest.mark.parametrize(
    "command", ["make test &", "make a & make b", "for i in 1 2; do make test; done", "make test; echo $?"]
)
def test_what_no_rule_allows_is_not_asked_for(command: str) -> None:  # issue 12
    text = describe_refusal(("Bash",), (command,))
    assert f"`{command}`" in text
    assert '--allow "' not in text
    assert 'agent.permissions "all"' in text


@pytest.mark.parametrize("command", ["make test && make lint", "make test > log 2>&1", "make test &> log"])
def test_other_signs_of_the_shell_are_no_background(command: str) -> None:
    assert f'--allow "{command}"' in describe_refusal(("Bash",), (command,))


def test_what_is_in_force_already_is_not_asked_for_again() -> None:  # issue 12
    text = describe_refusal(("Bash", "Bash"), ("make lint", "npm test"), allowed=("make test", "make lint"))
    assert '--allow "npm test"' in text
    assert '--allow "make lint"' not in text
    assert "`make lint`, and --allow does not change that: it is allowed already" in text


def test_the_guards_own_words_say_what_to_do() -> None:
    text = describe_refusal(("Bash",), (), guard_words=("/etc/x belongs to the system. Add it to the list.",))
    assert text == "ralph's guard refused a command: /etc/x belongs to the system. Add it to the list."
