"""The board printed once: as text, or as JSON."""

import time
from collections.abc import Sequence

import msgspec

from ralph.app.board.run_cards import RunCard
from ralph.app.board.view import LANES, BoardView, CardFacts, group_by_lane
from ralph.core.text.plain import sanitize
from ralph.faces.board_words import (
    EMPTY_BOARD_MESSAGE,
    LANE_TITLES,
    describe_card_state,
    format_headline_parts,
    render_slot_lines,
)
from ralph.faces.cli.pages.task_list import fit_to_terminal
from ralph.faces.cli.terminal.columns import align_columns
from ralph.faces.glyphs import PLAIN_GLYPHS, UNICODE_GLYPHS, Glyphs
from ralph.faces.run_words import (
    describe_activity,
    describe_run_state,
    format_checks,
    format_run_facts,
    render_strip,
)
from ralph.model.board import TaskCard

NO_FACTS = CardFacts()
MAX_STRIP_CELLS = 40
MAX_CARDS_PER_LANE = 50  # cards of a lane: nobody reads ten thousand


def render_board_text(view: BoardView, glyphs: Glyphs, empty: str = EMPTY_BOARD_MESSAGE) -> str:
    """The lanes with their cards, then the slots. `empty`: what to say where there is nothing."""
    now = time.time()
    lines = [f" {glyphs.dot} ".join(format_headline_parts(view, now))]
    if not view.cards and not view.runs:
        lines += ["", empty]
    if view.cards:
        for lane, cards in group_by_lane(view.cards).items():
            lines += ["", f"{LANE_TITLES[lane]} {len(cards)}", *_render_cards(cards, view, glyphs)]
    if view.runs:
        lines += ["", f"{LANE_TITLES['runs']} {len(view.runs)}"]
        lines += [line for run in view.runs for line in _render_run(run, view, now, glyphs)]
    for slot in view.slots:
        lines += ["", *render_slot_lines(slot, now)]
    return "\n".join(fit_to_terminal(line) for line in lines)


def render_plain_board(view: BoardView, empty: str = EMPTY_BOARD_MESSAGE) -> str:
    """The same in words, for who listens to it."""
    return render_board_text(view, PLAIN_GLYPHS, empty).replace(" , ", ", ")


def render_board_json(view: BoardView) -> str:
    found = group_by_lane(view.cards, cancelled=True)
    return msgspec.json.encode(
        {
            "place": view.place,
            "lanes": [
                {"name": lane, "count": len(found[lane]), "tasks": [_card_to_dict(card, view) for card in found[lane]]}
                for lane in LANES
            ],
            "runs": [_run_to_dict(run, view) for run in view.runs],
            "slots": view.slots,
            "done": view.count_status("done"),
            "total": len(view.cards),
            "spent_usd": view.spent_usd,
            "since": view.since,
            "expectation": view.expectation,
        }
    ).decode()


def _render_cards(cards: Sequence[TaskCard], view: BoardView, glyphs: Glyphs) -> list[str]:
    shown = cards[:MAX_CARDS_PER_LANE]
    lines = align_columns([(f"  {card.id}", _describe_card(card, view, glyphs)) for card in shown])
    if len(shown) < len(cards):
        lines.append(f"  {glyphs.ellipsis} {len(cards) - len(shown)} more: `ralph task list --all`")
    return lines


def _describe_card(card: TaskCard, view: BoardView, glyphs: Glyphs) -> str:
    title, state = sanitize(card.title).replace("\n", " "), describe_card_state(card, view, glyphs)
    if state.tone == "ready" or (state.tone == "done" and not state.reason):
        return title
    return f"{title}  {state.text}" + (f": {state.reason}" if state.reason else "")


def _render_run(run: RunCard, view: BoardView, now: float, glyphs: Glyphs) -> list[str]:
    state = describe_run_state(run, run.id in view.cut_off_runs, glyphs)
    strip = render_strip(run.strip, glyphs, MAX_STRIP_CELLS)
    lines = [f"  {run.id}  {strip}  {state.text}  {sanitize(run.title)}", f"    {format_run_facts(run, now, glyphs)}"]
    if run.is_active and run.id not in view.cut_off_runs:
        lines.append(f"    {describe_activity(run, '')}")
    lines += [f"    {text}" for text in (format_checks(run, glyphs), run.failure, state.reason) if text]
    return lines


def _run_to_dict(run: RunCard, view: BoardView) -> dict[str, object]:
    state = describe_run_state(run, run.id in view.cut_off_runs, UNICODE_GLYPHS)
    checks = [{"name": name, "passed": passed} for name, passed in run.checks]
    return {**msgspec.structs.asdict(run), "checks": checks, "state": state.tone}


def _card_to_dict(card: TaskCard, view: BoardView) -> dict[str, object]:
    state, facts = describe_card_state(card, view, UNICODE_GLYPHS), view.facts.get(card.id, NO_FACTS)
    return {
        **msgspec.structs.asdict(card),
        "state": state.tone,
        "why": view.reasons.get(card.id),
        "waits_for": view.waits_for.get(card.id, ()),
        "cost_usd": facts.cost_usd,
        "seconds": facts.seconds,
        "iterations": facts.iterations,
        "failure": facts.failure,
        "paused_by": view.paused.get(card.id),
        "question": view.questions.get(card.id),
    }
