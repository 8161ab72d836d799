"""What all requests of one server share."""

import asyncio
from collections.abc import Callable, Mapping

from ralph.faces.web.access_tokens import AccessTokens
from ralph.faces.web.feed import Feed
from ralph.faces.web.repositories import Repositories

MAX_WORKERS = 16  # requests that are worked on at once; others wait


class WebContext:
    """One server's repositories, access tokens and feed; `by` is who its actions are told to be from."""

    def __init__(
        self,
        repositories: Repositories,
        tokens: AccessTokens,
        *,
        variables: Mapping[str, str],
        by: str,
        build_link: Callable[[str], str],
    ) -> None:
        self.repositories, self.tokens, self.variables, self.by = repositories, tokens, variables, by
        self.feed = Feed()
        self.workers = asyncio.Semaphore(MAX_WORKERS)
        self.is_closing = False
        self._build_link = build_link

    def issue_link(self) -> str:
        """A one-time link into this server."""
        return self._build_link(self.tokens.issue_link_token())

    def close(self) -> None:
        """In the event loop: streams and waiting requests end."""
        self.is_closing = True
        self.feed.close()
