"""The board itself: lanes, agents and the log, drawn anew four times a second at most, and only what changed."""

import os
import time
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import Static

from ralph.app.board.changes import RunChanges, RunDetails, load_changes, load_run_details
from ralph.app.board.view import LANES, BoardView, filter_runs, group_by_lane
from ralph.app.board.watch import BoardReader
from ralph.app.paths import Paths
from ralph.app.runs.status import explain_lost_records
from ralph.config.schema import Settings
from ralph.core.text.plain import one_line
from ralph.faces.board_words import describe_empty_board
from ralph.faces.glyphs import Glyphs
from ralph.faces.log_words import LogFormatter
from ralph.faces.tui.board_lane import BoardLane
from ralph.faces.tui.details import render_diff, render_run_details, render_task_details
from ralph.faces.tui.dialogs import CardDialog, HelpDialog, render_key_hints
from ralph.faces.tui.filter_bar import FilterBar
from ralph.faces.tui.header import Headline, LaneTabs
from ralph.faces.tui.jobs import JobEnded, start_job
from ralph.faces.tui.lane import Lane
from ralph.faces.tui.log import ALL_AGENTS_TITLE, LogPanel
from ralph.faces.tui.log_book import LogBook
from ralph.faces.tui.rows import ItemList
from ralph.faces.tui.run_lane import RUN_LANE, RunLane
from ralph.faces.tui.selection import Selection, select_run, select_task, suggest_task_id
from ralph.faces.tui.slots import SlotPanel
from ralph.faces.tui.steering import Steering
from ralph.model.errors import RalphError

BOARD_REFRESH_SECONDS = 0.25
MIN_WIDE_COLUMNS, MIN_SHORT_LINES, MIN_TALL_LINES = 110, 14, 32


class BoardScreen(Screen[None]):
    """Reads the database and the live logs. It only ever writes when the user asks for something."""

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
        Binding("o", "own_log", show=False),
        Binding("c", "cancelled", show=False),
        Binding("x", "cancel", show=False),
        Binding("p", "pause", show=False),
        Binding("P", "pause_now", show=False),
        Binding("n", "note", show=False),
        Binding("a", "answer", show=False),
        Binding("r", "retry", show=False),
        Binding("e", "edit", show=False),
        Binding("t", "new_task", show=False),
        Binding("plus,equals_sign", "priority(-1)", show=False),
        Binding("minus", "priority(1)", show=False),
        Binding("S", "stop", show=False),
        Binding("question_mark", "help", show=False),
        Binding("q", "app.quit", show=False),
        Binding("escape", "show_all", show=False),
    ]

    def __init__(self, paths: Paths, reader: BoardReader, settings: Settings, glyphs: Glyphs) -> None:
        super().__init__()
        self._paths, self._reader, self._settings, self._glyphs = paths, reader, settings, glyphs
        self._log_book = LogBook(paths, LogFormatter(glyphs))
        self._view = BoardView()
        self._last_shown: tuple[BoardView | None, tuple[str, bool]] = (None, ("", False))
        self._shows_cancelled = False
        self._shows_own_log = False
        self._log_run = ""  # the run whose log is shown; empty: all of them
        self._changes: dict[str, RunChanges] = {}  # by run, of the dialog that is open
        self._task_lanes = {name: Lane(name, glyphs) for name in LANES}
        self._run_lane = RunLane(glyphs)
        self._lanes: dict[str, BoardLane] = {**self._task_lanes, RUN_LANE: self._run_lane}
        self._slots, self._log = SlotPanel(glyphs), LogPanel(glyphs)
        self._headline, self._tabs = Headline(glyphs), LaneTabs()
        self._filter = FilterBar()
        self._steering = Steering(self, paths)
        self.current_lane = LANES[0]

    def compose(self) -> ComposeResult:
        yield self._headline
        yield self._tabs
        yield Static(describe_empty_board(explain_lost_records(self._paths)), id="empty", markup=False)
        with Horizontal(id="lanes"):
            yield from self._lanes.values()
        with Horizontal(id="bottom"):
            yield self._slots
            yield self._log
        yield self._filter
        yield Static("", id="keys", markup=False)

    def on_mount(self) -> None:
        """Draw at once, then every BOARD_REFRESH_SECONDS."""
        self._log.add_class("front")
        self.update_board()
        self._set_current_lane(self._find_busiest_lane())
        self.call_after_refresh(self._lanes[self.current_lane].focus)  # before that, it may not be on the screen
        self.set_interval(BOARD_REFRESH_SECONDS, self.update_board)

    def on_unmount(self) -> None:
        self._log_book.close()
        self._reader.close()

    def on_resize(self, event: events.Resize) -> None:
        self.query_one("#keys", Static).update(render_key_hints(event.size.width - 2))

    def update_board(self) -> None:
        """Read the board and new events, and draw what changed; a database error becomes a word in the headline."""
        problem = ""
        try:
            view = self._reader.read_view()
        except RalphError as error:
            view, problem = self._view, error.message
        changed = view is not self._view
        self._view = view
        self._update_log()
        self._show_cards()
        self._headline.show_view(view, time.time(), problem)
        self._slots.show_slots(view.slots, self._log_book.activities)
        for lane in self._lanes.values():
            lane.show_activities(self._log_book.activities)
        if changed:
            self._update_card_dialog()

    # -- moving about ---------------------------------------------------------------------------
    def action_lane(self, by: int) -> None:
        """To a neighbour; after the last comes the first."""
        lanes = self._list_visible_lanes()
        at = lanes.index(self.current_lane) if self.current_lane in lanes else 0
        self._focus_lane(lanes[(at + by) % len(lanes)])

    def action_panel(self, by: int) -> None:
        panels: list[ItemList | LogPanel] = [self._lanes[self.current_lane], self._slots, self._log]
        at = next((i for i, panel in enumerate(panels) if panel.has_focus), 0)
        panel = panels[(at + by) % len(panels)]
        if panel is not panels[0]:
            for each in panels[1:]:
                each.set_class(each is panel, "front")
        panel.focus()

    def action_filter(self) -> None:
        self._filter.open()

    def action_show_all(self) -> None:
        """All cards, and the log of all agents."""
        self._filter.clear()
        self._shows_own_log = False
        self._focus_lane(self.current_lane)
        self.update_board()

    def action_follow(self) -> None:
        """Switch between following the log's end and standing still."""
        self._log.action_follow(not self._log.is_following)

    def action_own_log(self) -> None:
        """Switch between the log of the selected card and that of all agents."""
        self._shows_own_log = not self._shows_own_log
        self.update_board()

    def action_cancelled(self) -> None:
        """Show cancelled tasks, or hide them again."""
        self._shows_cancelled = not self._shows_cancelled
        self._show_cards()

    def action_help(self) -> None:
        self.app.push_screen(HelpDialog())

    @on(FilterBar.Changed)
    def _apply_filter(self) -> None:
        self._show_cards()
        if self._filter.words and not self._lanes[self.current_lane].card_count:
            found = self._find_first_match()
            if found:
                self._set_current_lane(found)

    @on(FilterBar.Accepted)
    def _accept_filter(self) -> None:
        lane = self._find_first_match() if self._filter.words else ""
        self._focus_lane(lane or self.current_lane)
        if lane:
            self._lanes[lane].select_item(0)

    @on(LaneTabs.Chosen)
    def _focus_clicked_tab(self, event: LaneTabs.Chosen) -> None:
        self._focus_lane(event.lane)

    @on(ItemList.Chosen)
    def _open_clicked_item(self) -> None:
        self.action_details()

    @on(ItemList.Selected)
    def _follow_selection(self) -> None:
        """Who selects a card wants to see its log."""
        self._shows_own_log = True

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
        self._show_tabs()

    def _list_visible_lanes(self) -> list[str]:
        """Those of tasks while there are tasks; that of runs while there are runs without a task."""
        runs = [RUN_LANE] if self._view.runs else []
        return [*LANES, *runs] if self._view.cards or not runs else runs

    def _find_busiest_lane(self) -> str:
        """The first stage with cards, else runs at work; without any, Todo if it has some, else runs or Done."""
        at_work = (name for name in LANES[1:-1] if self._lanes[name].card_count)
        if found := next(at_work, None):
            return found
        if self._run_lane.list_runs_at_work() or not self._view.cards:
            return RUN_LANE if self._view.runs else LANES[-1]
        return LANES[0] if self._lanes[LANES[0]].card_count else LANES[-1]

    def _find_first_match(self) -> str:
        return next((lane for lane in self._list_visible_lanes() if self._lanes[lane].card_count), "")

    # -- drawing --------------------------------------------------------------------------------
    def _show_cards(self) -> None:
        wanted = (self._filter.words, self._shows_cancelled)
        runs = filter_runs(self._view.runs, self._filter.words)
        if self._view is not self._last_shown[0] or wanted != self._last_shown[1]:
            self._last_shown = (self._view, wanted)
            was_empty = self.has_class("-empty")
            self.set_class(not self._view.cards and not self._view.runs, "-empty")
            self.set_class(not self._view.cards and bool(self._view.runs), "-no-tasks")
            self.set_class(not self._view.runs, "-no-runs")
            for name, cards in group_by_lane(self._view.cards, *wanted).items():
                self._task_lanes[name].show_cards(cards, self._view)
            shown = sum(lane.card_count for lane in self._task_lanes.values()) + len(runs)
            self._filter.show_count(shown, len(self._view.cards) + len(self._view.runs))
            if self.current_lane not in self._list_visible_lanes():
                self._leave_hidden_lane()
            if was_empty and not self.has_class("-empty"):  # the first card is the one people want
                self._set_current_lane(self._find_busiest_lane())
                self.call_after_refresh(self._lanes[self.current_lane].focus)
        self._run_lane.show_runs(runs, self._view.cut_off_runs)
        self._show_tabs()

    def _leave_hidden_lane(self) -> None:
        """The first run comes, or the last task goes."""
        had_focus = self._lanes[self.current_lane].has_focus
        self._set_current_lane(self._list_visible_lanes()[0])
        if had_focus:
            self.call_after_refresh(self._lanes[self.current_lane].focus)

    def _show_tabs(self) -> None:
        lanes = self._list_visible_lanes()
        self._tabs.show_counts({name: self._lanes[name].card_count for name in lanes}, self.current_lane)

    def _update_log(self) -> None:
        lines = self._log_book.read_new_lines(self._view.running_slots)
        run, label = self._find_log_of_selection() if self._shows_own_log else ("", "")
        if run != self._log_run:
            self._log_run = run
            title = f"Log: {one_line(label, 40, self._glyphs.ellipsis)}" if run else ALL_AGENTS_TITLE
            self._log.show_log(title, self._log_book.list_lines(run, label))
        else:
            self._log.add_lines(line for line in lines if not run or line.run == run)

    def _find_log_of_selection(self) -> tuple[str, str]:
        """The run whose log is the selected card's, and what it is called; empty where it has none."""
        if self._slots.has_focus:
            slot = self._slots.selected_slot
            return (slot.run, slot.name) if slot else ("", "")
        if self.current_lane == RUN_LANE:
            run = self._run_lane.selected_card
            return (run.id, run.title or run.id) if run else ("", "")
        card = self._task_lanes[self.current_lane].selected_card
        return (card.worker or self._reader.find_last_run(card.id), card.id) if card else ("", "")

    # -- the page of a card ---------------------------------------------------------------------
    def action_details(self) -> None:
        """Of the card or slot under the cursor."""
        task, run = self._get_selected_task(), self._get_selected_run()
        try:
            if task:
                self._open_task_dialog(task)
            elif run:
                self._open_run_dialog(run)
        except RalphError as error:
            self._notify_error(error)

    def _open_task_dialog(self, task: str) -> None:
        run = self._reader.find_last_run(task)
        self._changes = {} if run else {task: RunChanges(run="")}
        dialog = CardDialog(task, self._render_task_page(task), is_task=True)
        self.app.push_screen(dialog)

        def show(changes: RunChanges) -> None:
            self._changes = {task: changes}
            dialog.diff = render_diff(changes) if changes.diff else None
            self._update_card_dialog()

        if run:
            start_job(self, lambda: load_changes(self._paths, run, os.environ), show)

    def _open_run_dialog(self, run: str) -> None:
        card = next((card for card in self._view.runs if card.id == run), None)
        title = (card.title if card else "") or run
        waiting = Text(f"{title}\n  reading{self._glyphs.ellipsis}")
        dialog = CardDialog(run, waiting, is_task=False)
        self.app.push_screen(dialog)

        def show(found: RunDetails) -> None:
            dialog.diff = render_diff(found.changes) if found.changes.diff else None
            if dialog.is_attached:
                dialog.show_text(render_run_details(found, title, self._glyphs))

        start_job(self, lambda: load_run_details(self._paths, run, os.environ, time.time()), show)

    def _get_selected_task(self) -> str:
        if self._slots.has_focus:
            slot = self._slots.selected_slot
            return slot.task if slot and slot.is_task_slot else ""
        if self.current_lane == RUN_LANE:
            return ""
        card = self._task_lanes[self.current_lane].selected_card
        return card.id if card else ""

    def _get_selected_run(self) -> str:
        """A run without a task."""
        if self._slots.has_focus:
            slot = self._slots.selected_slot
            return slot.run if slot and not slot.is_task_slot else ""
        card = self._run_lane.selected_card if self.current_lane == RUN_LANE else None
        return card.id if card else ""

    def _render_task_page(self, task: str) -> Text:
        shown = self._reader.load_task(task, self._settings)
        return render_task_details(shown, self._changes.get(task), self._glyphs)

    def _update_card_dialog(self) -> None:
        top = self.app.screen
        if isinstance(top, CardDialog) and top.is_task:
            try:
                top.show_text(self._render_task_page(top.key))
            except RalphError:
                top.dismiss(None)  # it was deleted

    # -- steering -------------------------------------------------------------------------------
    def action_pause(self) -> None:
        self._steering.pause(self._find_selection(), now=False)

    def action_pause_now(self) -> None:
        """Stops an agent at work, too."""
        self._steering.pause(self._find_selection(), now=True)

    def action_note(self) -> None:
        self._steering.note(self._find_selection())

    def action_answer(self) -> None:
        self._steering.answer(self._find_selection())

    def action_retry(self) -> None:
        self._steering.retry(self._find_selection())

    def action_priority(self, by: int) -> None:
        self._steering.change_priority(self._find_selection(), by)

    def action_edit(self) -> None:
        task = self._get_selected_task()
        if not task:
            self.notify("Select a task to edit.", markup=False)
            return
        try:
            self._steering.edit(self._reader.load_task(task, self._settings).entry.task)
        except RalphError as error:
            self._notify_error(error)

    def action_new_task(self) -> None:
        """Of the spec of the selected card; with a number after the last."""
        card = next((card for card in self._view.cards if card.id == self._get_selected_task()), None)
        spec = card.spec_id if card else next((card.spec_id for card in self._view.cards), "main")
        self._steering.add_task(suggest_task_id([card.id for card in self._view.cards]), spec)

    def action_stop(self) -> None:
        self._steering.stop_execute()

    def action_cancel(self) -> None:
        self._steering.cancel(self._find_selection())

    def _find_selection(self) -> Selection:
        task, run = self._get_selected_task(), self._get_selected_run()
        card = next((card for card in self._view.cards if card.id == task), None)
        if card is not None:
            return select_task(card, self._view)
        found = next((card for card in self._view.runs if card.id == run), None)
        return select_run(found, self._view, self._glyphs) if found else Selection()

    def on_job_ended(self, event: JobEnded[object]) -> None:
        """Tell the user how it ended."""
        if event.error:
            self._notify_error(event.error)
        else:
            event.then()

    def _notify_error(self, error: RalphError) -> None:
        self.notify(f"{error.message}\n{error.hint}".strip(), severity="error", timeout=10, markup=False)
