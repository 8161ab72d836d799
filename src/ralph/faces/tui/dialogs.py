"""What stands before the board for a while: a task's page, a question, the keys."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from ralph.faces.tui.colors import TONE_STYLES

KEY_HELP = (
    ("h l", "lane to the left, to the right; arrows do, too"),
    ("j k", "card below, above"),
    ("g G", "first, last"),
    ("Tab", "lanes, agents, log"),
    ("Enter", "all there is to tell about a task"),
    ("/", "filter by id, title or spec; Esc shows all again"),
    ("c", "show or hide cancelled tasks"),
    ("f", "follow the log, or stop following"),
    ("x", "cancel the work on the task, or the run, under the cursor"),
    ("? q", "this help, quit"),
)
KEY_HINTS = (
    *(("Enter", "show"), ("hjkl", "move"), ("Tab", "panel"), ("/", "filter")),
    *(("f", "follow"), ("x", "cancel"), ("?", "help"), ("q", "quit")),
)
_MARK_TONES = {"✓": "good", "✗": "bad", "·": "faint"}


class TaskDialog(ModalScreen[None]):
    """All there is to tell about a task, as `ralph task show` tells it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss(None)", show=False),
        Binding("j,down", "scroll('down')", show=False),
        Binding("k,up", "scroll('up')", show=False),
        Binding("pagedown,space", "scroll('page_down')", show=False),
        Binding("pageup", "scroll('page_up')", show=False),
        Binding("g,home", "scroll('home')", show=False),
        Binding("G,end", "scroll('end')", show=False),
    ]

    def __init__(self, task: str, text: str) -> None:
        super().__init__()
        self.task_id = task
        self._text = text

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog") as page:
            page.border_title = self.task_id
            page.border_subtitle = "Esc closes"
            yield Static(highlight_page(self._text), id="page", markup=False)

    def show_text(self, text: str) -> None:
        if text != self._text:
            self._text = text
            self.query_one("#page", Static).update(highlight_page(text))

    def action_scroll(self, way: str) -> None:
        getattr(self.query_one(VerticalScroll), f"scroll_{way}")(animate=False)


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
        text.append("\nBy mouse: a click selects, two open, the wheel scrolls.", TONE_STYLES["faint"])
        with Vertical(classes="dialog") as page:
            page.border_title = "Keys"
            page.border_subtitle = "Esc closes"
            yield Static(text, markup=False)


def render_key_hints() -> Text:
    """The keys one needs most, on one line. Textual's own footer is a widget a key, laid out at every step."""
    text = Text(no_wrap=True, overflow="crop", end="")
    for keys, meaning in KEY_HINTS:
        text.append(keys, "bold #f2a65a").append(f" {meaning}  ")
    return text


def highlight_page(page: str) -> Text:
    """Styles a task's page: lines at the margin are headings, indented ones go by their first mark (✓ ✗ ·)."""
    text = Text()
    for line in page.split("\n"):
        mark = _MARK_TONES.get(line.lstrip()[:1]) if line.startswith(" ") else None
        style = TONE_STYLES[mark] if mark else TONE_STYLES["heading"] if line[:1].strip() else TONE_STYLES["said"]
        text.append(f"{line}\n", style)
    return text
