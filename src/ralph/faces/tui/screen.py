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

from ralph.app.board.active import cancel_task
from ralph.app.board.live_log import LiveLog
from ralph.app.board.view import LANES, BoardView, group_by_lane
from ralph.app.board.watch import BoardReader
from ralph.app.paths import Paths
from ralph.app.runs import status
from ralph.config.schema import Settings
from ralph.core.text.plain import one_line
from ralph.faces.board_words import NO_TASKS_MESSAGE, describe_card_state, format_cancelled_loop, format_cancelled_run
from ralph.faces.glyphs import Glyphs
from ralph.faces.log_words import LogFormatter
from ralph.faces.task_page import render_task_text
from ralph.faces.tui.dialogs import ConfirmDialog, HelpDialog, TaskDialog, render_key_hints
from ralph.faces.tui.lane import Lane
from ralph.faces.tui.log import LogPanel
from ralph.faces.tui.rows import ItemList
from ralph.faces.tui.slots import SlotPanel
from ralph.faces.tui.top import Headline, LaneTabs
from ralph.model.errors import RalphError

BOARD_REFRESH_SECONDS = 0.25
MIN_WIDE_COLUMNS, MIN_SHORT_LINES, MIN_TALL_LINES = 110, 14, 32


class BoardScreen(Screen[None]):
    """Reads the database and the live logs. It only ever writes when the user cancels something."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (MIN_WIDE_COLUMNS, "-wide")]  # noqa: RUF012  # as Textual has it
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (MIN_SHORT_LINES, "-short"), (MIN_TALL_LINES, "-tall")]  # noqa: RUF012
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
        """The result of a cancellation that ran in its own thread."""

        def __init__(self, text: str, error: RalphError | None = None) -> None:
            super().__init__()
            self.text, self.error = text, error

    def __init__(self, paths: Paths, reader: BoardReader, settings: Settings, glyphs: Glyphs) -> None:
        super().__init__()
        self._paths, self._reader, self._settings, self._glyphs = paths, reader, settings, glyphs
        self._live = LiveLog(paths)
        self._log_formatter = LogFormatter(glyphs)
        self._activities: dict[str, str] = {}
        self._view = BoardView()
        self._last_shown: tuple[BoardView | None, tuple[str, bool]] = (None, ("", False))
        self._shows_cancelled = False
        self._lanes = {name: Lane(name, glyphs) for name in LANES}
        self._slots, self._log = SlotPanel(glyphs), LogPanel(glyphs)
        self._headline, self._tabs = Headline(glyphs), LaneTabs()
        self._filter = Input(placeholder="filter by id, title or spec", id="filter", compact=True)
        self.current_lane = LANES[0]

    def compose(self) -> ComposeResult:
        yield self._headline
        yield self._tabs
        yield Static(NO_TASKS_MESSAGE, id="empty", markup=False)
        with Horizontal(id="lanes"):
            yield from self._lanes.values()
        with Horizontal(id="bottom"):
            yield self._slots
            yield self._log
        yield self._filter
        yield Static(render_key_hints(), id="keys", markup=False)

    def on_mount(self) -> None:
        """Draw at once, then every BOARD_REFRESH_SECONDS."""
        self._log.add_class("front")
        self.update_board()
        self._set_current_lane(self._find_busiest_lane())
        self.call_after_refresh(self._lanes[self.current_lane].focus)  # before that, it may not be on the screen
        self.set_interval(BOARD_REFRESH_SECONDS, self.update_board)

    def on_unmount(self) -> None:
        self._live.close()
        self._reader.close()

    def update_board(self) -> None:
        """Read the board and new events, and draw what changed; a database error becomes a word in the headline."""
        problem = ""
        try:
            view = self._reader.read_view()
        except RalphError as error:
            view, problem = self._view, error.message
        changed = view is not self._view
        self._view = view
        self._read_live_events()
        self._show_cards()
        self._headline.show_view(view, time.time(), problem)
        self._slots.show_slots(view.slots, self._activities)
        if changed:
            self._update_task_dialog()

    def action_lane(self, by: int) -> None:
        """To a neighbour; after the last comes the first."""
        self._focus_lane(LANES[(LANES.index(self.current_lane) + by) % len(LANES)])

    def action_panel(self, by: int) -> None:
        panels: list[ItemList | LogPanel] = [self._lanes[self.current_lane], self._slots, self._log]
        at = next((i for i, panel in enumerate(panels) if panel.has_focus), 0)
        panel = panels[(at + by) % len(panels)]
        if panel is not panels[0]:
            for each in panels[1:]:
                each.set_class(each is panel, "front")
        panel.focus()

    def action_details(self) -> None:
        """Of the task under the cursor."""
        task = self._get_selected_task()
        if task:
            try:
                self.app.push_screen(TaskDialog(task, self._render_task_page(task)))
            except RalphError as error:
                self._notify_error(error)

    def action_filter(self) -> None:
        self._filter.add_class("shown")
        self._filter.focus()

    def action_show_all(self) -> None:
        self._filter.value = ""
        self._filter.remove_class("shown")
        self._focus_lane(self.current_lane)

    def action_follow(self) -> None:
        """Switch between following the log's end and standing still."""
        self._log.action_follow(not self._log.is_following)

    def action_cancelled(self) -> None:
        """Show cancelled tasks, or hide them again."""
        self._shows_cancelled = not self._shows_cancelled
        self._show_cards()

    def action_help(self) -> None:
        self.app.push_screen(HelpDialog())

    def action_cancel(self) -> None:
        slot = self._slots.selected_slot if self._slots.has_focus else None
        if slot and not slot.is_task_slot:
            name = one_line(slot.name, 60, self._glyphs.ellipsis)
            self._ask_to_cancel(
                f"Cancel the {slot.role} {name}? What was done stays.", lambda: self._cancel_run(slot.run)
            )
            return
        card = self._lanes[self.current_lane].selected_card if slot is None else None
        task = slot.task if slot else card.id if card and card.status == "in_progress" else ""
        if task:
            self._ask_to_cancel(f"Cancel the work on {task}? What was done stays.", lambda: self._cancel_task(task))
        elif card:
            state = describe_card_state(card, self._view, self._glyphs)
            self.notify(f"{card.id}: nobody works on it ({state.text})", markup=False)

    def on_board_screen_told(self, event: Told) -> None:
        """Tell the user how the cancellation ended."""
        if event.error:
            self._notify_error(event.error)
        else:
            self.notify(event.text, markup=False)

    @on(Input.Changed)
    def _apply_filter(self) -> None:
        self._show_cards()

    @on(Input.Submitted)
    def _accept_filter(self) -> None:
        self._filter.set_class(bool(self._filter.value), "shown")
        self._focus_lane(self.current_lane)

    @on(LaneTabs.Chosen)
    def _focus_clicked_tab(self, event: LaneTabs.Chosen) -> None:
        self._focus_lane(event.lane)

    @on(ItemList.Chosen)
    def _open_clicked_item(self) -> None:
        self.action_details()

    def on_descendant_focus(self) -> None:
        """A lane that was clicked is the current one."""
        lane = next((name for name, lane in self._lanes.items() if lane.has_focus), self.current_lane)
        self._set_current_lane(lane)

    def _focus_lane(self, lane: str) -> None:
        self._set_current_lane(lane)
        self._lanes[lane].focus()

    def _set_current_lane(self, lane: str) -> None:
        self.current_lane = lane
        for name, each in self._lanes.items():
            each.set_class(name == lane, "current")
        self._tabs.show_counts({name: each.card_count for name, each in self._lanes.items()}, lane)

    def _find_busiest_lane(self) -> str:
        """The first stage with cards; without any, Todo if it has some, else Done."""
        at_work = (name for name in LANES[1:-1] if self._lanes[name].card_count)
        return next(at_work, LANES[0] if self._lanes[LANES[0]].card_count else LANES[-1])

    def _show_cards(self) -> None:
        wanted = (self._filter.value, self._shows_cancelled)
        if self._view is not self._last_shown[0] or wanted != self._last_shown[1]:
            self._last_shown = (self._view, wanted)
            self.set_class(not self._view.cards, "-empty")
            for name, cards in group_by_lane(self._view.cards, *wanted).items():
                self._lanes[name].show_cards(cards, self._view)
        self._tabs.show_counts({name: lane.card_count for name, lane in self._lanes.items()}, self.current_lane)

    def _read_live_events(self) -> None:
        events = self._live.read_events(self._view.running_slots)
        for each in events:
            doing = self._log_formatter.format_activity(each.event)
            if doing is not None:
                self._activities[each.run] = doing
        self._log.add_lines(line for each in events if (line := self._log_formatter.format_line(each)))
        if len(self._activities) > len(self._view.slots):
            self._activities = {slot.run: self._activities.get(slot.run, "") for slot in self._view.running_slots}

    def _get_selected_task(self) -> str:
        if self._slots.has_focus:
            slot = self._slots.selected_slot
            return slot.task if slot and slot.is_task_slot else ""
        card = self._lanes[self.current_lane].selected_card
        return card.id if card else ""

    def _render_task_page(self, task: str) -> str:
        return render_task_text(self._reader.load_task(task, self._settings))

    def _update_task_dialog(self) -> None:
        top = self.app.screen
        if isinstance(top, TaskDialog):
            try:
                top.show_text(self._render_task_page(top.task_id))
            except RalphError:
                top.dismiss(None)  # it was deleted

    def _ask_to_cancel(self, question: str, end: Callable[[], str]) -> None:
        def answered(yes: bool | None) -> None:
            if yes:  # it may take seconds until it has ended; who quits meanwhile need not wait
                threading.Thread(target=copy_context().run, args=(self._run_cancel_action, end), daemon=True).start()

        self.app.push_screen(ConfirmDialog(question, "Cancel it", "Let it run"), answered)

    def _run_cancel_action(self, end: Callable[[], str]) -> None:
        try:
            self.post_message(self.Told(end()))
        except RalphError as error:
            self.post_message(self.Told("", error))

    def _cancel_task(self, task: str) -> str:
        return format_cancelled_loop(cancel_task(self._paths, task))

    def _cancel_run(self, run: str) -> str:
        return format_cancelled_run(status.cancel_run(self._paths, run))

    def _notify_error(self, error: RalphError) -> None:
        self.notify(f"{error.message}\n{error.hint}".strip(), severity="error", timeout=10, markup=False)
