"""What a parser remembers of calls by their id: the latest, so that endless ones cost no more memory."""

MOST = 1_000  # calls open at one time; nobody has so many


class Recent(dict[str, str]):
    """A dict that forgets its oldest entry when it is full."""

    def remember(self, call: str, what: str = "") -> None:
        """Add an entry."""
        if len(self) >= MOST:
            del self[next(iter(self))]
        self[call] = what
