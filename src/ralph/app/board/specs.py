"""Use cases of specs: make, change and look at them."""

import os

from ralph.app.board.tasks import board
from ralph.app.paths import Places
from ralph.core.tasks.task_names import name_problem
from ralph.model.board import Spec
from ralph.model.errors import UsageError
from ralph.stores.specs import unknown_spec


def create(places: Places, name: str, title: str, text: str) -> Spec:
    """A new one; without a title it is called by its first heading, or by its name."""
    if problem := name_problem("spec", name):
        raise UsageError(problem, "for example: auth-feature")
    with board(places) as tasks:
        tasks.specs.put_new(Spec(name, title.strip() or _heading(text) or name, _clean(text)))
        return tasks.specs.get(name)


def edit(places: Places, name: str, title: str | None, text: str | None) -> Spec:
    """None: that stays."""
    _expect_database(places, name)
    with board(places) as tasks:
        tasks.specs.edit(name, title, None if text is None else _clean(text))
        return tasks.specs.get(name)


def show(places: Places, name: str) -> Spec:
    """One of them."""
    _expect_database(places, name)
    with board(places) as tasks:
        return tasks.specs.get(name)


def listed(places: Places) -> list[tuple[Spec, int]]:
    """All, each with the number of its tasks. Looking creates nothing."""
    if not os.path.exists(places.database):
        return []
    with board(places) as tasks:
        return tasks.specs.all()


def _expect_database(places: Places, name: str) -> None:
    """Looking for what cannot be there creates nothing."""
    if not os.path.exists(places.database):
        raise unknown_spec(name)


def _heading(text: str) -> str:
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return first.lstrip("#").strip() if first.startswith("#") else ""


def _clean(text: str) -> str:
    """Storable, whatever the file held."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
