"""Runs whose process is gone: marked as lost, and what they left behind ended."""

from ralph.process.identity import Identity, is_alive
from ralph.stores.runs import RunRecord, Runs

LOST = "lost"
LOST_WHY = "its process ended without a word"


def lives(record: RunRecord) -> bool:
    """Whether the process that runs it does."""
    return is_alive(Identity(record.pid, record.ticks, record.boot))


def marked(runs: Runs) -> None:
    """Healed on the next read: what cannot be running is not shown as running."""
    for record in runs.unfinished():
        if not lives(record):
            runs.end(record.id, record.changed_at, LOST, LOST_WHY)


def swept(runs: Runs) -> None:
    """The same, and nothing of it is left: done before another run starts."""
    from ralph.process.leftovers import end_leftovers

    for record in runs.unswept():
        if not lives(record):
            end_leftovers(record.id, Identity(record.guardian, record.guardian_ticks, record.boot))
            runs.end(record.id, record.changed_at, LOST, LOST_WHY)
            runs.swept(record.id)
