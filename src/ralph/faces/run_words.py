"""What a board says of a run: its strip of iterations, its state, and what it came to."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ralph.core.text.plain import count_cells
from ralph.core.text.quantities import format_duration, format_money
from ralph.faces.activity_labels import ACTIVITY_LABELS
from ralph.faces.board_words import ASKS_TEXT, CardState, CardTone, join_fitting
from ralph.faces.check_words import shorten_agent
from ralph.faces.clock import SECONDS_PER_DAY, format_local_time
from ralph.faces.glyphs import Glyphs

if TYPE_CHECKING:
    from ralph.app.board.iteration_strip import StripMark
    from ralph.app.board.run_cards import RunCard

STRIP_SIGNS = {"passed": "✓", "failed": "✗", "open": "·", "active": "●"}
ASCII_STRIP_SIGNS = {"passed": "+", "failed": "x", "open": ".", "active": "*"}
STRIP_TONES = {"passed": "good", "failed": "bad", "open": "faint", "active": "tool"}


def render_strip(marks: "Sequence[StripMark]", glyphs: Glyphs, most: int) -> str:
    """✗✗✓: the last `most` iterations, a sign of one cell each."""
    signs = ASCII_STRIP_SIGNS if glyphs.rule.isascii() else STRIP_SIGNS
    return "".join(signs[mark] for mark in marks[max(0, len(marks) - most) :])


def describe_run_state(card: "RunCard", is_cut_off: bool, glyphs: Glyphs) -> CardState:
    """Such as "↻ 2/10", "✓ completed" or "✗ exhausted", with the reason where it did not complete."""
    if is_cut_off:
        hint = "the process is gone; resume with `ralph run --resume`" if card.kind == "run" else "the process is gone"
        return CardState(tone="trouble", text=f"{glyphs.warn} cut off", reason=hint, short_text=glyphs.warn)
    if card.question:
        return CardState(tone="trouble", text=ASKS_TEXT, reason=f"{card.question} (a: answer)", short_text="?")
    if card.is_active and card.paused_by:
        text = f"paused by {card.paused_by} {card.iteration}/{card.limit or '?'}"
        return CardState(tone="running", text=text, short_text="paused")
    if card.is_active:
        return CardState(tone="running", text=f"{glyphs.running} {card.iteration}/{card.limit or '?'}")
    if card.outcome == "completed":
        return CardState(tone="done", text=f"{glyphs.ok} completed", short_text=glyphs.ok)
    outcome = (card.outcome or "ended").replace("_", " ")
    tone: CardTone = "cancelled" if card.outcome == "interrupted" else "trouble"
    return CardState(tone=tone, text=f"{glyphs.bad} {outcome}", reason=card.why, short_text=glyphs.bad)


def format_run_facts(card: "RunCard", now: float, glyphs: Glyphs, room: int = 1000) -> str:
    """run · claude · 3/10 iterations · 5m10s · $0.42 · began 11:57; where there is no room, what matters most."""
    day = "" if now - card.started_at < SECONDS_PER_DAY else "%b %d "
    took, cost = (
        format_duration(card.count_seconds(now)),
        [] if card.cost_usd is None else [format_money(card.cost_usd)],
    )
    began = f"began {format_local_time(f'{day}%H:%M', card.started_at)}"
    used = [f"{card.iteration}/{card.limit} iterations"] if card.limit else []
    agent = shorten_agent(card.agent)
    whole = join_fitting([card.kind, agent, *used, took, *cost, began], 1000, glyphs)
    return whole if count_cells(whole) <= room else join_fitting([took, *cost, agent, card.kind], room, glyphs)


def format_checks(card: "RunCard", glyphs: Glyphs) -> str:
    """✓ ruff  ✗ pytest: the last time they were run."""
    ok, bad = ("+", "x") if glyphs.rule.isascii() else ("✓", "✗")
    return "  ".join(f"{ok if passed else bad} {name}" for name, passed in card.checks)


def describe_activity(card: "RunCard", doing: str) -> str:
    """What it does now: as its agent says, else as the loop does."""
    label = ACTIVITY_LABELS.get(card.doing, card.doing)
    return doing or " ".join(filter(None, (label, f"({card.part})" if card.part else "")))
