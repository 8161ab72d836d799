"""The board itself: lanes, agents and the log, drawn anew four times a second at most, and only what changed."""

import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input, Static

from ralph.app.board import active as task_loops
from ralph.app.board.live_log import Live
from ralph.app.board.view import LANES, View, lanes
from ralph.app.board.watch import Lookout
from ralph.app.paths import Places
from ralph.app.runs import status
from ralph.config.schema import Settings
from ralph.core.text.plain import one_line
from ralph.faces.board_words import EMPTY, loop_cancelled, run_cancelled, state_of
from ralph.faces.glyphs import Glyphs
from ralph.faces.task_page import shown_text
from ralph.faces.tui.dialogs import Details, Help, Question, key_line
from ralph.faces.tui.lane import Lane
from ralph.faces.tui.log import Log
from ralph.faces.tui.log_words import LogWords
from ralph.faces.tui.rows import Rows
from ralph.faces.tui.slots import Slots
from ralph.faces.tui.top import Headline, Tabs
from ralph.model.errors import RalphError

PERIOD = 0.25
NARROW, LOW, HIGH = 110, 14, 32


class BoardScreen(Screen[None]):
    """Watches the database and the runs; of its own accord it changes nothing."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (NARROW, "-wide")]  # noqa: RUF012  # as Textual has it
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (LOW, "-short"), (HIGH, "-tall")]  # noqa: RUF012
    AUTO_FOCUS = ""  # where there is something to see, not what comes first
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "details", show=False),
        Binding("h,left", "lane(-1)", show=False),
        Binding("l,right", "lane(1)", show=False),
        Binding("tab", "panel(1)", show=False),
        Binding("shift+tab", "panel(-1)", show=False),
        Binding("slash", "filter", show=False),
        Binding("f", "follow", show=False),
        Binding("c", "cancelled", show=False),
        Binding("x", "cancel", show=False),
        Binding("question_mark", "help", show=False),
        Binding("q", "app.quit", show=False),
        Binding("escape", "show_all", show=False),
    ]

    class Told(Message):
        """How something ended that took its time."""

        def __init__(self, text: str, error: RalphError | None = None) -> None:
            super().__init__()
            self.text, self.error = text, error

    def __init__(self, places: Places, lookout: Lookout, settings: Settings, glyphs: Glyphs) -> None:
        super().__init__()
        self._places, self._lookout, self._settings, self._glyphs = places, lookout, settings, glyphs
        self._live = Live(places)
        self._words = LogWords(glyphs)
        self._doing: dict[str, str] = {}
        self._view = View()
        self._put: tuple[View | None, tuple[str, bool]] = (None, ("", False))
        self._cancelled = False
        self._lanes = {name: Lane(name, glyphs) for name in LANES}
        self._slots, self._log = Slots(glyphs), Log(glyphs)
        self._headline, self._tabs = Headline(glyphs), Tabs()
        self._filter = Input(placeholder="filter by id, title or spec", id="filter", compact=True)
        self.current = LANES[0]

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield self._headline
        yield self._tabs
        yield Static(EMPTY, id="empty", markup=False)
        with Horizontal(id="lanes"):
            yield from self._lanes.values()
        with Horizontal(id="bottom"):
            yield self._slots
            yield self._log
        yield self._filter
        yield Static(key_line(), id="keys", markup=False)

    def on_mount(self) -> None:
        """The first look, then one every now and then."""
        self._log.add_class("front")
        self.tick()
        self._make_current(self._busiest())
        self.call_after_refresh(self._lanes[self.current].focus)  # before that, it may not be on the screen
        self.set_interval(PERIOD, self.tick)

    def on_unmount(self) -> None:
        """Nothing stays open."""
        self._live.close()
        self._lookout.close()

    def tick(self) -> None:
        """Look, listen, and draw what changed."""
        problem = ""
        try:
            view = self._lookout.look()
        except RalphError as error:
            view, problem = self._view, error.message
        changed = view is not self._view
        self._view = view
        self._listen()
        self._put_cards()
        self._headline.show(view, time.time(), problem)
        self._slots.show(view.slots, self._doing)
        if changed:
            self._renew_details()

    def action_lane(self, by: int) -> None:
        """To a neighbour; after the last comes the first."""
        self._go_to(LANES[(LANES.index(self.current) + by) % len(LANES)])

    def action_panel(self, by: int) -> None:
        """Lanes, agents, log."""
        panels: list[Rows | Log] = [self._lanes[self.current], self._slots, self._log]
        at = next((i for i, panel in enumerate(panels) if panel.has_focus), 0)
        panel = panels[(at + by) % len(panels)]
        if panel is not panels[0]:
            for each in panels[1:]:
                each.set_class(each is panel, "front")
        panel.focus()

    def action_details(self) -> None:
        """Of the task under the cursor."""
        task = self._task_here()
        if task:
            try:
                self.app.push_screen(Details(task, self._page(task)))
            except RalphError as error:
                self._complain(error)

    def action_filter(self) -> None:
        """Ask for the words."""
        self._filter.add_class("shown")
        self._filter.focus()

    def action_show_all(self) -> None:
        """No filter any more."""
        self._filter.value = ""
        self._filter.remove_class("shown")
        self._go_to(self.current)

    def action_follow(self) -> None:
        """The log's end, or what is read now."""
        self._log.action_follow(not self._log.following)

    def action_cancelled(self) -> None:
        """Show cancelled tasks, or hide them again."""
        self._cancelled = not self._cancelled
        self._put_cards()

    def action_help(self) -> None:
        """The keys."""
        self.app.push_screen(Help())

    def action_cancel(self) -> None:
        """Ask first."""
        slot = self._slots.slot if self._slots.has_focus else None
        if slot and not slot.is_of_task:
            name = one_line(slot.name, 60, self._glyphs.ellipsis)
            self._ask(f"Cancel the {slot.role} {name}? What was done stays.", lambda: self._end_run(slot.run))
            return
        card = self._lanes[self.current].card if slot is None else None
        task = slot.task if slot else card.id if card and card.status == "in_progress" else ""
        if task:
            self._ask(f"Cancel the work on {task}? What was done stays.", lambda: self._end_task(task))
        elif card:
            state = state_of(card, self._view, self._glyphs)
            self.notify(f"{card.id}: nobody works on it ({state.text})", markup=False)

    def on_board_screen_told(self, event: Told) -> None:
        """Someone carried out what was asked for, or could not."""
        if event.error:
            self._complain(event.error)
        else:
            self.notify(event.text, markup=False)

    @on(Input.Changed)
    def _filter_typed(self) -> None:
        self._put_cards()

    @on(Input.Submitted)
    def _filter_taken(self) -> None:
        self._filter.set_class(bool(self._filter.value), "shown")
        self._go_to(self.current)

    @on(Tabs.Chosen)
    def _tab_clicked(self, event: Tabs.Chosen) -> None:
        self._go_to(event.lane)

    @on(Rows.Chosen)
    def _clicked_twice(self) -> None:
        self.action_details()

    def on_descendant_focus(self) -> None:
        """A lane that was clicked is the current one."""
        lane = next((name for name, lane in self._lanes.items() if lane.has_focus), self.current)
        self._make_current(lane)

    def _go_to(self, lane: str) -> None:
        self._make_current(lane)
        self._lanes[lane].focus()

    def _make_current(self, lane: str) -> None:
        self.current = lane
        for name, each in self._lanes.items():
            each.set_class(name == lane, "current")
        self._tabs.show({name: each.count for name, each in self._lanes.items()}, lane)

    def _busiest(self) -> str:
        """Where there is something to see."""
        at_work = (name for name in LANES[1:-1] if self._lanes[name].count)
        return next(at_work, LANES[0] if self._lanes[LANES[0]].count else LANES[-1])

    def _put_cards(self) -> None:
        wanted = (self._filter.value, self._cancelled)
        if self._view is not self._put[0] or wanted != self._put[1]:
            self._put = (self._view, wanted)
            self.set_class(not self._view.cards, "-empty")
            for name, cards in lanes(self._view.cards, *wanted).items():
                self._lanes[name].show(cards, self._view)
        self._tabs.show({name: lane.count for name, lane in self._lanes.items()}, self.current)

    def _listen(self) -> None:
        heard = self._live.heard(self._view.running)
        for each in heard:
            doing = self._words.doing(each.event)
            if doing is not None:
                self._doing[each.run] = doing
        self._log.add(line for each in heard if (line := self._words.line(each)))
        if len(self._doing) > len(self._view.slots):
            self._doing = {slot.run: self._doing.get(slot.run, "") for slot in self._view.running}

    def _task_here(self) -> str:
        """Under the cursor."""
        if self._slots.has_focus:
            slot = self._slots.slot
            return slot.task if slot and slot.is_of_task else ""
        card = self._lanes[self.current].card
        return card.id if card else ""

    def _page(self, task: str) -> str:
        return shown_text(self._lookout.task(task, self._settings))

    def _renew_details(self) -> None:
        top = self.app.screen
        if isinstance(top, Details):
            try:
                top.show(self._page(top.task_id))
            except RalphError:
                top.dismiss(None)  # it was deleted

    def _ask(self, question: str, end: Callable[[], str]) -> None:
        def answered(yes: bool | None) -> None:
            if yes:  # it may take seconds until it has ended; who quits meanwhile need not wait
                threading.Thread(target=copy_context().run, args=(self._carry_out, end), daemon=True).start()

        self.app.push_screen(Question(question, "Cancel it", "Let it run"), answered)

    def _carry_out(self, end: Callable[[], str]) -> None:
        """In a thread of its own."""
        try:
            self.post_message(self.Told(end()))
        except RalphError as error:
            self.post_message(self.Told("", error))

    def _end_task(self, task: str) -> str:
        return loop_cancelled(task_loops.cancel(self._places, task))

    def _end_run(self, run: str) -> str:
        return run_cancelled(status.cancel(self._places, run))

    def _complain(self, error: RalphError) -> None:
        self.notify(f"{error.message}\n{error.hint}".strip(), severity="error", timeout=10, markup=False)
