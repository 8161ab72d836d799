"""Use cases of specs: make, change and look at them."""

import os

from ralph.app.board.tasks import open_board
from ralph.app.paths import Paths
from ralph.core.tasks.task_names import find_name_problem
from ralph.model.board import Spec
from ralph.model.errors import UsageError
from ralph.stores.specs import build_unknown_spec_error


def create_spec(places: Paths, name: str, title: str, text: str) -> Spec:
    """A new one; without a title it is called by its first heading, or by its name."""
    if problem := find_name_problem("spec", name):
        raise UsageError(problem, "for example: auth-feature")
    with open_board(places) as tasks:
        tasks.specs.add_new(
            Spec(id=name, title=title.strip() or _first_heading(text) or name, text=_storable_text(text))
        )
        return tasks.specs.get(name)


def edit_spec(places: Paths, name: str, title: str | None, text: str | None) -> Spec:
    _require_database(places, name)
    with open_board(places) as tasks:
        tasks.specs.edit(name, title, None if text is None else _storable_text(text))
        return tasks.specs.get(name)


def load_spec(places: Paths, name: str) -> Spec:
    _require_database(places, name)
    with open_board(places) as tasks:
        return tasks.specs.get(name)


def list_specs(places: Paths) -> list[tuple[Spec, int]]:
    """All, each with the number of its tasks. Looking creates nothing."""
    if not os.path.exists(places.database):
        return []
    with open_board(places) as tasks:
        return tasks.specs.list_all()


def _require_database(places: Paths, name: str) -> None:
    """Looking for what cannot be there creates nothing."""
    if not os.path.exists(places.database):
        raise build_unknown_spec_error(name)


def _first_heading(text: str) -> str:
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return first.lstrip("#").strip() if first.startswith("#") else ""


def _storable_text(text: str) -> str:
    """Storable, whatever the file held."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
