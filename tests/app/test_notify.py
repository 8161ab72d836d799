"""Messages to people who do not watch: real commands, a real webhook on this machine."""

import hashlib
import hmac
import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from ralph.app.notify import Notifier
from ralph.config.schema import Notify
from ralph.core.notice import NoticeKind
from ralph.model.events import RunEnded, RunStarted, Waiting

ENDED = RunEnded(
    run="r1", outcome="completed", why="2 guardrails passed", exit_code=0, iterations=3, seconds=61, cost_usd=0.5
)


class Hook:
    """A webhook; `answers` are its status codes, the last one repeats."""

    def __init__(self, *answers: int) -> None:
        self.requests: list[tuple[dict[str, str], bytes]] = []
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.requests.append((dict(self.headers), body))
                self.send_response(answers[min(len(hook.requests), len(answers)) - 1])
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/hook"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def warnings() -> list[str]:
    return []


def make_notifier(settings: Notify, folder: Path, warnings: list[str], **variables: str) -> Notifier:
    return Notifier(settings, folder=str(folder), variables={**os.environ, **variables}, warn=warnings.append)


@pytest.fixture
def hook(request: pytest.FixtureRequest) -> Iterator[Hook]:
    made = Hook(*getattr(request, "param", (200,)))
    yield made
    made.close()


def test_a_command_gets_the_message_as_json(tmp_path: Path, warnings: list[str]) -> None:
    told = tmp_path / "told.json"
    notifier = make_notifier(Notify(command=("sh", "-c", f"cat > {told}")), tmp_path, warnings)
    notifier(1.0, 1, [RunStarted(run="r1", agent="claude", limit=3), ENDED])
    notifier.close()
    message = json.loads(told.read_text())
    assert (message["event"], message["run"], message["outcome"], message["cost_usd"]) == (
        "ended",
        "r1",
        "completed",
        0.5,
    )
    assert message["title"] == f"ralph: {tmp_path.name} completed"
    assert message["text"] == "2 guardrails passed (3 iterations, 1m1s, $0.50)"
    assert warnings == []


def test_a_webhook_gets_it_signed(tmp_path: Path, warnings: list[str], hook: Hook) -> None:
    notifier = make_notifier(Notify(webhook=hook.address), tmp_path, warnings, RALPH_WEBHOOK_SECRET="s3cret")
    notifier(1.0, 1, [ENDED])
    notifier.close()
    [(headers, body)] = hook.requests
    assert json.loads(body)["event"] == headers["X-Ralph-Event"] == "ended"
    expected = hmac.new(b"s3cret", body, hashlib.sha256).hexdigest()
    assert headers["X-Ralph-Signature"] == f"sha256={expected}"
    assert b"s3cret" not in body
    assert warnings == []


@pytest.mark.parametrize("hook", [(503, 200)], indirect=True)
def test_a_webhook_in_trouble_is_asked_again(tmp_path: Path, warnings: list[str], hook: Hook) -> None:
    notifier = make_notifier(Notify(webhook=hook.address), tmp_path, warnings)
    notifier(1.0, 1, [ENDED])
    notifier.close()
    assert (len(hook.requests), warnings) == (2, [])


@pytest.mark.parametrize("hook", [(404,)], indirect=True)
def test_one_that_does_not_want_it_is_told_once(tmp_path: Path, warnings: list[str], hook: Hook) -> None:
    notifier = make_notifier(Notify(webhook=hook.address), tmp_path, warnings)
    notifier(1.0, 1, [ENDED, ENDED])
    notifier.close()
    assert (len(hook.requests), warnings) == (2, ["notify: the webhook answered 404"])


def test_a_command_that_fails_is_a_warning(tmp_path: Path, warnings: list[str]) -> None:
    for command in (("sh", "-c", "echo nobody home; exit 3"), ("no-such-program-at-all",)):
        notifier = make_notifier(Notify(command=command), tmp_path, warnings)
        notifier(1.0, 1, [ENDED])
        notifier.close()
    assert warnings[0] == "notify: sh failed with exit code 3: nobody home"
    assert warnings[1] == "notify: 'no-such-program-at-all' is not on PATH"


def test_apprise_takes_it_to_any_service(tmp_path: Path, warnings: list[str], hook: Hook) -> None:
    service = hook.address.replace("http://", "json://")
    notifier = make_notifier(Notify(apprise=(service, "tgram://notoken", service)), tmp_path, warnings)
    secret = RunEnded(
        run="r1", outcome="failed", why="key sk-ant-api03-" + "a" * 40, exit_code=1, iterations=1, seconds=1
    )
    notifier(1.0, 1, [ENDED, secret])
    notifier.close()
    done, failed = (json.loads(hook.requests[at][1]) for at in (0, 2))
    assert (done["title"], done["type"]) == (f"ralph: {tmp_path.name} completed", "success")
    assert done["message"] == "2 guardrails passed (3 iterations, 1m1s, $0.50)"
    assert (failed["type"], "sk-ant-api03-aaa" in failed["message"]) == ("failure", False)
    assert warnings == ["notify: apprise knows no service for this tgram:// address"]


def test_a_service_that_cannot_be_reached_is_told_without_its_keys(tmp_path: Path, warnings: list[str]) -> None:
    notifier = make_notifier(Notify(apprise=("json://me:s3cret@127.0.0.1:9/hook",)), tmp_path, warnings)
    notifier(1.0, 1, [ENDED])
    notifier.close()
    [warning] = warnings
    assert warning.startswith("notify: json:// was not reached")
    assert "s3cret" not in warning


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (ENDED, "ended"),
        (RunEnded(run="r", outcome="stuck", why="", exit_code=1, iterations=1, seconds=1), "stuck"),
        (RunEnded(run="r", outcome="over_budget", why="", exit_code=1, iterations=1, seconds=1), "budget"),
        (RunEnded(run="r", outcome="interrupted", why="", exit_code=130, iterations=1, seconds=1), None),
        (Waiting(3600, "The account's limit is reached."), "limited"),
        (Waiting(5, "The account's limit is reached."), None),
        (Waiting(3600, "The model's service is in trouble."), None),
    ],
)
def test_only_what_is_worth_a_message_is_sent(
    tmp_path: Path, warnings: list[str], event: RunEnded | Waiting, kind: NoticeKind | None
) -> None:
    told = tmp_path / "told"
    for wanted in ((), (kind,)) if kind else (("ended", "limited"),):
        notifier = make_notifier(Notify(command=("tee", str(told)), on=wanted), tmp_path, warnings)
        notifier(1.0, 1, [event])
        notifier.close()
        assert told.exists() == (kind is not None and bool(wanted))
