"""The terminal board as a program: it starts, obeys signals, and gives the terminal back."""

import asyncio
import os
import signal
import threading
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from ralph.app.board.watch import BoardReader
from ralph.app.control.owned_run import OwnedRun
from ralph.app.paths import Paths
from ralph.config.schema import Settings
from ralph.faces.glyphs import Glyphs
from ralph.faces.tui.colors import BOARD_CSS
from ralph.faces.tui.jobs import start_job
from ralph.faces.tui.questions import ChoiceDialog
from ralph.faces.tui.screen import BoardScreen

SIGNAL_EXIT_CODE = 130
MAX_SHUTDOWN_SECONDS = 2.0  # a terminal that is gone cannot be given back
OWNED_POLL_SECONDS = 1.0


class BoardApp(App[None]):
    """The Textual application: one `BoardScreen`, with dialogs in front of it. Quitting one that was opened with a run
    asks what is to become of that."""

    CSS = BOARD_CSS
    TITLE = "ralph"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "quit", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", show=False),
    ]

    def __init__(
        self,
        paths: Paths,
        reader: BoardReader,
        settings: Settings,
        glyphs: Glyphs,
        *,
        owned: OwnedRun | None = None,
    ) -> None:
        super().__init__()
        self.animation_level = "none"
        self.set_class(glyphs.rule.isascii(), "-ascii")
        self._paths, self._owned = paths, owned
        self.board_screen = BoardScreen(paths, reader, settings, glyphs)

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._exit_on_signal)
        self.push_screen(self.board_screen)
        if self._owned is not None:
            self.set_interval(OWNED_POLL_SECONDS, self._owned.is_running)

    async def action_quit(self) -> None:
        owned = self._owned
        if owned is None or not owned.is_running():
            self.exit()
        elif not isinstance(self.screen, ChoiceDialog):
            what = "`ralph execute` is" if owned.is_execute else "The run is"
            self.push_screen(ChoiceDialog(f"{what} still going.", owned.choices), self._leave)

    def _leave(self, key: str | None) -> None:
        owned = self._owned
        if key == "d":
            self.exit()
        elif key and owned is not None:
            self.board_screen.notify("Stopping…", markup=False)
            start_job(self.board_screen, lambda: owned.stop(self._paths, key), lambda _: self.exit())

    def _exit_on_signal(self) -> None:
        hard = threading.Timer(MAX_SHUTDOWN_SECONDS, os._exit, (SIGNAL_EXIT_CODE,))
        hard.daemon = True
        hard.start()
        self.exit(return_code=SIGNAL_EXIT_CODE)


def run_board_app(
    paths: Paths, reader: BoardReader, settings: Settings, glyphs: Glyphs, *, owned: OwnedRun | None = None
) -> int:
    """Show the board until the user quits or a signal comes; returns the exit code."""
    app = BoardApp(paths, reader, settings, glyphs, owned=owned)
    app.run()
    return app.return_code or 0
