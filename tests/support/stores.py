"""The stores a test works with. Only this and the tests of a database itself know which database that is."""

from ralph.model.store_ports import Stores
from ralph.stores.sqlite.stores import connect_stores


def connect(path: str) -> Stores:
    """A connection of its own; closed when nobody holds it any more."""
    return connect_stores(path)
