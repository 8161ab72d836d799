"""What people do not get to see of a command."""

import time

import pytest

from ralph.core.text.secrets import is_secret_name, redact, redact_argv


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("claude --api-key S1 -v", "claude --api-key *** -v"),
        ("claude --api-key=S1 -v", "claude --api-key=*** -v"),
        ("DB_PASSWORD=S1 make test", "DB_PASSWORD=*** make test"),
        ("DB_PASSWORD='S1 S2' make test", "DB_PASSWORD=*** make test"),
        ('curl -H "Authorization: Bearer S1" url', 'curl -H "Authorization: Bearer ***" url'),
        (
            "curl -H 'Authorization: Bearer S1'; TOKEN=S2; false",
            "curl -H 'Authorization: Bearer ***'; TOKEN=***; false",
        ),
        ("curl -H 'authorization: S1'", "curl -H 'authorization: ***'"),
        ("Authorization: Basic S1", "Authorization: Basic ***"),
        ("Proxy-Authorization: S1", "Proxy-Authorization: ***"),
        ("curl -H 'X-Api-Key: S1' url", "curl -H 'X-Api-Key: ***' url"),
        ("api-key: S1", "api-key: ***"),
        ("a bearer S1", "a bearer ***"),
        ('{"apiKey": "S1", "model": "opus"}', '{"apiKey": ***, "model": "opus"}'),
        ('http_headers={"X-Api-Key"="S1"}', 'http_headers={"X-Api-Key"=***}'),
        ("psql postgres://u:S1@h/db", "psql postgres://u:***@h/db"),
        ("git push https://u:S1@h:80/x", "git push https://u:***@h:80/x"),
        ("postgres://u:1234@h", "postgres://u:***@h"),
        ("redis://:S1@h", "redis://:***@h"),
        ("postgres://u:S1/S2@S3@h", "postgres://u:***@h"),
        ("https://ghp_0123456789abcdefghij@h", "https://***@h"),
        ("run sk-ant-0123456789abcdef", "run ***"),
    ],
)
def test_a_secret_is_hidden_and_the_rest_is_not(text: str, shown: str) -> None:  # 001-26
    assert redact(text) == shown
    assert redact(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "claude -p --model opus --verbose",
        "curl http://localhost:8080/a@b",
        "git clone ssh://git@host/x",
        ".ralph/settings.json:3: agent.environment.API_KEY: expected a string, got a number",
        "The agent is not logged in or its key is not accepted: check its key.",
        "--secret --model opus",
        "ask-for-the-moon-and-all-the-stars",
        "",
    ],
)
def test_what_is_none_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("--api-key", "S1 S2", "-v"), ("--api-key", "***", "-v")),
        (("--token S1", "x"), ("--token ***", "x")),
        (("--secret", "--model", "opus"), ("--secret", "--model", "opus")),
        (("-H", "Authorization:", "Bearer", "S1", "x"), ("-H", "Authorization:", "Bearer", "***", "x")),
        (("-H", "X-Api-Key:", "S1", "x y"), ("-H", "X-Api-Key:", "***", "x y")),
        (('--password="', "a", '"b'), ("--password=***", "a", '"b')),
        (('"token": "', 'b"'), ('"token": "', 'b"')),  # as many words as before
        ((), ()),
    ],
)
def test_words_of_a_command_are_read_together(words: tuple[str, ...], shown: tuple[str, ...]) -> None:  # 001-26
    assert redact_argv(words) == shown


def test_names_of_variables() -> None:
    assert is_secret_name("MY_API_KEY")
    assert not is_secret_name("HOME")


@pytest.mark.parametrize("piece", ["key", "a", "-", "x-key", "://a:", '"', "'key'", "bearer ", "authorization"])
def test_a_huge_text_takes_no_time(piece: str) -> None:
    began = time.monotonic()
    redact("sk-" + piece * (200_000 // len(piece)))
    assert time.monotonic() - began < 3
