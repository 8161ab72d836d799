"""The board printed once: as text, or as JSON."""

import time
from typing import TYPE_CHECKING

import msgspec

from ralph.core.text.plain import cells, plain
from ralph.faces.board_words import EMPTY, LANE_NAMES, headline, slot_lines, state_of
from ralph.faces.cli.pages.task_list import fitting
from ralph.faces.glyphs import UNICODE, Glyphs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ralph.app.board.view import View
    from ralph.model.board import Card

LISTED = 50  # cards of a lane: nobody reads ten thousand


def board_text(view: "View", glyphs: Glyphs) -> str:
    """Lanes with their cards, then who works."""
    from ralph.app.board.view import lanes

    now = time.time()
    lines = [f" {glyphs.dot} ".join(headline(view, now))]
    if not view.cards:
        lines += ["", EMPTY]
    else:
        for lane, cards in lanes(view.cards).items():
            lines += ["", f"{LANE_NAMES[lane]} {len(cards)}", *_cards(cards, view, glyphs)]
    for slot in view.slots:
        lines += ["", *slot_lines(slot, now)]
    return "\n".join(fitting(line) for line in lines)


def board_json(view: "View") -> str:
    """For programs."""
    from ralph.app.board.view import LANES, lanes

    found = lanes(view.cards, cancelled=True)
    return msgspec.json.encode(
        {
            "place": view.place,
            "lanes": [
                {"name": lane, "count": len(found[lane]), "tasks": [_record(card, view) for card in found[lane]]}
                for lane in LANES
            ],
            "slots": view.slots,
            "done": view.count("done"),
            "total": len(view.cards),
            "spent_usd": view.spent_usd,
            "since": view.since,
        }
    ).decode()


def _cards(cards: "Sequence[Card]", view: "View", glyphs: Glyphs) -> list[str]:
    shown = cards[:LISTED]
    width = max((cells(card.id) for card in shown), default=0)
    lines = [f"  {card.id}{' ' * (width - cells(card.id))}  {_told(card, view, glyphs)}" for card in shown]
    if len(shown) < len(cards):
        lines.append(f"  {glyphs.ellipsis} {len(cards) - len(shown)} more: `ralph task list --all`")
    return lines


def _told(card: "Card", view: "View", glyphs: Glyphs) -> str:
    title, state = plain(card.title).replace("\n", " "), state_of(card, view, glyphs)
    if state.tone in ("ready", "done"):
        return title
    return f"{title}  {state.text}" + (f": {state.why}" if state.why else "")


def _record(card: "Card", view: "View") -> dict[str, object]:
    state = state_of(card, view, UNICODE)
    return {
        **msgspec.structs.asdict(card),
        "state": state.tone,
        "why": view.remarks.get(card.id),
        "waits_for": view.waits.get(card.id, ()),
    }
