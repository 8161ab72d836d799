"""Claims of completion, and what they are verified with."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ralph.app.pipeline.verification import tools_of
from ralph.model.ports import Processes
from ralph.model.verdict import Claim, Opinion, Tools
from ralph.process.supervisor import Supervisor
from support.quiet_inbox import QuietInbox

PROMISE = "AUTH_IMPLEMENTED"
SAID = f"All of it is committed.\n\n<promise>{PROMISE}</promise>\n"


@contextmanager
def supervised() -> Iterator[Processes]:
    """A guardian of its own, for one command."""
    inbox = QuietInbox()
    supervisor = Supervisor(inbox)
    try:
        yield supervisor
    finally:
        supervisor.close()
        inbox.close()


def claim(folder: object = "/", output: str = SAID, **more: Any) -> Claim:
    """What a coder says after good work."""
    options: dict[str, Any] = {"promise": PROMISE, "agent": "coder", **more}
    return Claim(output=output, folder=str(folder), environment={"PATH": os.environ["PATH"]}, **options)


class Bench:
    """A judge that answers from a script and remembers what it was asked."""

    def __init__(self, *answers: Opinion | Exception | None) -> None:
        self._answers = [*answers]
        self.asked: list[tuple[str, str]] = []

    def __call__(self, prompt: str, model: str) -> Opinion | None:
        self.asked.append((prompt, model))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def tools(judge: Bench | None = None) -> Tools:
    """Real processes, an empty memory."""
    return tools_of(supervised, judge)
