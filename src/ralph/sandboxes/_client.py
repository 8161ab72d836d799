"""The command line of a container engine: asked with a time limit, its complaints put into words."""

import os
import sys
from collections.abc import Mapping

from msgspec import Struct

from ralph.model.command import Command, CommandEnding
from ralph.model.ports import Processes
from ralph.model.sandbox import SandboxProbe
from ralph.process.output import Excerpt

CLIENT_TIMEOUT_SECONDS = 10.0  # one that hangs is down
_HEAD_BYTES, _TAIL_BYTES = 1 << 14, 1 << 14
_NO_DAEMON = (
    "cannot connect to the docker daemon",
    "is the docker daemon running",
    "error during connect",
    "no such file",
)


class Answer(Struct, frozen=True, kw_only=True):
    """What it said."""

    code: int
    output: str
    complaint: str
    ending: CommandEnding = "exited"

    @property
    def is_fine(self) -> bool:
        return self.code == 0 and self.ending == "exited"

    @property
    def lines(self) -> list[str]:
        return [line.strip() for line in self.output.splitlines() if line.strip()]

    @property
    def last_complaint(self) -> str:
        """The line to show: engines print advice and progress around it."""
        lines = [line.strip() for line in (self.complaint or self.output).splitlines() if line.strip()]
        said = [line for line in lines if not line.startswith(("See '", "Run '", "Usage"))]
        return said[-1] if said else f"exit code {self.code}"


class Client(Struct, frozen=True, kw_only=True):
    """A program and the words that belong to it: `docker`, `docker sandbox`, `sbx`, `podman`."""

    words: tuple[str, ...]
    variables: Mapping[str, str]  # of the user: they say where the engine is
    processes: Processes

    @property
    def title(self) -> str:
        return " ".join((os.path.basename(self.words[0]), *self.words[1:]))

    def ask(self, *words: str, stdin: bytes = b"", seconds: float | None = None) -> Answer:
        output, complaint = Excerpt(_HEAD_BYTES, _TAIL_BYTES), Excerpt(_HEAD_BYTES, _TAIL_BYTES)
        command = Command(
            argv=(*self.words, *words),
            environment=self.variables,
            cwd="/",
            stdin=stdin,
            timeout=seconds or CLIENT_TIMEOUT_SECONDS,
        )
        exited = self.processes.run(command, output.write, complaint.write)
        said = exited.error or complaint.text()
        return Answer(code=exited.code, output=output.text(), complaint=said, ending=exited.ending)


def explain_silence(client: Client, answer: Answer, platform: str = sys.platform) -> SandboxProbe:
    """Why an engine did not answer, and what to do about it."""
    said, title = answer.complaint.lower(), client.title
    is_mac = platform == "darwin"
    if answer.ending == "timed_out":
        return SandboxProbe(problem=f"{title} does not answer", hint=_suggest_restart(is_mac))
    if "permission denied" in said:
        hint = "sudo usermod -aG docker $USER, then log in again; or use podman, which needs no group"
        return SandboxProbe(problem=f"no permission to talk to {title}'s daemon", hint=hint)
    if any(words in said for words in _NO_DAEMON):
        return SandboxProbe(problem=f"{title}'s daemon is not running", hint=_suggest_restart(is_mac))
    return SandboxProbe(problem=f"{title}: {answer.last_complaint}", hint=f"try: {title} version")


def _suggest_restart(is_mac: bool) -> str:
    return "start Docker Desktop" if is_mac else "start it: sudo systemctl start docker"
