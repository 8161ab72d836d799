"""What is worth telling someone who does not watch: which event, and in which words."""

from typing import Literal

from msgspec import Struct

from ralph.core.text.quantities import format_cost, format_duration, pluralize
from ralph.core.text.secrets import redact
from ralph.model.events import Event, RunEnded, Waiting

NoticeKind = Literal["ended", "stuck", "limited", "budget", "question"]
NOTICE_KINDS: tuple[NoticeKind, ...] = ("ended", "stuck", "limited", "budget", "question")
MIN_LIMIT_SECONDS = 60.0  # nobody wants to be called for a shorter wait
_KINDS_BY_OUTCOME: dict[str, NoticeKind] = {"stuck": "stuck", "over_budget": "budget", "blocked": "question"}


class Notice(Struct, frozen=True, kw_only=True):
    """One message to a person; as JSON, what `notify.command` and `notify.webhook` get. Fields are wire format."""

    event: NoticeKind
    title: str
    text: str
    run: str
    folder: str
    at: float  # unix time
    task: str = ""
    outcome: str = ""
    exit_code: int | None = None
    iterations: int | None = None
    seconds: float | None = None
    cost_usd: float | None = None
    flagged: bool = False  # completed, but files its checks rest on were changed: the text says which


def build_notice(event: Event, *, run: str, folder: str, at: float, task: str = "") -> Notice | None:
    """None for what is not worth a message: all but ends and long waits for a limit. Who interrupts a run knows."""
    name = folder.rstrip("/").rpartition("/")[2] or folder
    match event:
        case RunEnded() if event.outcome != "interrupted":
            outcome = event.outcome.replace("_", " ") + (", but look at its checks" if event.flagged else "")
            spent = format_cost(event.cost_usd, event.estimated_usd, unpriced=event.unpriced, unknown="")
            price = f", {spent}" if spent else ""
            facts = f"{pluralize(event.iterations, 'iteration')}, {format_duration(event.seconds)}{price}"
            return Notice(
                event=_KINDS_BY_OUTCOME.get(event.outcome, "ended"),
                title=f"ralph: {task or name} {outcome}",
                text=redact(f"{event.why} ({facts})"),
                run=event.run,
                folder=folder,
                at=at,
                task=task,
                outcome=event.outcome,
                exit_code=event.exit_code,
                iterations=event.iterations,
                seconds=event.seconds,
                cost_usd=event.cost_usd,
                flagged=event.flagged,
            )
        case Waiting(seconds, why) if seconds >= MIN_LIMIT_SECONDS and "limit" in why:
            title = f"ralph: {task or name} waits {format_duration(seconds)}"
            return Notice(
                event="limited",
                title=title,
                text=redact(why),
                run=run,
                folder=folder,
                at=at,
                task=task,
                seconds=seconds,
            )
        case _:
            return None
