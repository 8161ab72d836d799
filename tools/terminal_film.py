"""Plays a command in a terminal of its own and draws what was seen: an animated SVG, or the last screen alone.

The picture is plain SVG and CSS, so it moves wherever images are shown; who asked for less motion sees its last screen.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby

import pyte
from pyte.screens import Char

CELL_WIDTH, CELL_HEIGHT, FONT_SIZE, PADDING = 8.4, 18, 14, 14
LAST_SCREEN_SECONDS = 4.0
MAX_SKIPPED_FRAMES = 4
BACKGROUND, FOREGROUND = "#12151b", "#d5d9e0"
COLORS = {
    "black": "#3b4048", "red": "#f2777a", "green": "#8fc873", "brown": "#e5c07b", "blue": "#6cb2f7",
    "magenta": "#c792ea", "cyan": "#5fc9d8", "white": "#d5d9e0", "brightblack": "#7d8590", "brightred": "#ff8f8f",
    "brightgreen": "#a9e08c", "brightbrown": "#f5d78e", "brightyellow": "#f5d78e", "brightblue": "#8cc8ff",
    "brightmagenta": "#dcb0ff", "brightcyan": "#86e1ee", "brightwhite": "#ffffff",
}  # fmt: skip

Line = tuple[Char, ...]


@dataclass(frozen=True)
class Frame:
    """What the terminal showed, and from when on."""

    at: float
    lines: tuple[Line, ...]


@dataclass(kw_only=True)
class Film:
    """Frames of one size."""

    columns: int
    rows: int
    frames: list[Frame] = field(default_factory=list)
    seconds: float = 0


def record(
    command: Sequence[str],
    *,
    folder: str,
    variables: Mapping[str, str],
    size: tuple[int, int],
    typed: Sequence[tuple[float, str]] = (),
    every: float = 0.2,
    longest: float = 60,
) -> Film:
    """The whole of a command's time in a terminal of `size` (columns, rows); `typed` is what to type, and when.

    What changes faster than `every` so many seconds is one frame.
    """
    columns, rows = size
    screen = pyte.Screen(columns, rows)
    stream = pyte.ByteStream(screen)
    film = Film(columns=columns, rows=rows)
    waiting = list(typed)
    pid, terminal = _spawn(command, folder, variables, size)
    began = time.monotonic()
    try:
        while (now := time.monotonic() - began) < longest:
            while waiting and waiting[0][0] <= now:
                os.write(terminal, waiting.pop(0)[1].encode())
            if select.select([terminal], [], [], 0.02)[0]:
                try:
                    data = os.read(terminal, 65536)
                except OSError:  # its last process has ended
                    break
                if not data:
                    break
                stream.feed(data)
            # while more is coming the screen may be half drawn; one that is never at rest is taken all the same
            elif not film.frames or time.monotonic() - began - film.frames[-1].at >= every:
                _take_frame(film, screen, time.monotonic() - began)
            if film.frames and time.monotonic() - began - film.frames[-1].at >= every * MAX_SKIPPED_FRAMES:
                _take_frame(film, screen, time.monotonic() - began)
        film.seconds = time.monotonic() - began
        _take_frame(film, screen, film.seconds)
    finally:
        os.close(terminal)
        _end_process(pid)
    return film


def draw(film: Film, title: str) -> str:
    """The film as an SVG; a film of one frame does not move."""
    width, height = film.columns * CELL_WIDTH + 2 * PADDING, film.rows * CELL_HEIGHT + 2 * PADDING
    pen = Pen()
    frames = "".join(_draw_frame(frame, number * height, pen) for number, frame in enumerate(film.frames))
    lines = "".join(f'<g id="{name}">{content}</g>' for content, name in pen.lines.items())
    colors = "".join(f".{name}{{fill:{color}}}" for color, name in pen.colors.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img">'
        f"<title>{escape(title)}</title>"
        f"<style>{_describe_motion(film, height)}{_STYLE}{colors}</style><defs>{lines}</defs>"
        f'<rect width="{width:g}" height="{height:g}" rx="8" fill="{BACKGROUND}"/>'
        f'<svg x="{PADDING}" y="{PADDING}" width="{width - 2 * PADDING:g}" height="{height - 2 * PADDING:g}">'
        f'<g class="film">{frames}</g></svg></svg>\n'
    )


@dataclass
class Pen:
    """What is drawn once and referred to by name: most lines stay the same from frame to frame."""

    lines: dict[str, str] = field(default_factory=dict)
    colors: dict[str, str] = field(default_factory=dict)

    def name_line(self, content: str) -> str:
        return self.lines.setdefault(content, f"l{len(self.lines)}")

    def name_color(self, color: str) -> str:
        return self.colors.setdefault(color, f"c{len(self.colors)}")


_STYLE = (
    f"text{{font:{FONT_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
    f"white-space:pre;fill:{FOREGROUND}}}.b{{font-weight:bold}}.i{{font-style:italic}}.u{{text-decoration:underline}}"
)


def _describe_motion(film: Film, height: float) -> str:
    last = -height * (len(film.frames) - 1)
    still = f".film{{transform:translateY({last:g}px)}}"
    if len(film.frames) == 1:
        return still
    whole = film.seconds + LAST_SCREEN_SECONDS
    steps = "".join(
        f"{frame.at / whole:.3%}{{transform:translateY({-number * height:g}px)}}"
        for number, frame in enumerate(film.frames)
    )
    moving = f".film{{animation:film {whole:.2f}s steps(1,end) infinite}}"
    frames = f"@keyframes film{{0%{{transform:none}}{steps}}}"
    return f"{still}@media (prefers-reduced-motion:no-preference){{{moving}}}{frames}"


def _draw_frame(frame: Frame, top: float, pen: Pen) -> str:
    drawn = ((row, "".join((*_draw_paper(line, pen), *_draw_text(line, pen)))) for row, line in enumerate(frame.lines))
    return "".join(
        f'<use href="#{pen.name_line(content)}" y="{top + row * CELL_HEIGHT:g}"/>' for row, content in drawn if content
    )


def _draw_paper(line: Line, pen: Pen) -> Iterator[str]:
    for column, cells in _group_cells(line, _find_paper):
        if (paper := _find_paper(cells[0])) != BACKGROUND:
            place = f'x="{column * CELL_WIDTH:g}" width="{len(cells) * CELL_WIDTH:g}" height="{CELL_HEIGHT}"'
            yield f'<rect {place} class="{pen.name_color(paper)}"/>'


def _draw_text(line: Line, pen: Pen) -> Iterator[str]:
    """Each piece has its width said: the reader's font may have another."""
    for column, cells in _group_cells(line, _find_style):
        text = "".join(cell.data for cell in cells)
        if shown := text.strip():
            start = column + len(text) - len(text.lstrip())
            ink, *styles = _find_style(cells[0])
            names = " ".join(((pen.name_color(ink),) if ink != FOREGROUND else ()) + tuple(filter(None, styles)))
            place = f'x="{start * CELL_WIDTH:g}" y="{CELL_HEIGHT - 5}" textLength="{len(shown) * CELL_WIDTH:g}"'
            chosen = f' class="{names}"' if names else ""
            yield f"<text {place}{chosen}>{escape(shown, quote=False)}</text>"


def _group_cells(line: Line, key: Callable[[Char], object]) -> Iterator[tuple[int, Line]]:
    column = 0
    for _, group in groupby(line, key=key):
        cells = tuple(group)
        yield column, cells
        column += len(cells)


def _find_paper(cell: Char) -> str:
    return _color(cell.fg, FOREGROUND) if cell.reverse else _color(cell.bg, BACKGROUND)


def _find_style(cell: Char) -> tuple[str, str, str, str]:
    """Its colour and classes."""
    ink = _color(cell.bg, BACKGROUND) if cell.reverse else _color(cell.fg, FOREGROUND)
    return ink, "b" * cell.bold, "i" * cell.italics, "u" * cell.underscore


def _color(name: str, default: str) -> str:
    if name == "default":
        return default
    return COLORS.get(name, f"#{name}")


def _take_frame(film: Film, screen: pyte.Screen, at: float) -> None:
    """Add what the screen shows, unless it shows nothing new."""
    if not screen.dirty:
        return
    screen.dirty.clear()
    lines = tuple(tuple(screen.buffer[row][column] for column in range(film.columns)) for row in range(film.rows))
    if not film.frames or film.frames[-1].lines != lines:
        film.frames.append(Frame(at, lines))


def _spawn(command: Sequence[str], folder: str, variables: Mapping[str, str], size: tuple[int, int]) -> tuple[int, int]:
    pid, terminal = pty.fork()
    if pid == 0:
        try:
            os.chdir(folder)
            os.execvpe(command[0], list(command), dict(variables))
        finally:
            os._exit(127)
    columns, rows = size
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    return pid, terminal


def _end_process(pid: int) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        until = time.monotonic() + 5
        while time.monotonic() < until:
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
            time.sleep(0.05)
        os.kill(pid, number)
    os.waitpid(pid, 0)
