"""Telling watchers what happens now."""

import time
from collections.abc import Sequence

from ralph.core.text.secrets import redact
from ralph.model.events import Debugged, Event
from ralph.model.ports import Watcher


def emit(watchers: Sequence[Watcher], iteration: int, *events: Event) -> None:
    now = time.time()
    for watch in watchers:
        watch(now, iteration, events)


def emit_debug(watchers: Sequence[Watcher], iteration: int, *texts: str) -> None:
    """What `--verbose` shows, secrets hidden. Half characters, as file names may hold, are no text for others."""
    emit(watchers, iteration, *(Debugged(redact(text.encode("utf-8", "replace").decode())) for text in texts))
