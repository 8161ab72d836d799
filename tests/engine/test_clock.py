"""The clocks of a run, and who wants it to end."""

import time

from ralph.engine.clock import Clock
from ralph.model.control import PersonNote, Wishes
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


def test_the_clock_stands_still_while_a_run_is_paused() -> None:
    inbox = QuietInbox()
    try:
        clock = Clock(inbox, already=100.0)
        clock.stand_still(90.0)
        seen = clock.observe(Began())
    finally:
        inbox.close()
    assert 10.0 <= seen.at < 20.0


def test_what_people_want_is_seen_with_the_fact() -> None:
    inbox, note = QuietInbox(), PersonNote(id=1, text="Use tabs", by="alex")
    try:
        seen = Clock(inbox, read_wishes=lambda: Wishes(paused_by="alex", notes=(note,))).observe(Began())
    finally:
        inbox.close()
    assert (seen.paused_by, seen.notes) == ("alex", (note,))
