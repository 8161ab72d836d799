"""What the loops' tests have in common."""

from collections.abc import Iterator

import pytest

from support.quiet_inbox import QuietInbox
from support.scripted_processes import Listener


@pytest.fixture
def inbox() -> Iterator[QuietInbox]:
    made = QuietInbox()
    yield made
    made.close()


@pytest.fixture
def listener() -> Listener:
    return Listener()
