"""Someone in front of the board, on a screen that is not there."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from textual.pilot import Pilot

from ralph.app.board.watch import BoardReader
from ralph.config.schema import Settings
from ralph.faces.glyphs import UNICODE_GLYPHS, Glyphs
from ralph.faces.tui.app import BoardApp
from ralph.faces.tui.lane import Lane
from support.board_room import BoardFixture

WIDE = (150, 36)


class Watcher:
    """Someone in front of the board."""

    def __init__(self, app: BoardApp, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot

    async def look(self) -> str:
        """What is on the screen now, line by line."""
        self.app.board_screen.update_board()
        await self.pilot.pause()
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)

    async def until(self, text: str) -> bool:
        """Whether that is on the screen in time."""
        deadline = time.monotonic() + 10
        while text not in await self.look():
            if time.monotonic() > deadline:
                return False
        return True

    async def press(self, *keys: str) -> str:
        await self.pilot.press(*keys)
        return await self.look()

    def is_at_board(self) -> bool:
        """Whether nothing stands before it."""
        return self.app.screen is self.app.board_screen

    def lane(self, name: str) -> Lane:
        return self.app.board_screen.query_one(f"#lane-{name}", Lane)

    def chosen(self) -> str:
        card = self.lane(self.app.board_screen.current_lane).selected_card
        return card.id if card else ""


@asynccontextmanager
async def watching(room: BoardFixture, size: tuple[int, int], glyphs: Glyphs) -> AsyncIterator[Watcher]:
    app = BoardApp(room.places, BoardReader(room.places), Settings(), glyphs)
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.pause()
        yield Watcher(app, pilot)


def watch(
    room: BoardFixture,
    play: Callable[[Watcher], Awaitable[None]],
    size: tuple[int, int] = WIDE,
    glyphs: Glyphs = UNICODE_GLYPHS,
) -> None:
    """Play a scene in front of the board."""

    async def scene() -> None:
        async with watching(room, size, glyphs) as watcher:
            await play(watcher)

    asyncio.run(scene())
