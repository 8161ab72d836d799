"""The watching side of a run: display or JSON, made from settings and flags."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ralph.app.cleanup.daily_cleaning import clean_up_once_a_day
from ralph.app.paths import Paths, find_project_paths
from ralph.app.session import Callbacks
from ralph.core.reporting.trace_context import is_tracing_wanted
from ralph.faces.cli.live.afterword import RunEndKeeper
from ralph.faces.cli.live.display import TextDisplay
from ralph.faces.cli.live.json_lines import JsonDisplay
from ralph.faces.cli.live.plain_display import PlainDisplay
from ralph.faces.cli.live.status_line import STATUS_LINE_SECONDS
from ralph.faces.cli.live.ticking import StatusTicker
from ralph.faces.cli.terminal.look import resolve_style
from ralph.faces.cli.terminal.output import Output
from ralph.model.events import Debugged, Event, Hinted, Warned
from ralph.model.ports import Watcher

if TYPE_CHECKING:
    from ralph.config.schema import Settings
    from ralph.faces.cli.live.steering import SteeringKeys

NO_TELEMETRY_WARNING = (
    "OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is not installed, so no spans are sent; "
    "pip install 'ralph-verified[otel]'"
)
RunDisplay = TextDisplay | JsonDisplay | PlainDisplay
SHUTDOWN_NOTICE = "Received signal, shutting down...\nFinishing the current step; press Ctrl-C again to stop now.\n"


@contextmanager
def watch_run(
    settings: "Settings",
    *,
    as_json: bool,
    verbose: bool,
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
    kind: str = "run",
    paths: Paths | None = None,
) -> Iterator[Callbacks]:
    """Shows warnings and notes, then yields the callbacks that show a run; closes the display at the end.
    `paths`: where the run is recorded, so that keys can steer it."""
    watcher = build_display(settings, as_json=as_json, verbose=verbose)
    preface: list[Event] = [*map(Debugged, notes), *map(Warned, warnings)]
    watcher(time.time(), 0, preface)
    ended = RunEndKeeper()
    with (
        clean_up_afterwards(settings),
        keep_fresh(watcher, paths if settings.display.keys else None) as keys,
        notify_people(settings, watcher) as others,
        trace_runs(settings, watcher, kind) as trace,
    ):
        yield Callbacks(watchers=(watcher, *keys, *others, *trace(""), ended), on_signal=announce_shutdown)
        if not as_json:
            watcher(time.time(), 0, [Hinted(line) for line in ended.describe(_find_folder())])


@contextmanager
def clean_up_afterwards(settings: "Settings") -> Iterator[None]:
    """Once the run is over, what runs of long ago left goes (`keepDays`)."""
    yield
    with suppress(OSError):  # the folder may be gone by now
        clean_up_once_a_day(find_project_paths(os.getcwd()), settings.keep_days, os.environ)


@contextmanager
def keep_fresh(display: RunDisplay, paths: Paths | None = None) -> Iterator[Sequence[Watcher]]:
    """Renews the status line, where there is one, for as long as the block lasts; then closes the display. With
    `paths`, and somebody at a keyboard, keys steer the run: they need to watch it."""
    keys = _open_keys(display, paths) if paths and display.has_status_line else None
    helper = keys or (StatusTicker(display, 2 * STATUS_LINE_SECONDS) if display.has_status_line else None)
    try:
        yield (keys,) if keys else ()
    finally:
        if helper is not None:
            helper.close()
        display.close()


def _open_keys(display: RunDisplay, paths: Paths) -> "SteeringKeys | None":
    if not isinstance(display, TextDisplay):
        return None
    from ralph.faces.cli.live.steering import SteeringKeys  # only who sits at a terminal has keys

    return SteeringKeys.open_terminal(display, sys.stdin, paths)


@contextmanager
def notify_people(settings: "Settings", display: Watcher) -> Iterator[Sequence[Watcher]]:
    """Watchers that send messages, where settings name someone; what could not be sent is shown at the end."""
    if not settings.notify.names_someone:
        yield ()
        return
    from ralph.app.notify import NO_APPRISE_WARNING, Notifier, has_apprise  # urllib and threads: most do without

    if settings.notify.apprise and not has_apprise():
        display(time.time(), 0, [Warned(NO_APPRISE_WARNING)])

    notifier = Notifier(
        settings.notify,
        folder=os.getcwd(),
        variables=os.environ,
        warn=lambda problem: display(time.time(), 0, [Warned(problem)]),
    )
    try:
        yield (notifier,)
    finally:
        notifier.close()


@contextmanager
def trace_runs(settings: "Settings", display: Watcher, kind: str) -> "Iterator[Callable[[str], Sequence[Watcher]]]":
    """Gives the watchers that report spans of one task, where a collector is named; else none."""
    if not is_tracing_wanted(os.environ):
        yield lambda task: ()
        return

    def warn(problem: str) -> None:
        display(time.time(), 0, [Warned(problem)])

    try:
        from ralph.app.telemetry import Telemetry
    except ModuleNotFoundError:
        warn(NO_TELEMETRY_WARNING)
        yield lambda task: ()
        return
    telemetry = Telemetry(os.environ, warn)
    try:
        yield lambda task: (telemetry.watch_run(kind, task=task, model=settings.agent.model),)
    finally:
        telemetry.close()


def build_display(
    settings: "Settings", *, as_json: bool, verbose: bool, out: Output | None = None, label: str = ""
) -> RunDisplay:
    """A display for `settings`: JSON lines for programs, sentences for who listens, else text. `label` is the task a
    sentence is about, where there are several."""
    wanted = settings.display
    style = resolve_style(
        sys.stdout,
        os.environ,
        glyphs=wanted.glyphs,
        color=wanted.color,
        timestamps=bool(wanted.timestamps) if wanted.plain else wanted.timestamps,
        max_output_lines=wanted.max_output_lines,
        max_check_lines=wanted.max_check_lines,
        max_edit_lines=wanted.max_edit_lines,
        max_output_chars=wanted.max_output_chars,
        verbose=verbose,
        stream_agent_output=settings.stream_agent_output,
        folder=_find_folder(),
        bell=settings.notify.bell,
    )
    out = out or Output.for_stream(sys.stdout)
    if as_json:
        return JsonDisplay(style, out.write_bytes)
    if wanted.plain:
        return PlainDisplay(style, out, Output.for_stream(sys.stderr), label)
    return TextDisplay(style, out, Output.for_stream(sys.stderr), out.read_width if style.is_tty else None)


def _find_folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""  # it is gone; whoever needs it says so


def announce_shutdown() -> None:
    """Called in the signal handler: one unbuffered write to stderr, errors ignored."""
    try:
        os.write(2, (("\n" if os.isatty(2) else "") + SHUTDOWN_NOTICE).encode())  # behind the terminal's own ^C
    except OSError:
        pass
