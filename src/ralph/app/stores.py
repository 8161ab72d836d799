"""Opens what ralph remembers. Which database that is, only this module knows; all others speak to the ports."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from ralph.app.paths import Paths
from ralph.model.store_ports import Changes, Stores
from ralph.stores.sqlite.changes import SqliteChanges
from ralph.stores.sqlite.database import translate_errors
from ralph.stores.sqlite.stores import connect_stores

if TYPE_CHECKING:
    from ralph.core.tasks.specflow_records import SpecFlowContent


def has_stores(paths: Paths) -> bool:
    """Whether anything was ever remembered here. Asking creates nothing."""
    return os.path.exists(paths.database)


@contextmanager
def open_stores(paths: Paths, *, shared: bool = False) -> Iterator[Stores]:
    """Made where there are none, and closed after the block; what the database gets wrong inside it is an error a user
    can act on. Each thread opens its own, unless they are to be shared: then threads take turns with them."""
    with friendly_errors(paths):
        stores = connect_stores(paths.database, shared=shared)
        try:
            yield stores
        finally:
            stores.close()


@contextmanager
def open_existing_stores(paths: Paths) -> Iterator[Stores | None]:
    """The same, but None where there are none yet: looking creates nothing."""
    if not has_stores(paths):
        yield None
        return
    with open_stores(paths) as stores:
        yield stores


def watch_changes(paths: Paths) -> Changes:
    """For who looks again and again; to be used inside `friendly_errors`, and closed."""
    return SqliteChanges(paths.database)


def load_specflow_database(path: str) -> "SpecFlowContent":
    """What the database of a SpecFlow project holds."""
    from ralph.stores.sqlite.specflow_database import read_specflow_database  # no loop needs it

    return read_specflow_database(path)


def friendly_errors(paths: Paths) -> AbstractContextManager[None]:
    """Turns the database's errors inside the block into ones a user can act on; StateBusy: it may work in a moment."""
    return translate_errors(paths.database)
