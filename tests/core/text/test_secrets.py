"""What people do not get to see of a command."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.core.text.raw_secrets import find_secret_spans
from ralph.core.text.secrets import TOKEN_KINDS, is_secret_name, list_secret_values, redact, redact_argv


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


def test_values_of_secret_names_are_hidden_and_no_others_the_longest_first() -> None:
    """Hidden first, a shorter one would leave the rest of a longer one that holds it."""
    variables = {
        "A_TOKEN": "zz-secret",
        "B_TOKEN": "aa-zz-secret-and-more",
        "EDITOR": "my-favourite-editor",
        "C_TOKEN": "short",
        "D_TOKEN": "1234567890",
        "KEY_FILE_TOKEN": "/home/me/token",
        "E_TOKEN": "12345678a",
    }
    assert list_secret_values(variables)[0] == "aa-zz-secret-and-more"
    assert {*list_secret_values(variables)} == {"zz-secret", "aa-zz-secret-and-more", "12345678a"}


def test_names_of_variables() -> None:
    assert is_secret_name("MY_API_KEY")
    assert not is_secret_name("HOME")


TOKENS = {  # made up; put together here, so that no scanner of sources takes them for real
    "OpenAI": "sk-" + "a1" * 12,
    "Anthropic": "sk-ant-" + "api03-" + "a1" * 12,
    "GitHub, classic": "ghp_" + "a1" * 18,
    "GitHub, fine-grained": "github_pat_" + "a1" * 20,
    "GitHub app": "ghs_" + "a1" * 18,
    "GitLab": "glpat-" + "a1" * 10,
    "Slack bot": "xoxb-" + "1" * 12 + "-" + "a1" * 8,
    "Slack app": "xapp-" + "1-A1-" + "a1" * 8,
    "AWS": "AKIA" + "ABCDEFGH" * 2,
    "AWS, for a session": "ASIA" + "ABCDEFGH" * 2,
    "Google": "AIza" + "a1" * 17 + "b",
    "Google OAuth": "ya29." + "a1" * 12,
    "Groq": "gsk_" + "a1" * 12,
    "xAI": "xai-" + "a1" * 12,
    "Replicate": "r8_" + "a1" * 18,
    "Hugging Face": "hf_" + "ab" * 15,
    "Perplexity": "pplx-" + "a1" * 12,
    "npm": "npm_" + "a1" * 18,
    "a Python index": "py" + "pi-" + "a1" * 18,
    "Docker": "dckr_pat_" + "a1" * 12,
    "Stripe": "sk_live_" + "a1" * 12,
    "Stripe, for tests": "sk_test_" + "a1" * 12,
    "a webhook": "whsec_" + "a1" * 12,
    "SendGrid": "SG." + "a1" * 11 + "." + "a1" * 20,
    "DigitalOcean": "dop_v1_" + "a1" * 32,
    "Shopify": "shpat_" + "a1" * 16,
    "Databricks": "dapi" + "a1" * 16,
    "Linear": "lin_api_" + "a1" * 20,
    "Notion": "ntn_" + "a1" * 20,
    "Grafana": "glsa_" + "a1" * 16,
    "Vault": "hvs." + "a1" * 12,
    "Atlassian": "ATATT3" + "a1" * 12,
    "Telegram": "123456789:AA" + "a1" * 16 + "b",
    "JSON web token": "eyJ" + "a1" * 6 + ".eyJ" + "a1" * 6 + "." + "a1" * 6,
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nMIIa1\n-----END RSA PRIVATE KEY-----",
}


@pytest.mark.parametrize("kind", TOKENS)
def test_a_token_is_known_by_its_kind(kind: str) -> None:
    assert len(TOKENS) >= 25
    assert redact(f"it printed {TOKENS[kind]}, then went on") == "it printed ***, then went on"
    assert redact(f'{{"x": "{TOKENS[kind]}"}}') == '{"x": "***"}'


@pytest.mark.parametrize("kind", TOKEN_KINDS.values())
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_any_token_of_a_kind_is_hidden_wherever_it_stands(kind: str, data: st.DataObject) -> None:
    token = data.draw(st.from_regex(kind, fullmatch=True, alphabet=st.characters(max_codepoint=0x7E)))
    assert token not in redact(f"a ({token})")
    line = f'"a {token}"'.encode()
    assert any(line[begin:end] == token.encode() for begin, end in find_secret_spans(line))


def test_hashes_of_commits_stay() -> None:
    short, long, sha256 = "0a1b2c3", "0a1b2c3d" * 5, "0a1b2c3d" * 8
    text = f"commit {long}\nMerge: {short} {short}\nindex {short}..{short} 100644\ntree {sha256}"
    assert redact(text) == text


def test_secrets_of_ones_own_are_known_by_value() -> None:
    variables = {"MY_TOKEN": "hunter2hunter2", "DB_PASSWORD": "correct horse", "SHORT_KEY": "abc", "HOME": "/home/me"}
    found = list_secret_values({**variables, "SSH_KEY_FILE": "/home/me/.ssh/id", "MAX_TOKENS": "31999000"})
    assert found == ("hunter2hunter2", "correct horse")


@pytest.mark.parametrize("piece", ["key", "a", "-", "x-key", "://a:", '"', "'key'", "bearer ", "authorization"])
def test_a_huge_text_takes_no_time(piece: str) -> None:
    began = time.monotonic()
    redact("sk-" + piece * (200_000 // len(piece)))
    assert time.monotonic() - began < 3
