"""Messages to the services apprise knows. Imported only where settings name one: it takes 0.2 s to load."""

import logging
from collections.abc import Iterable

from apprise import Apprise, LogCapture, NotifyType

from ralph.core.notice import Notice
from ralph.core.text.plain import one_line

MAX_COMPLAINT_CELLS = 200


def send_to_services(notice: Notice, addresses: Iterable[str]) -> list[str]:
    """One after the other, in this thread; what went wrong. No address is told whole: it holds keys."""
    return [problem for address in addresses if (problem := _send(notice, address))]


def _send(notice: Notice, address: str) -> str:
    kind = address.partition("://")[0]
    with LogCapture(level=logging.WARNING, fmt="%(message)s") as log:
        service = Apprise()
        if not service.add(address):
            return f"apprise knows no service for this {kind}:// address"
        if service.notify(title=notice.title, body=notice.text, notify_type=_choose_type(notice)):
            return ""
        said = one_line(log.getvalue().strip().rpartition("\n")[2].replace(address, f"{kind}://…"), MAX_COMPLAINT_CELLS)
    return f"{kind}:// was not reached" + (f": {said}" if said else "")


def _choose_type(notice: Notice) -> NotifyType:
    if notice.event != "ended" or notice.flagged:
        return NotifyType.WARNING
    return NotifyType.SUCCESS if notice.outcome == "completed" else NotifyType.FAILURE
