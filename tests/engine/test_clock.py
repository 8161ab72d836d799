"""The clocks of a run, and who wants it to end."""

import time

from ralph.engine.clock import Clock
from ralph.model.loop import Began
from support.quiet_inbox import QuietInbox


def test_what_is_seen_is_seen_now_and_counts_on_from_an_earlier_life() -> None:
    inbox = QuietInbox()
    try:
        clock = Clock(inbox, already=100.0)
        inbox.by = "received SIGINT"
        seen = clock.observe(Began())
    finally:
        inbox.close()
    assert 100.0 <= seen.at < 110.0
    assert abs(seen.wall - time.time()) < 10
    assert (seen.fact, seen.interrupted_by) == (Began(), "received SIGINT")
