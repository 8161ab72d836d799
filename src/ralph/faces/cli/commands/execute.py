"""`ralph execute`: take tasks through coder → reviewer → tester → qa and land what is proven."""

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

import click
import msgspec
from msgspec.structs import replace

from ralph.app.agents.choice import anchor_agents, ensure_agent
from ralph.app.paths import Paths, describe_settings_choice, find_project_paths
from ralph.app.pipeline.context import ExecuteRequest
from ralph.app.pipeline.execute import ExecuteReport, execute_tasks
from ralph.app.pipeline.stages import use_one_agent
from ralph.app.session import Callbacks
from ralph.config.schema import Settings
from ralph.config.sources import load_settings
from ralph.core.text.plain import sanitize
from ralph.faces.cli.live.json_lines import JsonDisplay
from ralph.faces.cli.live.loop_lines import LoopEventRenderer
from ralph.faces.cli.live.task_lines import TaskStatusLines
from ralph.faces.cli.live.watching import (
    announce_shutdown,
    build_display,
    clean_up_afterwards,
    keep_fresh,
    notify_people,
    trace_runs,
)
from ralph.faces.cli.options.agent import add_agent_options
from ralph.faces.cli.options.amounts import CountParam, DollarsParam
from ralph.faces.cli.options.board_option import add_board_option
from ralph.faces.cli.options.detach import DETACH_NAMES, add_detach_option
from ralph.faces.cli.options.known_names import complete_open_task
from ralph.faces.cli.options.limits import idle_timeout_option, max_time_option, timeout_option
from ralph.faces.cli.options.loop_flags import collect_loop_flags
from ralph.faces.cli.options.output_flags import EVENTS_JSON_HELP, add_json_option, add_plain_option, add_verbose_option
from ralph.faces.cli.options.sandbox import add_sandbox_options, settle_sandbox
from ralph.faces.cli.options.settings_consent import accept_settings_option, settle_settings_changes
from ralph.faces.cli.pages.execute_report import ExecuteTotals, render_execute_report
from ralph.faces.cli.terminal.look import resolve_style
from ralph.faces.cli.terminal.output import Output
from ralph.faces.cli.terminal.wrapping import wrap_for_stream
from ralph.faces.clock import format_local_time
from ralph.faces.glyphs import PLAIN_GLYPHS, resolve_glyphs
from ralph.model.errors import UsageError
from ralph.model.events import AgentEnded, Event, GateEnded, IterationStarted, Noted, Paused, RunEnded, Waiting, Warned
from ralph.model.ports import Watcher
from ralph.model.spec import ROLES, Role

EXECUTE_EXAMPLES = """\b
Examples:
  ralph execute                   all open tasks, one at a time
  ralph execute -j 3              three at a time
  ralph execute T-1 T-2           only these
  ralph execute --resume          after a crash or Ctrl-C
"""


@click.command(epilog=EXECUTE_EXAMPLES)
@click.argument("tasks", nargs=-1, shell_complete=complete_open_task)
@click.option("-j", "--jobs", type=CountParam(), default=1, show_default=True, help="Tasks to run in parallel.")
@add_agent_options()
@click.option("--stage", "wanted", default="", metavar="A,B", help="Only these stages: coder,reviewer,tester,qa.")
@click.option("--target", default="", help="The branch to merge into.  [default: the one checked out]")
@click.option(
    "--semantic",
    type=click.Choice(["judge", "words"]),
    help="Who decides where a task has no command: a judge, or the agent's own words.  [default: judge]",
)
@add_board_option
@add_detach_option(*DETACH_NAMES)
@click.option("--resume", is_flag=True, help="Resume tasks that were interrupted or cancelled.")
@click.option(
    "--budget", type=DollarsParam(), metavar="USD", help="Stop when all tasks together have spent this much (USD)."
)
@click.option("--task-budget", type=DollarsParam(), metavar="USD", help="Stop a task that has spent this much (USD).")
@add_sandbox_options
@max_time_option
@timeout_option
@idle_timeout_option
@accept_settings_option
@add_json_option(EVENTS_JSON_HELP)
@add_plain_option
@add_verbose_option()
def command(
    tasks: tuple[str, ...],
    jobs: int,
    wanted: str,
    target: str,
    semantic: str | None,
    resume: bool,
    budget: float | None,
    task_budget: float | None,
    max_time: float | None,
    **shared: object,
) -> int:
    """Work on TASKS (or all open ones), by priority and dependency, each in its own work tree and branch.

    Every promise is verified; a task that passed qa is merged into the target. With --stage, a
    task is merged only if qa is one of the stages.

    Exit code: 0 all done, 1 some are not, 2 bad usage or environment, 3 some are blocked, 130 interrupted.
    """
    flags = collect_loop_flags(shared)
    as_json = flags.as_json
    paths = find_project_paths(os.getcwd())
    given = {
        **flags.list_settings(),
        "budgetUsd": budget,
        "maxTimeSeconds": max_time,
        "specflow.task_budget_usd": task_budget,
        "specflow.semantic": semantic,
    }
    loaded = load_settings(paths.folder, os.environ, given, seen_from=paths.started_in)
    chosen = flags.choose_agent(loaded.settings, paths)
    chosen = use_one_agent(chosen) if flags.agent or flags.model else chosen
    settings, notice = ensure_agent(anchor_agents(chosen, paths.folder), paths, os.environ)
    settings, isolation = settle_sandbox(settings, as_json=as_json)
    request = ExecuteRequest(
        settings=settings,
        tasks=tasks,
        jobs=jobs,
        stages=_parse_roles(wanted),
        resume=resume,
        target=target,
        isolation=isolation,
    )
    changed = settle_settings_changes(paths, accepted=flags.accept_settings, as_json=as_json)
    display, totals = ExecuteDisplay(settings, jobs, paths, as_json=as_json, verbose=flags.verbose), ExecuteTotals()
    display.show_warnings((*changed, *describe_settings_choice(paths, loaded.files), *loaded.warnings, *notice))
    try:
        with (
            clean_up_afterwards(settings),
            notify_people(settings, display.watch_start) as others,
            trace_runs(settings, display.watch_start, "execute") as trace,
        ):
            report = execute_tasks(
                request,
                paths,
                variables=os.environ,
                callbacks=Callbacks(watchers=(display.watch_start,), on_signal=display.handle_signal),
                watchers_of=lambda task: (*display.make_watchers(task), totals, *others, *trace(task)),
            )
    finally:
        display.close()
    glyphs = resolve_glyphs(settings.display.glyphs, os.environ, getattr(sys.stdout, "encoding", None))
    glyphs = PLAIN_GLYPHS if settings.display.plain else glyphs
    text = _render_report_json(report) if as_json else render_execute_report(report, totals, glyphs)
    shown = text if as_json else wrap_for_stream(text, sys.stdout)
    Output.for_stream(sys.stdout)(f"{shown}\n")  # its loss changes nothing of the work
    return report.exit_code


def _render_report_json(report: ExecuteReport) -> str:
    """The last line of --json: the report on all tasks, and the exit code."""
    record = {"report": report, "exit_code": report.exit_code}
    return msgspec.json.encode(record, enc_hook=str).decode()


class ExecuteDisplay:
    """Shows several tasks. With --jobs 1 it is the usual display; with more, one line an event with the task's name,
    and on a terminal a status line for each task below."""

    def __init__(self, settings: Settings, jobs: int, paths: Paths, *, as_json: bool, verbose: bool) -> None:
        self._lock = threading.Lock()
        shown = settings if jobs == 1 else replace(settings, stream_agent_output=False)
        self._display = build_display(shown, as_json=as_json, verbose=verbose)
        self._is_parallel, self._as_json = jobs > 1, as_json
        self._ticking = ExitStack()
        self._keys: Sequence[Watcher] = ()
        if not self._is_parallel:
            self._keys = self._ticking.enter_context(
                keep_fresh(self._display, paths if settings.display.keys else None)
            )
        self._out = Output.for_stream(sys.stdout)
        self._style = style = resolve_style(
            sys.stdout,
            os.environ,
            glyphs=settings.display.glyphs,
            color=settings.display.color,
            max_check_lines=settings.display.max_check_lines,
            folder=paths.started_in,
        )
        self._task_lines: TaskStatusLines | None = None
        self._is_plain = settings.display.plain
        self._build_labelled: Callable[[str], Watcher] = lambda task: build_display(
            shown, as_json=False, verbose=verbose, label=task
        )
        if self._is_parallel and not as_json and not self._is_plain and style.progress:
            self._task_lines = TaskStatusLines(style, self._out, self._lock, time.time)

    def make_watchers(self, task: str) -> Sequence[Watcher]:
        if self._as_json:
            return (self._lock_watcher(self._make_json_watcher(task)),)
        if not self._is_parallel:
            return (self._lock_watcher(self._display), *self._keys)
        return (self._lock_watcher(self._build_labelled(task) if self._is_plain else self._make_line_watcher(task)),)

    def handle_signal(self) -> None:
        if self._task_lines is not None:
            self._task_lines.leave_lines()
        announce_shutdown()

    def close(self) -> None:
        """Leave nothing at the bottom of the terminal."""
        self._ticking.close()
        if self._task_lines is not None:
            self._task_lines.close()

    def show_warnings(self, warnings: Sequence[str]) -> None:
        self.watch_start(time.time(), 0, [Warned(text) for text in warnings])

    def watch_start(self, at: float, iteration: int, events: Sequence[Event]) -> None:
        """What concerns all tasks, before the first of them."""
        if events:
            self._display(at, iteration, events)

    def _lock_watcher(self, watch: Watcher) -> Watcher:
        def watch_alone(at: float, iteration: int, events: Sequence[Event]) -> None:
            with self._lock:
                watch(at, iteration, events)

        return watch_alone

    def _make_json_watcher(self, task: str) -> Watcher:
        """JSON lines, each with "task" as its first key."""
        out, head = Output.for_stream(sys.stdout), msgspec.json.encode({"task": task})[:-1] + b","

        def send(data: bytes) -> None:
            out.write_bytes(b"".join(head + line[1:] for line in data.splitlines(keepends=True)))

        return JsonDisplay(resolve_style(sys.stdout, os.environ, progress=False), send)

    def _make_line_watcher(self, task: str) -> Watcher:
        live, lines = self._task_lines, LoopEventRenderer(self._style)
        put = self._out if live is None else live.write_above

        def watch(at: float, iteration: int, events: Sequence[Event]) -> None:
            if live is not None:
                live.handle_events(task, at, events)
            for event in events:
                match event:
                    case IterationStarted():
                        text = f"{event.about.removesuffix(task)}{event.iteration}/{event.limit} started"
                    case AgentEnded():
                        text = lines.render_agent_ended(event)
                    case GateEnded():
                        text = lines.render_gate_ended(event)
                    case RunEnded():
                        text = lines.render_run_ended(event)
                    case Waiting():
                        text = lines.render_waiting(event, at)
                    case Paused():
                        text = lines.render_paused(event)
                    case Warned():
                        text = lines.render_warned(event)
                    case Noted(text) if not text.startswith("session:"):
                        text = sanitize(text)
                    case _:
                        continue
                if text := text.strip():
                    put(self._label_lines(f"[{format_local_time('%H:%M:%S', at)}] {task}  ", text))

        return watch

    def _label_lines(self, label: str, text: str) -> str:
        """On a terminal a block below its label, broken between words; in a log every line has it, for who greps."""
        if self._style.is_tty:
            return wrap_for_stream(label + text, sys.stdout) + "\n"
        return "".join(f"{label}{line}\n" for line in text.splitlines())


def _parse_roles(text: str) -> tuple[Role, ...]:
    wanted = [word.strip() for word in text.split(",") if word.strip()]
    if unknown := [word for word in wanted if word not in ROLES]:
        raise UsageError(f"no stage {unknown[0]!r}", f"known: {', '.join(ROLES)}")
    return tuple(role for role in ROLES if role in wanted) or ROLES
