"""What stands before the board for a while: a card's page, a question, the keys."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from ralph.faces.tui.colors import TONE_STYLES

KEY_HELP = (
    ("h l", "previous or next lane (or arrow keys)"),
    ("j k", "next or previous card (or arrow keys)"),
    ("g G", "first or last card"),
    ("Tab", "switch between cards, agents and log"),
    ("Enter", "details: last failure, attempts, changes; then d: diff"),
    ("/", "filter; Enter goes to the first match, Esc clears it"),
    ("o", "log of the selected card, or of all agents"),
    ("f", "follow the log, or stop following"),
    ("c", "show or hide cancelled tasks"),
    ("x", "cancel the selected task or run; its work is kept"),
    ("p P", "pause or resume: after the current agent; P: at once"),
    ("n a", "note for the next agent; answer an agent's question"),
    ("r", "retry a failed task; resume a run that ended"),
    ("e t", "edit the task in $EDITOR; add a new task"),
    ("+ -", "raise or lower the priority of the task"),
    ("S", "stop `ralph execute`, gently or now"),
    ("? q", "help, quit"),
)
KEY_HINTS = (
    *(("Enter", "details"), ("hjkl", "move"), ("Tab", "panel"), ("/", "filter")),
    *(("p", "pause"), ("n", "note"), ("a", "answer"), ("r", "retry"), ("x", "cancel")),
)
LAST_KEY_HINTS = (("?", "help"), ("q", "quit"))


class PageDialog(ModalScreen[None]):
    """A page to read and to scroll."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss(None)", show=False),
        Binding("j,down", "scroll('down')", show=False),
        Binding("k,up", "scroll('up')", show=False),
        Binding("pagedown,space", "scroll('page_down')", show=False),
        Binding("pageup", "scroll('page_up')", show=False),
        Binding("g,home", "scroll('home')", show=False),
        Binding("G,end", "scroll('end')", show=False),
    ]

    def __init__(self, title: str, text: Text, hint: str = "Esc: close") -> None:
        super().__init__()
        self._title, self._text, self._hint = title, text, hint

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog") as page:
            page.border_title = self._title
            page.border_subtitle = self._hint
            yield Static(self._text, id="page", markup=False)

    def show_text(self, text: Text) -> None:
        if text != self._text:
            self._text = text
            self.query_one("#page", Static).update(text)

    def action_scroll(self, way: str) -> None:
        getattr(self.query_one(VerticalScroll), f"scroll_{way}")(animate=False)


class CardDialog(PageDialog):
    """All there is to tell about a task or a run. What changed comes a moment later: git has to be asked."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("d", "diff", show=False)]

    def __init__(self, key: str, text: Text, *, is_task: bool) -> None:
        super().__init__(key, text, "d: whole diff  Esc: close")
        self.key, self.is_task = key, is_task
        self.diff: Text | None = None

    def action_diff(self) -> None:
        if self.diff is None:
            self.notify("There is no diff (yet).", markup=False)
        else:
            self.app.push_screen(PageDialog(f"{self.key}: what changed", self.diff))


class ConfirmDialog(ModalScreen[bool]):
    """Asks yes or no; Esc and q mean no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", show=False),
        Binding("n,escape,q", "dismiss(False)", show=False),
        Binding("left,right,h,l", "app.focus_next", show=False),
    ]

    def __init__(self, text: str, yes: str, no: str) -> None:
        super().__init__()
        self._text, self._yes, self._no = text, yes, no

    def compose(self) -> ComposeResult:
        """The question, and the two answers."""
        with Vertical(classes="dialog"):
            yield Static(self._text, markup=False)
            with Horizontal():
                yield Button(f"n  {self._no}", id="no", compact=True)
                yield Button(f"y  {self._yes}", id="yes", variant="error", compact=True)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")


class HelpDialog(ModalScreen[None]):
    """The keys."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter,question_mark", "dismiss(None)", show=False)]

    def compose(self) -> ComposeResult:
        text = Text()
        for keys, meaning in KEY_HELP:
            text.append(f"{keys:<8}", TONE_STYLES["tool"]).append(f"{meaning}\n")
        text.append("\nMouse: click to select, double-click for details, wheel to scroll.", TONE_STYLES["faint"])
        with Vertical(classes="dialog") as page:
            page.border_title = "Keys"
            page.border_subtitle = "Esc: close"
            yield Static(text, markup=False)


def render_key_hints(room: int) -> Text:
    """The keys one needs most, as many as fit on one line. Textual's own footer is a widget a key, laid out at every
    step."""
    shown = [*LAST_KEY_HINTS]
    for hint in KEY_HINTS:
        if sum(len(keys) + len(meaning) + 3 for keys, meaning in (*shown, hint)) > room:
            break
        shown.insert(-len(LAST_KEY_HINTS), hint)
    text = Text(no_wrap=True, overflow="crop", end="")
    for keys, meaning in shown:
        text.append(keys, "bold #f2a65a").append(f" {meaning}  ")
    return text
