"""What a parser remembers of calls by their id: the latest, so that endless ones cost no more memory."""

from itertools import islice

MAX_REMEMBERED_CALLS = 1_000  # calls open at one time; nobody has so many


class BoundedDict(dict[str, str]):
    """A dict that forgets the older half of its entries when it is full."""

    def remember(self, call: str, what: str = "") -> None:
        if len(self) >= MAX_REMEMBERED_CALLS:
            for old in list(
                islice(self, MAX_REMEMBERED_CALLS // 2)
            ):  # many at once: finding the first among gaps takes time
                del self[old]
        self[call] = what
