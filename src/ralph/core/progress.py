"""Whether a loop gets anywhere: failures that are the same but for numbers, and trees that stay as they are."""

import re

from msgspec import Struct

_VOLATILE = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8,}|\d+(?:\.\d+)?", re.IGNORECASE)


class Streak(Struct, frozen=True):
    """The same thing so many times in a row."""

    sign: str = ""
    times: int = 0

    def extend(self, sign: str) -> "Streak":
        """One more of it, or the first of another; an empty sign says nothing."""
        return Streak(sign, self.times + 1 if sign and sign == self.sign else 1)


def fingerprint_failure(reason: str) -> str:
    """A failure without what changes from run to run."""
    return " ".join(_VOLATILE.sub("#", reason.lower()).split())
