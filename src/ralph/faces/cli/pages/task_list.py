"""Tasks as a list: a line each, or JSON."""

import os
import sys
from collections.abc import Sequence

import msgspec

from ralph.core.tasks.graph import blocked
from ralph.core.text.plain import cells, fitted, plain
from ralph.core.text.quantities import counted
from ralph.model.board import Card

MARKS = {"in_progress": "●", "todo": "○", "blocked": "‖", "done": "✓", "cancelled": "✗"}
_ORDER = ("in_progress", "todo", "blocked", "done", "cancelled")


class Listing:
    """Some of all cards, the active ones first, then what is ready, what waits, and what is over."""

    def __init__(self, cards: Sequence[Card], chosen: Sequence[Card], cut_off: frozenset[str] = frozenset()) -> None:
        self._cards = cards
        self._cut_off = cut_off  # in progress, and their run is gone
        self.waits = blocked({card.id: card.needs for card in cards}, {c.id for c in cards if c.status == "done"})
        self.chosen = sorted(chosen, key=lambda card: (_ORDER.index(card.status), card.id in self.waits))

    def only_ready(self) -> "Listing":
        """What could be started now."""
        return Listing(self._cards, [c for c in self.chosen if c.status == "todo" and c.id not in self.waits])

    def text(self, limit: int | None) -> str:
        """A line for each of the first `limit`, and what there is in all."""
        shown = self.chosen[:limit]
        ids = max((cells(card.id) for card in shown), default=0)
        states = [self._state(card) for card in shown]
        width = max(map(cells, states), default=0)
        lines = [
            f"{MARKS[card.status]} {_left(card.id, ids)}  {_left(state, width)}  p{card.priority}  {card.title}"
            for card, state in zip(shown, states, strict=True)
        ]
        if len(shown) < len(self.chosen):
            lines.append(f"… {len(self.chosen) - len(shown)} more: --limit N, --all")
        return "\n".join([*(fitting(line) for line in lines), self._summary()])

    def json(self, limit: int | None) -> str:
        """For programs."""
        counts = {status: n for status in _ORDER if (n := sum(card.status == status for card in self._cards))}
        tasks = [self._record(card) for card in self.chosen[:limit]]
        return msgspec.json.encode({"tasks": tasks, "matching": len(self.chosen), "counts": counts}).decode()

    def _state(self, card: Card) -> str:
        if card.status == "in_progress":
            cut_off = "cut off at " if card.id in self._cut_off else ""
            return f"{cut_off}{card.stage} {card.iteration}/{card.max_iterations or '?'}"
        if card.status == "todo" and (needs := self.waits.get(card.id)):
            return f"waits for {needs[0]}" + (f" +{len(needs) - 1}" if len(needs) > 1 else "")
        return str(card.status)

    def _record(self, card: Card) -> dict[str, object]:
        return {
            **msgspec.structs.asdict(card),
            "waits_for": self.waits.get(card.id, ()) if card.status == "todo" else (),
        }

    def _summary(self) -> str:
        ready = sum(card.status == "todo" and card.id not in self.waits for card in self._cards)
        counts = {status: sum(card.status == status for card in self._cards) for status in _ORDER}
        parts = [f"{n} {status.replace('_', ' ')}" for status, n in counts.items() if n]
        return f"{counted(len(self._cards), 'task')}: {', '.join(parts)}; {ready} ready"


def fitting(line: str) -> str:
    """Plain text that fits a terminal's line; elsewhere only plain."""
    width = os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else 10_000
    return fitted(plain(line).replace("\n", " "), width)


def _left(text: str, width: int) -> str:
    return text + " " * (width - cells(text))
