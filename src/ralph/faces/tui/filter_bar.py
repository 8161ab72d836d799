"""The line where one types what to look for."""

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static


class FilterBar(Horizontal):
    """Hidden until asked for. While one types, it says how many cards are left."""

    class Changed(Message):
        """Other words are looked for."""

    class Accepted(Message):
        """Enter: the words stay, and the first card that has them is wanted."""

    def __init__(self) -> None:
        super().__init__(id="filter-bar")
        self._input = Input(placeholder="id, title, spec or prompt", id="filter", compact=True)
        self._count = Static("", id="filter-count", markup=False)

    @property
    def words(self) -> str:
        return self._input.value

    def compose(self) -> ComposeResult:
        yield Static("Filter: ", id="filter-label", markup=False)
        yield self._input
        yield self._count

    def open(self) -> None:
        self.add_class("shown")
        self._input.focus()

    def clear(self) -> None:
        self._input.value = ""
        self.remove_class("shown")

    def show_count(self, shown: int, total: int) -> None:
        self._count.update(f"{shown} of {total}  Enter: go there  Esc: show all" if self.words else "")

    @on(Input.Changed)
    def _tell_change(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed())

    @on(Input.Submitted)
    def _accept(self, event: Input.Submitted) -> None:
        event.stop()
        self.set_class(bool(self.words), "shown")
        self.post_message(self.Accepted())
