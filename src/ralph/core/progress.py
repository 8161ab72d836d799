"""When two iterations are alike: failures that are the same but for numbers and times, answers that say the same."""

import re
from hashlib import sha256

from msgspec import Struct

MAX_FAILURE_CHARS = 20_000
SIMILAR_WORDS = 0.7  # of two answers, in common: they say the same
MIN_TELLING_WORDS = 4  # a shorter answer tells nothing new, whatever it says

# Compiled when something failed, not when ralph starts.
_NUMBER = r"0x[0-9a-f]+|[0-9a-f]{8,}|\d+(?:\.\d+)?"
# What differs between two runs of the very same check. Counts, "3 failed", are no part of it: they tell of progress.
_VOLATILE = (
    r"\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:z|[+-]\d\d:?\d\d)?)?"  # dates
    r"|\b\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?\b"  # times
    r"|\b(?:mon|tue|wed|thu|fri|sat|sun)\b|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec) +\d+\b"
    r"|\b\d+(?:[.,]\d+)? ?(?:ns|us|µs|ms|s|secs?|seconds?|mins?|minutes?|h|hours?)\b"  # durations
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|0x[0-9a-f]+|\b(?=[a-f]*\d)[0-9a-f]{7,}\b"  # addresses, hashes
    r"|(?:/private)?/(?:var/)?(?:tmp|folders)/[^\s:'\")]+|/dev/shm/[^\s:'\")]+"  # only looked for
    r"|\b(?:pid|port|seed|line|thread|process|worker|attempt|iteration|try|run)[ =:#]*\d+"
    r"|\b(?:localhost|127\.0\.0\.1):\d+|(?<=[\w)\]]):\d+(?::\d+)?\b"  # ports, places in files
    r"|\d+\.\d{3,}|\d{5,}"  # no count is that exact, or that large
)
_WORD = r"[^\W\d_]{2,}"


class Streak(Struct, frozen=True):
    """How many times in a row the same sign was seen."""

    sign: str = ""
    times: int = 0

    def extend(self, sign: str) -> "Streak":
        """The streak after one more sign; an empty sign never continues one."""
        return Streak(sign, self.times + 1 if sign and sign == self.sign else 1)


def fingerprint_failure(reason: str) -> str:
    """The failure with numbers and hashes masked, so that repeats compare equal."""
    return " ".join(re.sub(_NUMBER, "#", reason.lower()).split())


def digest_failure(failure: str, *, keeps_counts: bool) -> str:
    """A short sign of a failure. `keeps_counts`: 3 failed and 2 failed are two failures; else they are one."""
    masked = re.sub(_VOLATILE, "#", failure[-MAX_FAILURE_CHARS:].lower())
    masked = masked if keeps_counts else re.sub(_NUMBER, "#", masked)
    return sha256(" ".join(masked.split()).encode("utf-8", "replace")).hexdigest()[:16]


def normalize_answer(text: str, limit: int) -> str:
    """Its words alone: what two answers are compared by."""
    return " ".join(re.findall(_WORD, text.lower()))[:limit]


def says_something_new(answer: str, before: tuple[str, ...]) -> bool:
    """Whether an answer, normalized as those before it, is more than one of them in other words."""
    words = {*answer.split()}
    return len(words) >= MIN_TELLING_WORDS and all(
        _compute_share(words, {*each.split()}) < SIMILAR_WORDS for each in before
    )


def _compute_share(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(1, len(one | other))
