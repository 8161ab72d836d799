"""Which repositories a server shows: the one it was started in, or all of this machine."""

import os
from binascii import crc32
from collections.abc import Mapping

from ralph.app.board.tasks import list_cards
from ralph.app.paths import Paths
from ralph.app.repositories import list_repositories
from ralph.app.runs.status import list_recent_runs
from ralph.core.text.secrets import redact
from ralph.faces.views.shapes import RepositoriesAnswer, RepositoryView
from ralph.model.errors import RalphError

MAX_RUNS_SEEN = 50


class NoSuchRepository(RalphError):
    """No repository of that key is shown here."""

    code = "no_such_repository"


class Repositories:
    """By keys that stand in URLs; the key of a repository stays the same."""

    def __init__(self, here: Paths, variables: Mapping[str, str], *, shows_all: bool) -> None:
        self.here, self.shows_all = here, shows_all
        self.key = name_repository(here)
        self._variables = variables

    def list_places(self) -> dict[str, Paths]:
        """The one we are in first."""
        others = list_repositories(self._variables) if self.shows_all else ()
        found = {name_repository(paths): paths for paths in others if paths.state != self.here.state}
        return {self.key: self.here, **found}

    def find(self, key: str) -> Paths:
        places = {self.key: self.here} if key in ("", self.key) else self.list_places()
        paths = places.get(key or self.key)
        if paths is None:
            hint = "see `GET /api/v1/repositories`" if self.shows_all else "start the server with `ralph web --all`"
            raise NoSuchRepository(f"no repository {key!r} is shown here", hint)
        return paths

    def describe(self) -> RepositoriesAnswer:
        return RepositoriesAnswer(
            [_describe_repository(key, paths, self.key) for key, paths in self.list_places().items()]
        )


def name_repository(paths: Paths) -> str:
    """Safe in a URL, and another one for every folder."""
    name = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in os.path.basename(paths.root))
    return f"{name}-{crc32(os.fsencode(paths.state)):08x}"


def _describe_repository(key: str, paths: Paths, here: str) -> RepositoryView:
    view = RepositoryView(key=key, name=os.path.basename(paths.root), root=paths.root, here=key == here)
    try:
        cards, runs = list_cards(paths), list_recent_runs(paths, MAX_RUNS_SEEN)
    except RalphError as error:
        return RepositoryView(key=key, name=view.name, root=view.root, here=view.here, problem=redact(error.message))
    return RepositoryView(
        key=key,
        name=view.name,
        root=view.root,
        here=view.here,
        running=sum(run.ended_at is None for run in runs),
        tasks=len(cards),
        done=sum(card.status == "done" for card in cards),
    )
