"""The terminal board as a program: it starts, obeys signals, and gives the terminal back."""

import asyncio
import os
import signal
import threading
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from ralph.app.board.watch import BoardReader
from ralph.app.paths import Paths
from ralph.config.schema import Settings
from ralph.faces.glyphs import Glyphs
from ralph.faces.tui.colors import BOARD_CSS
from ralph.faces.tui.screen import BoardScreen

SIGNAL_EXIT_CODE = 130
MAX_SHUTDOWN_SECONDS = 2.0  # a terminal that is gone cannot be given back


class BoardApp(App[None]):
    """The Textual application: one `BoardScreen`, with dialogs in front of it."""

    CSS = BOARD_CSS
    TITLE = "ralph"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "quit", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", show=False),
    ]

    def __init__(self, paths: Paths, reader: BoardReader, settings: Settings, glyphs: Glyphs) -> None:
        super().__init__()
        self.animation_level = "none"
        self.set_class(glyphs.rule.isascii(), "-ascii")
        self.board_screen = BoardScreen(paths, reader, settings, glyphs)

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._exit_on_signal)
        self.push_screen(self.board_screen)

    def _exit_on_signal(self) -> None:
        hard = threading.Timer(MAX_SHUTDOWN_SECONDS, os._exit, (SIGNAL_EXIT_CODE,))
        hard.daemon = True
        hard.start()
        self.exit(return_code=SIGNAL_EXIT_CODE)


def run_board_app(paths: Paths, reader: BoardReader, settings: Settings, glyphs: Glyphs) -> int:
    """Show the board until the user quits or a signal comes; returns the exit code."""
    app = BoardApp(paths, reader, settings, glyphs)
    app.run()
    return app.return_code or 0
