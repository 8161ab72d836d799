"""Secrets in what programs print are starred out; all else, also the length, is what it was."""

import json

import pytest

from ralph.core.text.raw_secrets import find_secret_spans, list_raw_secrets
from ralph.core.text.secrets import TOKEN_KINDS


def mask(data: bytes, **variables: str) -> bytes:
    for begin, end in find_secret_spans(data, list_raw_secrets(variables)):
        data = data[:begin] + b"*" * (end - begin) + data[end:]
    return data


TOKENS = [
    "sk-ant-" + "a1B2c3D4" * 4,
    "ghp_" + "a1B2c3D4" * 5,
    "github_pat_" + "a1B2c3D4" * 5,
    "glpat-" + "a1B2c3D4" * 3,
    "xoxb-1234567890-abcdefghij",
    "AKIA" + "ABCDEFGH" * 2,
    "AIza" + "a1B2c" * 7,
    "npm_" + "a1B2c3D4" * 4,
    "SG." + "a1B2c3D4" * 3 + "." + "a1B2c3D4" * 3,
    "dapi" + "0123456789abcdef" * 2,
    "ATATT3" + "a1B2c3D4" * 4,
    "hvs." + "a1B2c3D4" * 4,
    "AGE-SECRET-KEY-1" + "QPZRY9X8" * 8,
    "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSM",
    "-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----",
]


@pytest.mark.parametrize("token", TOKENS)
def test_a_token_is_starred_and_its_line_stays_json_of_the_same_length(token: str) -> None:
    line = f'{{"type":"result","result":"token {token}, done","usage":{{"input_tokens":3}}}}'.encode()
    masked = mask(line)
    assert token.encode() not in masked
    assert len(masked) == len(line)
    assert json.loads(masked)["usage"] == {"input_tokens": 3}


@pytest.mark.parametrize("before", ["\n", "\t", "\r\n", "=", "_", ""])
def test_a_token_at_the_beginning_of_a_line_inside_json_is_starred(before: str) -> None:
    line = json.dumps({"text": f"it says:{before}sk-ant-api03-abcdefghijklmnop"}).encode()
    assert [line[begin:end] for begin, end in find_secret_spans(line)] == [b"sk-ant-api03-abcdefghijklmnop"]


def test_values_of_secret_variables_are_starred_also_inside_json() -> None:
    variables = {"MY_API_KEY": 'quite"secret\\value', "NAME": "not-a-secret"}
    line = json.dumps({"text": f"{variables['MY_API_KEY']} {variables['NAME']}"}).encode()
    assert json.loads(mask(line, **variables))["text"].strip("*") == " not-a-secret"


def test_a_value_is_starred_wherever_it_stands_and_over_several_lines() -> None:
    assert mask(b"secret-value, then secret-valuesecret-value", MY_TOKEN="secret-value") == (
        b"*" * 12 + b", then " + b"*" * 24
    )
    line = json.dumps({"text": "first line\nsecond line"}).encode()
    assert b"line" not in mask(line, MY_TOKEN="first line\nsecond line")


def test_a_password_in_an_address_is_starred_and_a_port_is_none() -> None:
    assert mask(b'{"text":"postgres://u:sesame@h/db\\n"}') == b'{"text":"postgres://u:******@h/db\\n"}'
    for plain in (b"http://localhost:8080/a@b", b"ssh://git@host/x", b'["http://h:80","a@b"]'):
        assert mask(plain) == plain


def test_hashes_and_common_words_stay() -> None:
    line = b"commit 3f2a9c0b1d4e5f60718293a4b5c6d7e8f9012345 task-runner disk-io sk-1 eyJ ghp_ npm_install pypi-"
    assert mask(line) == line


def test_every_kind_that_screens_hide_is_looked_for() -> None:
    assert len(TOKEN_KINDS) >= 25
