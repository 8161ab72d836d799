"""Use cases of specs: make, change and look at them."""

from collections.abc import Iterator
from contextlib import contextmanager

from ralph.app.paths import Paths
from ralph.app.stores import has_stores, open_existing_stores, open_stores
from ralph.core.tasks.task_names import find_name_problem
from ralph.model.board import Spec, build_unknown_spec_error
from ralph.model.errors import UsageError
from ralph.model.store_ports import SpecStore


def create_spec(places: Paths, name: str, title: str, text: str) -> Spec:
    """A new one; without a title it is called by its first heading, or by its name."""
    if problem := find_name_problem("spec", name):
        raise UsageError(problem, "for example: auth-feature")
    with _open_specs(places) as specs:
        specs.add_new(
            Spec(id=name, title=title.strip() or _find_first_heading(text) or name, text=_make_storable(text))
        )
        return specs.get(name)


def edit_spec(places: Paths, name: str, title: str | None, text: str | None) -> Spec:
    with _open_specs_with(places, name) as specs:
        specs.edit(name, title, None if text is None else _make_storable(text))
        return specs.get(name)


def load_spec(places: Paths, name: str) -> Spec:
    with _open_specs_with(places, name) as specs:
        return specs.get(name)


def list_specs(places: Paths) -> list[tuple[Spec, int]]:
    """All, each with the number of its tasks. Looking creates nothing."""
    with open_existing_stores(places) as stores:
        return [] if stores is None else stores.tasks.specs.list_all()


@contextmanager
def _open_specs(places: Paths) -> Iterator[SpecStore]:
    with open_stores(places) as stores:
        yield stores.tasks.specs


@contextmanager
def _open_specs_with(places: Paths, name: str) -> Iterator[SpecStore]:
    """Looking for what cannot be there creates nothing."""
    if not has_stores(places):
        raise build_unknown_spec_error(name)
    with _open_specs(places) as specs:
        yield specs


def _find_first_heading(text: str) -> str:
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return first.lstrip("#").strip() if first.startswith("#") else ""


def _make_storable(text: str) -> str:
    """Storable, whatever the file held."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
