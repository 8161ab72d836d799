"""Dialogs that ask for a text or for one of several answers."""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from ralph.faces.tui.colors import TONE_STYLES


class TextDialog(ModalScreen[str]):
    """Asks for a line of text; Esc, or nothing typed, means none."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss('')", show=False)]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = self._title
            box.border_subtitle = "Enter: send  Esc: cancel"
            yield Static(self._text, markup=False)
            yield Input(id="answer", compact=True)

    def on_mount(self) -> None:
        self.query_one("#answer", Input).focus()

    @on(Input.Submitted)
    def _send(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value.strip())


class ChoiceDialog(ModalScreen[str]):
    """Asks for one of several answers, each by its key; Esc means none."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss('')", show=False)]

    def __init__(self, text: str, choices: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._text, self._choices = text, choices

    def compose(self) -> ComposeResult:
        shown = Text(f"{self._text}\n\n")
        for key, meaning in self._choices:
            shown.append(f"  {key}  ", "bold #f2a65a").append(f"{meaning}\n")
        shown.append("  Esc  back to the board", TONE_STYLES["faint"])
        with Vertical(classes="dialog"):
            yield Static(shown, markup=False)

    def on_key(self, event: Key) -> None:
        if event.character in {key for key, _ in self._choices}:
            event.stop()
            self.dismiss(event.character)
