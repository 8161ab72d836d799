"""The watching side of a run: display or JSON, made from settings and flags."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ralph.app.session import Wishes
from ralph.faces.cli.live.display import Display
from ralph.faces.cli.live.json_lines import JsonDisplay
from ralph.faces.cli.terminal.look import look_for
from ralph.faces.cli.terminal.output import Output
from ralph.model.events import Debugged, Event, Warned

if TYPE_CHECKING:
    from ralph.config.schema import Settings

SHUTTING_DOWN = "Received signal, shutting down...\nThe current step may finish; a second signal stops it now.\n"


@contextmanager
def watching(
    settings: "Settings", *, as_json: bool, verbose: bool, warnings: Sequence[str] = (), notes: Sequence[str] = ()
) -> Iterator[Wishes]:
    """What a run tells its user, while the block lasts."""
    watcher = display(settings, as_json=as_json, verbose=verbose)
    preface: list[Event] = [*map(Debugged, notes), *map(Warned, warnings)]
    watcher(time.time(), 0, preface)
    try:
        yield Wishes((watcher,), lambda: watcher.tick(time.time()), announce)
    finally:
        watcher.close()


def display(settings: "Settings", *, as_json: bool, verbose: bool, out: Output | None = None) -> Display | JsonDisplay:
    """Lines for people or lines for programs."""
    wanted = settings.display
    look = look_for(
        sys.stdout,
        os.environ,
        glyphs=wanted.glyphs,
        color=wanted.color,
        timestamps=wanted.timestamps,
        max_output_lines=wanted.max_output_lines,
        max_output_chars=wanted.max_output_chars,
        verbose=verbose,
        stream_agent_output=settings.stream_agent_output,
    )
    out = out or Output.on(sys.stdout)
    if as_json:
        return JsonDisplay(look, out.send)
    return Display(look, out, Output.on(sys.stderr), out.columns if look.is_tty else None)


def announce() -> None:
    """From the signal handler: a plain write, at once."""
    try:
        os.write(2, (("\n" if os.isatty(2) else "") + SHUTTING_DOWN).encode())  # behind the terminal's own ^C
    except OSError:
        pass
