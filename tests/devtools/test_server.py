"""The scripted model server over real HTTP, in each API it speaks."""

import http.client
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from ralph.agents._script import ScriptRun
from ralph.devtools.server import ModelServer

TOOLS: dict[str, list[dict[str, Any]]] = {
    "anthropic": [{"name": "Bash"}],
    "responses": [{"type": "namespace", "name": "functions", "tools": [{"type": "function", "name": "exec_command"}]}],
    "chat": [{"type": "function", "function": {"name": "bash"}}],
    "gemini": [{"functionDeclarations": [{"name": "run_shell_command"}]}],
}
APIS = list(TOOLS)
USER: dict[str, dict[str, Any]] = {
    "anthropic": {"messages": [{"role": "user", "content": "hi"}]},
    "responses": {"input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}]},
    "chat": {"messages": [{"role": "user", "content": "hi"}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
}
PATHS = {"anthropic": "/v1/messages?beta=true", "responses": "/v1/responses", "chat": "/v1/chat/completions"}
each_api = pytest.mark.parametrize("api", APIS)


class Model:
    """A server with its log, and a client for it."""

    def __init__(self, *steps: dict[str, Any]) -> None:
        self.log: list[Any] = []
        self.server = ModelServer([ScriptRun([*steps])], log=self.log.append)
        self.server.start()

    def ask(self, api: str, stream: bool = True, **headers: str) -> tuple[int, str, dict[str, str]]:
        """Status, body, headers. A connection that breaks off raises IncompleteRead."""
        body = {**USER[api], "tools": TOOLS[api], "model": "m", "stream": stream}
        verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return self.request("POST", PATHS.get(api, f"/v1beta/models/m:{verb}"), json.dumps(body), headers)

    def request(
        self, method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, str, dict[str, str]]:
        connection = http.client.HTTPConnection(self.server.url.removeprefix("http://"), timeout=10)
        connection.request(method, path, body, {"content-type": "application/json", **(headers or {})})
        answer = connection.getresponse()
        told = answer.read().decode()
        connection.close()
        return answer.status, told, {name.lower(): value for name, value in answer.headers.items()}


@pytest.fixture
def models() -> Iterator[list[Model]]:
    made: list[Model] = []
    yield made
    for model in made:
        model.server.close()


def model(models: list[Model], *steps: dict[str, Any]) -> Model:
    models.append(Model(*steps))
    return models[-1]


def events(told: str) -> list[Any]:
    """The data of a stream's events."""
    data = [line.removeprefix("data: ") for line in told.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in data if line != "[DONE]"]


def texts(api: str, told: str, stream: bool) -> str:
    """The words of an answer, as that API's clients put them together."""
    found = events(told) if stream else [json.loads(told)]
    match api, stream:
        case "anthropic", True:
            return "".join(event["delta"].get("text", "") for event in found if "delta" in event)
        case "anthropic", _:
            return "".join(block.get("text", "") for block in found[0]["content"])
        case "responses", True:
            return "".join(event["delta"] for event in found if event["type"] == "response.output_text.delta")
        case "responses", _:
            return "".join(part["text"] for item in found[0]["output"] for part in item.get("content", ()))
        case "chat", _:
            choices = [choice for event in found for choice in event["choices"]]
            return "".join(
                (choice.get("delta") or choice.get("message"))["content"]
                for choice in choices
                if choice.get("delta") or choice.get("message")
            )
        case _:
            parts = [part for event in found for part in event["candidates"][0]["content"]["parts"]]
            return "".join(part["text"] for part in parts if not part.get("thought"))


# -- answers --------------------------------------------------------------------------------------
@each_api
@pytest.mark.parametrize("stream", [True, False])
def test_words_arrive(models: list[Model], api: str, stream: bool) -> None:
    status, told, _ = model(models, {"say": "Hello,\nwörld."}).ask(api, stream)
    assert status == 200
    assert texts(api, told, stream) == "Hello,\nwörld."


@each_api
@pytest.mark.parametrize("stream", [True, False])
def test_a_tool_call_arrives(models: list[Model], api: str, stream: bool) -> None:
    _, told, _ = model(models, {"bash": "ls -l"}, {"say": "x"}).ask(api, stream)
    name = {"anthropic": "Bash", "responses": "exec_command", "chat": "bash", "gemini": "run_shell_command"}[api]
    assert f'"name": "{name}"' in told
    assert "ls -l" in told
    ends = {"anthropic": '"tool_use"', "chat": '"tool_calls"'}
    assert ends.get(api, "") in told


@each_api
def test_tokens_are_told(models: list[Model], api: str) -> None:
    usage = {"input_tokens": 1001, "output_tokens": 77, "cache_read_input_tokens": 300}
    _, told, _ = model(models, {"usage": usage}, {"say": "x"}).ask(api)
    # OpenAI and Google count what was cached as input, Anthropic does not.
    assert ("1001" if api == "anthropic" else "1301") in told
    assert "77" in told
    assert "300" in told


@each_api
def test_thoughts_are_no_words(models: list[Model], api: str) -> None:
    _, told, _ = model(models, {"think": "hm"}, {"say": "x"}).ask(api)
    if api == "chat":
        assert '"reasoning_content": "hm"' in told
    else:
        assert texts(api, told, True) == "x"
        assert "hm" in told


def test_anthropics_stream_has_every_event_in_order(models: list[Model]) -> None:
    _, told, _ = model(models, {"say": "one\ntwo"}, {"bash": "ls"}, {"say": "x"}).ask("anthropic")
    names = [line.removeprefix("event: ") for line in told.splitlines() if line.startswith("event: ")]
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert names == ["message_start", block[0], block[1], *block[1:], *block, "message_delta", "message_stop"]
    assert names == [event["type"] for event in events(told)]


# -- trouble --------------------------------------------------------------------------------------
@each_api
def test_an_error_has_its_status_and_words(models: list[Model], api: str) -> None:
    error = {"status": 429, "message": "slow down", "retry_after": 3, "reset_at": 1900000000}
    status, told, headers = model(models, {"error": error}).ask(api)
    assert status == 429
    assert json.loads(told)["error"]["message"] == "slow down"
    assert headers["retry-after"] == "3"
    assert headers["anthropic-ratelimit-unified-reset"] == "1900000000"


@each_api
@pytest.mark.parametrize("stream", [True, False])
def test_a_cut_answer_breaks_off(models: list[Model], api: str, stream: bool) -> None:
    cut = model(models, {"say": "Hello"}, {"cut": True}, {"say": "Hello again"})
    with pytest.raises(http.client.IncompleteRead):
        cut.ask(api, stream, **{"session-id": "a"})
    assert "Hello again" in cut.ask(api, stream, **{"session-id": "a"})[1]


@each_api
def test_an_empty_answer_is_a_whole_one(models: list[Model], api: str) -> None:
    status, told, _ = model(models, {"empty": True}).ask(api)
    assert status == 200
    assert texts(api, told, True) == ""


@each_api
def test_an_error_in_the_middle_of_the_stream(models: list[Model], api: str) -> None:
    status, told, _ = model(models, {"say": "Hel"}, {"overload": True}).ask(api)
    assert status == 200
    assert "Overloaded" in json.dumps(events(told)[-1])


@each_api
def test_raw_text_is_sent_as_it_is(models: list[Model], api: str) -> None:
    _, told, _ = model(models, {"raw": "data: {broken\n\n"}, {"say": "x"}).ask(api)
    assert "data: {broken\n\n" in told


def test_it_hangs_until_it_is_closed(models: list[Model]) -> None:
    hanging = model(models, {"say": "Hel"}, {"hang": True})
    ended = threading.Event()

    def wait() -> None:
        hanging.ask("anthropic")
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    assert not ended.wait(0.3)
    hanging.server.close()
    models.clear()
    assert ended.wait(5)


def test_a_script_that_does_not_fit_the_client_is_told_to_it(models: list[Model]) -> None:
    faulty = model(models, {"write": {"path": "x"}})
    status, told, _ = faulty.ask("anthropic")
    assert status == 400
    assert "is not what 'write' needs" in told


# -- the rest -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("HEAD", "/", 200),
        ("GET", "/v1/models", 200),
        ("POST", "/v1/messages/count_tokens", 200),
        ("POST", "/v1beta/models/m:countTokens", 200),
        ("GET", "/v1/other", 404),
        ("POST", "/v1/other", 404),
    ],
)
def test_small_requests_are_answered(models: list[Model], method: str, path: str, status: int) -> None:
    assert model(models, {"say": "x"}).request(method, path, "{}")[0] == status


def test_every_request_is_logged_and_no_key_is(models: list[Model]) -> None:
    asked = model(models, {"bash": "ls"}, {"say": "x"})
    keys = {"x-api-key": "s3cret", "Authorization": "Bearer s3cret", "x-claude-code-session-id": "s"}
    asked.ask("anthropic", True, **keys)
    (line,) = asked.log
    assert "s3cret" not in json.dumps(line)
    assert (line["method"], line["session"], line["run"], line["answer"]) == ("POST", "s", 1, ["Bash"])
    assert line["body"]["messages"] == USER["anthropic"]["messages"]


def test_a_body_that_is_no_json_does_no_harm(models: list[Model]) -> None:
    asked = model(models, {"say": "x"})
    assert asked.request("POST", "/v1/messages", "{no")[0] == 200
    assert asked.log[0]["body"] == {"unreadable": "{no"}


@each_api
def test_a_question_that_is_none_is_told(models: list[Model], api: str) -> None:
    path = PATHS.get(api, "/v1beta/models/m:generateContent")
    status, told, _ = model(models, {"say": "x"}).request(
        "POST", path, '{"messages": [1], "input": [1], "contents": [1]}'
    )
    assert status == 400
    assert "not what this API is asked" in told


def test_only_this_machine_can_ask(models: list[Model]) -> None:
    assert model(models, {"say": "x"}).server.url.startswith("http://127.0.0.1:")
