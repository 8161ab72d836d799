"""Whether a loop gets anywhere: failures that are the same but for numbers, and trees that stay as they are."""

import re

from msgspec import Struct

_VOLATILE = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8,}|\d+(?:\.\d+)?", re.IGNORECASE)


class Streak(Struct, frozen=True):
    """How many times in a row the same sign was seen."""

    sign: str = ""
    times: int = 0

    def extend(self, sign: str) -> "Streak":
        """The streak after one more sign; an empty sign never continues one."""
        return Streak(sign, self.times + 1 if sign and sign == self.sign else 1)


def fingerprint_failure(reason: str) -> str:
    """The failure with numbers and hashes masked, so that repeats compare equal."""
    return " ".join(_VOLATILE.sub("#", reason.lower()).split())
