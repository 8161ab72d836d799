"""What waits for what. A graph is a mapping: each id to the ids it needs first."""

from collections.abc import Collection, Hashable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

Id = TypeVar("Id", bound=Hashable)


def find_cycle(needs: Mapping[Id, Collection[Id]]) -> tuple[Id, ...]:
    """One cycle, from an id along its needs back to itself, beginning with the graph's first; empty without one."""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        ring: list[Id] = error.args[1][:0:-1]
        first = ring.index(next(id_ for id_ in needs if id_ in ring))
        return (*ring[first:], *ring[:first], ring[first])
    return ()


def format_cycle(cycle: Collection[Id]) -> str:
    """A cycle in words: `a → b → a`."""
    return " → ".join(map(str, cycle))


def find_unknown_needs(needs: Mapping[Id, Collection[Id]]) -> dict[Id, tuple[Id, ...]]:
    """For each id, the needs that are not in the graph."""
    return {id_: away for id_ in needs if (away := tuple(need for need in needs[id_] if need not in needs))}


def find_blocked(needs: Mapping[Id, Collection[Id]], done: Collection[Id]) -> dict[Id, tuple[Id, ...]]:
    """What is not done and has to wait, and for what: a need is met only when it is done, in the graph or not."""
    finished = frozenset(done)
    return {
        id_: waits
        for id_ in needs
        if id_ not in finished and (waits := tuple(need for need in needs[id_] if need not in finished))
    }
