"""Tells people who do not watch how a run goes: by a command, a webhook or apprise, never in the run's way."""

import hashlib
import hmac
import importlib.util
import queue
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence

import msgspec

from ralph.config.schema import Notify
from ralph.core.notice import Notice, build_notice
from ralph.core.text.secrets import redact
from ralph.model.command import Command
from ralph.model.events import Event, RunStarted
from ralph.process.output import Excerpt
from ralph.process.shell import find_program
from ralph.process.supervisor import Supervisor

COMMAND_TIMEOUT_SECONDS = 20.0
WEBHOOK_TIMEOUT_SECONDS = 5.0
WEBHOOK_RETRY_SECONDS = (0.5, 2.0)  # before each further try
CLOSE_TIMEOUT_SECONDS = 30.0  # how long the end of a run waits for its last message
SIGNATURE_HEADER = "X-Ralph-Signature"
NO_APPRISE_WARNING = (
    "notify.apprise: apprise is not installed, so nothing is sent; pip install 'ralph-verified[notify]'"
)


class Notifier:
    """A Watcher. Messages are sent by a thread of their own, one after the other; what went wrong is told once."""

    def __init__(
        self,
        settings: Notify,
        *,
        folder: str,
        variables: Mapping[str, str],
        warn: Callable[[str], object],
        task: str = "",
    ) -> None:
        self._settings, self._folder, self._variables = settings, folder, variables
        self._warn, self._task = warn, task
        self._run = ""
        self._notices: queue.SimpleQueue[Notice | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._problems: list[str] = []

    def __call__(self, at: float, iteration: int, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, RunStarted):
                self._run = event.run
            notice = build_notice(event, run=self._run, folder=self._folder, at=at, task=self._task)
            if notice is not None:
                self.send(notice)

    def send(self, notice: Notice) -> None:
        """Soon; returns at once. Nothing where nobody wants to hear of it."""
        if notice.event not in self._settings.on or not self._settings.names_someone:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._send_all, name="notify", daemon=True)
            self._thread.start()
        self._notices.put(notice)

    def close(self) -> None:
        """Wait for what is under way, and say what could not be sent."""
        if self._thread is None:
            return
        self._notices.put(None)
        self._thread.join(CLOSE_TIMEOUT_SECONDS)
        if self._thread.is_alive():
            self._problems.append(f"notify: not sent within {CLOSE_TIMEOUT_SECONDS:.0f}s")
        for problem in dict.fromkeys(self._problems):
            self._warn(problem)

    def _send_all(self) -> None:
        while (notice := self._notices.get()) is not None:
            for send in (self._run_command, self._post_webhook, self._send_by_apprise):
                try:
                    problem = send(notice)
                except Exception as error:  # noqa: BLE001  # whatever is wrong with a message, the run goes on
                    problem = f"{type(error).__name__}: {error}"
                if problem:
                    self._problems.append(redact(f"notify: {problem}"))

    def _run_command(self, notice: Notice) -> str:
        if not self._settings.command:
            return ""
        name, *words = self._settings.command
        program = find_program(name, self._variables, self._folder)
        if program is None:
            return f"{name!r} is not on PATH"
        output = Excerpt(1 << 10, 1 << 10)
        command = Command(
            argv=(program, *words),
            environment=dict(self._variables),
            cwd=self._folder,
            stdin=msgspec.json.encode(notice),
            timeout=COMMAND_TIMEOUT_SECONDS,
            merged=True,
        )
        processes = Supervisor(_NoInbox())
        try:
            exited = processes.run(command, output.write, output.write)
        finally:
            processes.close()
        if exited.ending == "exited" and exited.code == 0:
            return ""
        said = exited.error or output.text().strip()[-200:]
        how = "timed out" if exited.ending == "timed_out" else f"failed with exit code {exited.code}"
        return f"{name} {how}" + (f": {said}" if said else "")

    def _post_webhook(self, notice: Notice) -> str:
        if not self._settings.webhook:
            return ""
        body = msgspec.json.encode(notice)
        problem = ""
        for delay in (0.0, *WEBHOOK_RETRY_SECONDS):
            time.sleep(delay)
            problem, is_final = _post(self._settings.webhook, body, self._build_headers(notice, body))
            if not problem or is_final:
                break
        return problem

    def _send_by_apprise(self, notice: Notice) -> str:
        if not self._settings.apprise or not has_apprise():
            return ""  # that it is missing was told when the run began
        from ralph.app.apprise_services import send_to_services

        return "; ".join(send_to_services(notice, self._settings.apprise))

    def _build_headers(self, notice: Notice, body: bytes) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "User-Agent": "ralph", "X-Ralph-Event": notice.event}
        if secret := self._variables.get(self._settings.secret_variable, ""):
            digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
            headers[SIGNATURE_HEADER] = f"sha256={digest}"
        return headers


def has_apprise() -> bool:
    """Whether the extra is installed; asking imports nothing of it."""
    return importlib.util.find_spec("apprise") is not None


def _post(address: str, body: bytes, headers: Mapping[str, str]) -> tuple[str, bool]:
    """What went wrong, and whether another try would go wrong, too."""
    request = urllib.request.Request(
        address, data=body, headers=dict(headers), method="POST"
    )  # checked with the settings
    try:
        with urllib.request.urlopen(request, timeout=WEBHOOK_TIMEOUT_SECONDS):
            return "", True
    except urllib.error.HTTPError as error:
        error.close()
        return f"the webhook answered {error.code}", 400 <= error.code < 500 and error.code != 429
    except (OSError, ValueError) as error:
        return f"the webhook cannot be reached: {getattr(error, 'reason', error)}", isinstance(error, ValueError)


class _NoInbox:
    """Nobody interrupts a message: it has a time limit."""

    def fileno(self) -> int | None:
        return None

    def poll_interruption(self) -> str:
        return ""

    def poll_stop_grace(self) -> float | None:
        return None

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)
