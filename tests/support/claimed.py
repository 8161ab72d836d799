"""Claims of completion, and what they are verified with."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ralph.app.pipeline.verification import build_tools
from ralph.model.ports import Processes
from ralph.model.verdict import Claim, JudgeAnswer, VerifierTools
from ralph.process.supervisor import Supervisor
from support.quiet_inbox import QuietInbox

PROMISE = "AUTH_IMPLEMENTED"
PROMISE_OUTPUT = f"All of it is committed.\n\n<promise>{PROMISE}</promise>\n"


@contextmanager
def open_supervisor() -> Iterator[Processes]:
    """A guardian of its own, for one command."""
    inbox = QuietInbox()
    supervisor = Supervisor(inbox)
    try:
        yield supervisor
    finally:
        supervisor.close()
        inbox.close()


def make_claim(folder: object = "/", output: str = PROMISE_OUTPUT, **more: Any) -> Claim:
    """What a coder says after good work."""
    options: dict[str, Any] = {"promise": PROMISE, "agent": "coder", **more}
    return Claim(output=output, folder=str(folder), environment={"PATH": os.environ["PATH"]}, **options)


class ScriptedJudge:
    """A judge that answers from a script and remembers what it was asked."""

    def __init__(self, *answers: JudgeAnswer | Exception | None) -> None:
        self._answers = [*answers]
        self.asked: list[tuple[str, str]] = []

    def __call__(self, prompt: str, model: str) -> JudgeAnswer | None:
        self.asked.append((prompt, model))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def make_tools(judge: ScriptedJudge | None = None, words: bool = False) -> VerifierTools:
    """Real processes, an empty memory."""
    return build_tools(open_supervisor, judge, words=words)
