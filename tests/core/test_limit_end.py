"""When a limit ends, in the words of services."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.limit_end import MAX_SPAN_SECONDS, find_limit_end

VILNIUS = ZoneInfo("Europe/Vilnius")
TUESDAY = datetime(2026, 11, 17, 14, 0, tzinfo=VILNIUS)


def read(words: str, now: datetime = TUESDAY) -> str:
    end = find_limit_end(words, now.timestamp(), VILNIUS)
    return "" if end is None else f"{datetime.fromtimestamp(end, VILNIUS):%m-%d %H:%M:%S}"


@pytest.mark.parametrize(
    ("words", "end"),
    [
        # an hour
        ("You've hit your limit · resets 5pm (Europe/Vilnius)", "11-17 17:00:00"),
        ("You've hit your limit · resets 5:30pm (America/New_York)", "11-18 00:30:00"),
        ("5-hour limit reached ∙ resets 3pm", "11-17 15:00:00"),
        ("Your limit will reset at 2 a.m. (Europe/Berlin).", "11-18 03:00:00"),
        ("You've hit your usage limit. Upgrade to Pro, or try again at 8:56 AM.", "11-18 08:56:00"),
        ("resets at 17:00", "11-17 17:00:00"),
        ("resets 12am (UTC)", "11-18 02:00:00"),
        ("resets 12pm", "11-18 12:00:00"),
        ("Daily quota resets at midnight Pacific time", "11-18 10:00:00"),
        ("resets at noon PST", "11-17 22:00:00"),
        # a day and an hour
        ("try again at Nov 20th, 2026 8:56 AM.", "11-20 08:56:00"),
        ("You've hit your session limit · resets Nov 30, 11:30am (Asia/Calcutta)", "11-30 08:00:00"),
        ("Weekly limit reached ∙ resets Monday 9am", "11-23 09:00:00"),
        ("Weekly limit reached ∙ resets Tue 3pm", "11-17 15:00:00"),
        ("Weekly limit reached ∙ resets Tuesday at 9:00", "11-24 09:00:00"),
        ("resets tomorrow at 9am", "11-18 09:00:00"),
        ("resets tomorrow at 3pm", "11-18 15:00:00"),
        ("resets today at 3pm", "11-17 15:00:00"),
        ("resets Friday at 9", "11-20 09:00:00"),  # a bare figure is an hour behind a day
        ("resets Nov 20 at 9", "11-20 09:00:00"),
        ("resets tomorrow at 9", "11-18 09:00:00"),
        ("resets at 2026-11-17T15:00:00Z", "11-17 17:00:00"),
        ("resets at 2026-11-17 15:00:30", "11-17 15:00:30"),
        ("resets at 2026-11-17 15:00:30 UTC", "11-17 17:00:30"),
        ("resets at 2026-11-17 15:00 (Nowhere/Land)", ""),
        ("resets at 15:00 UTC+1", "11-17 16:00:00"),
        ("resets 3pm (GMT-5:30)", "11-17 22:30:00"),
        ("resets at 15:00 UTC+99", ""),
        # a span
        ("Please try again in 3 hours 12 minutes.", "11-17 17:12:00"),
        ("Try again in 4 days, 2 hours and 3 minutes", "11-21 16:03:00"),
        ("Your quota will reset after 18h31m10s.", "11-18 08:31:10"),
        ("limit, resets in 20 s", "11-17 14:00:20"),
        ("try again in an hour", "11-17 15:00:00"),
        ("resets in 1 week and a day", "11-25 14:00:00"),
        ("retry-after: 30", "11-17 14:00:30"),
        ('{"type": "usage_limit_reached", "resets_in_seconds": 3600}', "11-17 15:00:00"),
        # nothing to go by
        ("You've hit your limit", ""),
        ("resets 5 times a day", ""),
        ("resets 25pm", ""),
        ("resets 5pm (Nowhere/Land)", ""),
        ("It resets when the moon is full", ""),
        ("try again in 400 days", ""),
        ("resets Feb 30, 5pm", ""),
        ("try again later at 5pm", ""),
    ],
)
def test_the_end_of_a_limit_is_read_as_services_write_it(words: str, end: str) -> None:
    assert read(words) == end


def test_a_day_that_is_over_is_next_years() -> None:
    new_years_eve = datetime(2026, 12, 30, 14, 0, tzinfo=VILNIUS)
    end = find_limit_end("resets Jan 2, 5pm", new_years_eve.timestamp(), VILNIUS)
    assert end == datetime(2027, 1, 2, 17, 0, tzinfo=VILNIUS).timestamp()


def test_an_epoch_is_read_in_seconds_and_milliseconds() -> None:
    for words in ("limit reached|1763230000", "limit reached|1763230000123", '"resets_at": 1763230000,'):
        assert find_limit_end(words, 0.0) == 1763230000.0


def test_an_hour_that_has_just_passed_is_not_tomorrows() -> None:
    assert read("resets 1:55pm") == "11-17 13:55:00"
    assert read("resets 1:45pm") == "11-18 13:45:00"


def test_an_hour_that_comes_twice_is_the_one_to_come() -> None:
    """On October 25th 2026 clocks go from 04:00 back to 03:00."""
    half_past = datetime(2026, 10, 25, 3, 30, tzinfo=VILNIUS)
    end = find_limit_end("resets 3:15am", half_past.timestamp(), VILNIUS)
    assert end == half_past.timestamp() - 900.0 + 3600.0


def test_an_hour_that_is_left_out_comes_when_it_would_have() -> None:
    """On March 28th 2027 clocks go from 03:00 on to 04:00."""
    late = datetime(2027, 3, 28, 2, 0, tzinfo=VILNIUS)
    assert find_limit_end("resets 3:30am", late.timestamp(), VILNIUS) == late.timestamp() + 5400.0


def test_an_hour_without_a_zone_is_this_machines() -> None:
    now = datetime(2026, 11, 17, 14, 0).astimezone()
    assert find_limit_end("resets 5pm", now.timestamp()) == (now + timedelta(hours=3)).timestamp()


@given(words=st.text(), now=st.floats(0, 4e9))
def test_any_words_give_a_time_or_none(words: str, now: float) -> None:
    end = find_limit_end(f"resets {words}", now, VILNIUS)
    assert end is None or end - now <= MAX_SPAN_SECONDS or end >= 1e9  # an epoch is told as it is
