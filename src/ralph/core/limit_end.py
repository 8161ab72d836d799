"""When a usage limit ends, by the words of the service: an epoch, an hour, a weekday, a date, or a span of time."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

# An hour that has just passed is the one that was meant: clocks differ, and an answer takes its time.
JUST_PASSED_SECONDS = 600.0
MAX_SPAN_SECONDS = 40 * 86_400.0  # no limit is longer; a larger figure is another figure

_ANNOUNCEMENT = (
    r"(?:\bresets?(?:[ _](?:at|on|in|after))?|\breset (?:at|on|in|after)|try again (?:at|on|in|after)"
    r"|retry (?:at|in|after)|available again (?:at|on|in)|limit ends (?:at|on|in)|\buntil|wait)\b\"?:?\s*"
)
_EPOCH = r'(?:\||resets?(?:[ _]at)?"?:? ?)(\d{10})(?:\d{3})?(?!\d)'
_BARE_SECONDS = r'(?:retry[ _-]after|resets?[ _]in[ _]seconds)"?:?\s*(\d+(?:\.\d+)?)(?![\d:]|\s*[a-z])'
_ISO = r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.\d+)?\s*(Z\b|[+-]\d\d:?\d\d)?"
_OFFSET = r"(?:UTC|GMT)([+-])(\d{1,2})(?::?(\d\d))?"
_UNITS = {"w": 604_800.0, "d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}
_SPAN_PART = (
    r"(\d+(?:\.\d+)?|\ban?\b)\s*(w(?:eeks?)?|d(?:ays?)?|h(?:ours?|rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)(?![a-z])"
)
_SPAN = rf"(?:(?:about|approximately)\s+)?((?:{_SPAN_PART}[\s,]*(?:and\s+)?)+)"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = (
    rf"(?:(?P<weekday>{'|'.join(_WEEKDAYS)})[a-z]*\.?,?\s+)?"
    rf"(?:(?P<month>{'|'.join(_MONTHS)})[a-z]*\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<year>\d{{4}}))?,?\s+)?"
    r"(?:(?P<named>today|tomorrow),?\s+)?(?:at\s+)?"
)
_HOUR = (
    r"(?:(?P<midnight>midnight)|(?P<noon>noon)|(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?::\d\d)?"
    r"\s*(?P<half>[ap]\.?m\b\.?)?)"
)
_ZONE = (
    r"(?:\s*\(?(?P<zone>[A-Z][A-Za-z_]+/[A-Za-z_/+-]+\w|(?:UTC|GMT)[+-]\d{1,2}(?::?\d\d)?|[A-Z]{2,4}\b"
    r"|Pacific|Eastern|Central|Mountain)(?:\s+[Tt]ime)?\)?)?"
)
_ZONES_BY_NAME = {
    **dict.fromkeys(("UTC", "GMT"), "UTC"),
    **dict.fromkeys(("PT", "PST", "PDT", "Pacific"), "America/Los_Angeles"),
    **dict.fromkeys(("MT", "MST", "MDT", "Mountain"), "America/Denver"),
    **dict.fromkeys(("CT", "CST", "CDT", "Central"), "America/Chicago"),
    **dict.fromkeys(("ET", "EST", "EDT", "Eastern"), "America/New_York"),
    **dict.fromkeys(("CET", "CEST"), "Europe/Berlin"),
    **dict.fromkeys(("EET", "EEST"), "Europe/Helsinki"),
    **dict.fromkeys(("BST", "WET"), "Europe/London"),
    "JST": "Asia/Tokyo",
    "IST": "Asia/Kolkata",
}


def find_limit_end(words: str, now: float, local: tzinfo | None = None) -> float | None:
    """Unix time; None: nobody told, or in words we do not know. `local` is the zone of an hour that names none; None:
    that of this machine."""
    if epoch := re.search(_EPOCH, words, re.IGNORECASE):
        return float(epoch[1])
    if seconds := re.search(_BARE_SECONDS, words, re.IGNORECASE):
        return now + float(seconds[1])
    for announced in re.finditer(_ANNOUNCEMENT, words, re.IGNORECASE):
        text = words[announced.end() :].partition("\n")[0]
        for end in _read_forms(text, now, local):
            if end is not None and end - now <= MAX_SPAN_SECONDS:
                return end
    return None


def _read_forms(text: str, now: float, local: tzinfo | None) -> Iterator[float | None]:
    yield _read_iso(text, local)
    yield _read_span(text, now)
    yield _read_hour(text, now, local)


def _read_iso(text: str, local: tzinfo | None) -> float | None:
    found = re.match(_ISO + _ZONE, text)
    if not found:
        return None
    try:
        at = datetime.fromisoformat(f"{found[1]}T{found[2]}{found[3] or ''}")
        return (at if at.tzinfo else at.replace(tzinfo=_find_zone(found["zone"], local))).timestamp()
    except (ValueError, LookupError):
        return None


def _read_span(text: str, now: float) -> float | None:
    """3 hours 12 minutes, 18h31m10s, 20 s, an hour"""
    found = re.match(_SPAN, text, re.IGNORECASE)
    if not found:
        return None
    parts = re.findall(_SPAN_PART, found[1], re.IGNORECASE)
    return now + sum(float(amount if amount[0].isdigit() else 1) * _UNITS[unit[0].lower()] for amount, unit in parts)


def _read_hour(text: str, now: float, local: tzinfo | None) -> float | None:
    """5pm (Europe/Vilnius), Nov 20th, 2026 8:56 AM, Monday at 9:00, tomorrow at 9am"""
    found = re.match(_DAY + _HOUR + _ZONE, text, re.IGNORECASE)
    if not found or not _is_hour_told(found):
        return None
    clock = _read_clock(found)
    try:
        zone = _find_zone(found["zone"], local)
    except (LookupError, ValueError):  # a zone that this machine does not know: the hour could be any
        return None
    if clock is None:
        return None
    today = datetime.fromtimestamp(now, zone).date()
    ends = (_to_unix_time(day, clock, zone, now) for day in _list_days(found, today))
    return next((end for end in ends if end > now - JUST_PASSED_SECONDS), None)


def _is_hour_told(found: re.Match[str]) -> bool:
    """A bare figure is no hour, unless a day stands before it."""
    has_day = bool(found["weekday"] or found["month"] or found["named"])
    return bool(found["midnight"] or found["noon"] or found["minute"] or found["half"]) or has_day


def _read_clock(found: re.Match[str]) -> time | None:
    if found["midnight"] or found["noon"]:
        return time(12 if found["noon"] else 0)
    hour, half = int(found["hour"]), (found["half"] or "")[:1].lower()
    if half and hour > 12:
        return None
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    try:
        return time(hour, int(found["minute"] or 0))
    except ValueError:
        return None


def _find_zone(name: str | None, local: tzinfo | None) -> tzinfo | None:
    if offset := re.fullmatch(_OFFSET, name or "", re.IGNORECASE):
        ahead = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
        return timezone(ahead if offset[1] == "+" else -ahead)
    known = _ZONES_BY_NAME.get(name or "", name or "")
    if known == "UTC":
        return UTC
    return ZoneInfo(known) if "/" in known else local  # other capitals are no zone


def _list_days(found: re.Match[str], today: date) -> Iterator[date]:
    """The days that may be meant, the next first."""
    if found["month"]:
        month, day = _MONTHS.index(found["month"].lower()) + 1, int(found["day"])
        for year in [int(found["year"])] if found["year"] else [today.year, today.year + 1]:
            try:
                yield date(year, month, day)
            except ValueError:
                return
    elif found["weekday"]:
        ahead = (_WEEKDAYS.index(found["weekday"].lower()) - today.weekday()) % 7
        yield from (today + timedelta(days=days) for days in (ahead, ahead + 7))
    else:
        first = 1 if (found["named"] or "").lower() == "tomorrow" else 0
        yield from (today + timedelta(days=days) for days in (first, first + 1))


def _to_unix_time(day: date, clock: time, zone: tzinfo | None, now: float) -> float:
    """An hour that comes twice, when clocks are put back, is the one that is still to come."""
    first = datetime.combine(day, clock, zone)
    end = first.timestamp()
    return end if end > now else first.replace(fold=1).timestamp()
