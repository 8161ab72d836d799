"""What the board has done by a thread of its own: it may take seconds, and who quits meanwhile need not wait."""

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Generic, TypeVar

from textual.message import Message
from textual.screen import Screen

from ralph.model.errors import RalphError

_ResultT = TypeVar("_ResultT")


class JobEnded(Message, Generic[_ResultT]):
    """It is done: the thread that draws is to call `then`, or to tell the error."""

    def __init__(self, then: Callable[[], None], error: RalphError | None = None) -> None:
        super().__init__()
        self.then, self.error = then, error


def start_job(screen: Screen[None], job: Callable[[], _ResultT], then: Callable[[_ResultT], None]) -> None:
    """`then` is called with what the job gives, by the thread that draws."""

    def work() -> None:
        try:
            result = job()
        except RalphError as error:
            screen.post_message(JobEnded(lambda: None, error))
        else:
            screen.post_message(JobEnded(lambda: then(result)))

    threading.Thread(target=copy_context().run, args=(work,), daemon=True).start()
