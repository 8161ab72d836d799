"""Tasks as a list: a line each, or JSON."""

import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from ralph.core.tasks.graph import find_blocked
from ralph.core.tasks.task_rules import describe_words_only
from ralph.core.text.plain import one_line, sanitize, truncate_cells
from ralph.core.text.quantities import pluralize
from ralph.faces.check_words import shorten_reason
from ralph.faces.cli.terminal.columns import align_columns
from ralph.model.board import TaskCard

STATUS_MARKS = {"in_progress": "●", "todo": "○", "failed": "!", "blocked": "‖", "done": "✓", "cancelled": "✗"}
_STATUS_ORDER = ("in_progress", "todo", "blocked", "done", "cancelled")
MAX_REASON_CELLS_IN_LIST = 60


class TaskListing:
    """Some of all cards, the active ones first, then what is ready, what waits, and what is over."""

    def __init__(
        self,
        cards: Sequence[TaskCard],
        chosen: Sequence[TaskCard],
        cut_off: frozenset[str] = frozenset(),
        reasons: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._cards = cards
        self._reasons = reasons  # why a task is blocked, or how it failed
        self._cut_off = cut_off  # in progress, and their run is gone
        self.waiting_for = find_blocked(
            {card.id: card.needs for card in cards}, {c.id for c in cards if c.status == "done"}
        )
        self.chosen = sorted(chosen, key=self._rank)

    def keep_ready(self) -> "TaskListing":
        ready = [c for c in self.chosen if c.status == "todo" and c.id not in self.waiting_for]
        return TaskListing(self._cards, ready, reasons=self._reasons)

    def render_text(self, limit: int | None) -> str:
        """A line for each of the first `limit`, and what there is in all."""
        shown = self.chosen[:limit]
        lines = align_columns(
            [
                (
                    f"{STATUS_MARKS[self._get_state(card)]} {card.id}",
                    self._describe_state(card),
                    f"p{card.priority}  {card.title}{self._format_reason(card)}",
                )
                for card in shown
            ]
        )
        if len(shown) < len(self.chosen):
            lines.append(f"… {len(self.chosen) - len(shown)} more: --limit N, --all")
        return "\n".join([*(fit_to_terminal(line) for line in lines), self._render_summary()])

    def render_json(self, limit: int | None) -> str:
        counts = {status: n for status in _STATUS_ORDER if (n := sum(card.status == status for card in self._cards))}
        tasks = [self._card_to_dict(card) for card in self.chosen[:limit]]
        return msgspec.json.encode({"tasks": tasks, "matching": len(self.chosen), "counts": counts}).decode()

    def _get_state(self, card: TaskCard) -> str:
        """Its status; what was tried in vain and waits to be tried again is failed."""
        return "failed" if is_failed(card, self._reasons) else card.status

    def _format_reason(self, card: TaskCard) -> str:
        reason = one_line(shorten_reason(self._reasons.get(card.id, "")), MAX_REASON_CELLS_IN_LIST)
        return f"  ({reason})" if reason and card.status != "done" else ""

    def _rank(self, card: TaskCard) -> tuple[int, bool, bool]:
        is_waiting = card.id in self.waiting_for
        return (_STATUS_ORDER.index(card.status), not is_failed(card, self._reasons), is_waiting)

    def _describe_state(self, card: TaskCard) -> str:
        if card.status == "in_progress":
            cut_off = "cut off at " if card.id in self._cut_off else ""
            return f"{cut_off}{card.stage} {card.iteration}/{card.max_iterations or '?'}"
        if is_failed(card, self._reasons):
            return "failed"
        if card.status == "todo" and (needs := self.waiting_for.get(card.id)):
            return f"waits for {needs[0]}" + (f" +{len(needs) - 1}" if len(needs) > 1 else "")
        if card.status == "done" and card.by_words:
            return f"done, {describe_words_only(card.by_words)}"
        return str(card.status)

    def _card_to_dict(self, card: TaskCard) -> dict[str, object]:
        return {
            **msgspec.structs.asdict(card),
            "state": self._get_state(card),
            "why": self._reasons.get(card.id),
            "waits_for": self.waiting_for.get(card.id, ()) if card.status == "todo" else (),
        }

    def _render_summary(self) -> str:
        ready = sum(card.status == "todo" and card.id not in self.waiting_for for card in self._cards)
        counts = Counter(map(self._get_state, self._cards))
        order = ("in_progress", "failed", *_STATUS_ORDER[1:])
        parts = [f"{counts[state]} {state.replace('_', ' ')}" for state in order if counts[state]]
        return f"{pluralize(len(self._cards), 'task')}: {', '.join(parts)}; {ready} ready"


def is_failed(card: TaskCard, reasons: Mapping[str, str]) -> bool:
    return card.status == "todo" and card.id in reasons


def fit_to_terminal(line: str) -> str:
    """Sanitized text on one line, cut to the terminal's width if stdout is one."""
    width = os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else 10_000
    return truncate_cells(sanitize(line).replace("\n", " "), width)
