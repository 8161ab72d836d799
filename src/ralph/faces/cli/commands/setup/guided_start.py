"""Bare `ralph` on a terminal where nothing is set up: what is found here, two questions, the plan, the run."""

import os
import shlex
import sys

import click
from msgspec import Struct

from ralph.app.agent_command import resolve_agent
from ralph.app.agents.choice import ensure_agent
from ralph.app.agents.detect import detect_agent, list_detectable_agents, suggest_installation
from ralph.app.agents.version import ask_version
from ralph.app.paths import Paths, find_project_paths, read_branch
from ralph.app.run.dry_run import summarize_dry_run
from ralph.app.run.loop import RunRequest, read_prompt
from ralph.app.runs.inside_agent import refuse_inside_agent
from ralph.app.setup.check_trial import format_trial, try_suggested_checks
from ralph.app.setup.init import build_settings_document
from ralph.app.wiring import can_take_snapshots
from ralph.config.schema import Guardrail, Settings
from ralph.config.sources import load_settings
from ralph.core.text.plain import truncate_cells, wrap_text
from ralph.core.text.utf8 import refuse_undecoded
from ralph.faces.cli.commands.init import (
    INTERRUPTED_EXIT_CODE,
    interrupt_on_sigterm,
    tolerate_bad_bytes,
    write_new_settings,
)
from ralph.faces.cli.commands.interview import PERMISSION_CHOICES, Prompter, ask_permission_name
from ralph.faces.cli.commands.run import command as run_command
from ralph.faces.cli.options.text_file import TextFile
from ralph.faces.cli.terminal.fields import format_field
from ralph.faces.cli.terminal.look import read_terminal_width
from ralph.model.agent_card import Permissions
from ralph.model.errors import MachineError

DEFAULT_PROMPT_FILE = "PROMPT.md"
INTRODUCTION = "No settings here yet: two questions, then you can start. Ctrl-C quits."


class GuidedPlan(Struct, frozen=True, kw_only=True):
    """What was found and answered."""

    agent: str
    checks: tuple[str, ...]
    permissions: Permissions
    prompt: str = ""
    prompt_file: str = ""  # in the place of a prompt

    def as_document(self) -> dict[str, object]:
        rails = [Guardrail(command=check) for check in self.checks]
        return build_settings_document(self.agent, (), guardrails=rails, permissions=self.permissions)


@click.command()
@click.pass_context
def command(context: click.Context, /) -> int:
    """Set up and start a first run."""
    refuse_inside_agent(os.environ, "ralph")
    guide = GuidedStart(Prompter(tolerate_bad_bytes(sys.stdin), sys.stdout), find_project_paths(os.getcwd()))
    try:
        with interrupt_on_sigterm():
            plan = guide.make_plan()
    except (KeyboardInterrupt, EOFError):
        click.echo("\nInterrupted: nothing was written.")
        return INTERRUPTED_EXIT_CODE
    if plan is None:
        click.echo("Nothing was written. To answer every question yourself: ralph init")
        return 0
    write_new_settings(click.echo, os.getcwd(), plan.as_document())
    words = ("-f", plan.prompt_file) if plan.prompt_file else ("-p", plan.prompt)
    click.echo(f"Next time: {shlex.join(('ralph', 'run', *words))}\n")
    file = TextFile(plan.prompt_file) if plan.prompt_file else None
    code: int = context.invoke(run_command, prompt=None if file else plan.prompt, prompt_file=file)
    return code


class GuidedStart:
    """The dialogue. The end of input is EOFError, Ctrl-C is KeyboardInterrupt; nothing is written by it."""

    def __init__(self, terminal: Prompter, paths: Paths) -> None:
        self._terminal, self._paths = terminal, paths

    def make_plan(self) -> GuidedPlan | None:
        """None: the user does not want to start."""
        settings = load_settings(self._paths.folder, os.environ).settings
        settings = self._find_agent(settings)
        self._terminal.print_line("\n".join(wrap_text(INTRODUCTION, self._width)))
        self._terminal.print_line("")
        self._show_agent(settings)
        checks = self._try_checks()
        self._show_git()
        permissions = self._ask_permissions()
        prompt, prompt_file = self._ask_prompt()
        plan = GuidedPlan(
            agent=settings.agent.command, checks=checks, permissions=permissions, prompt=prompt, prompt_file=prompt_file
        )
        self._show_plan(plan)
        return plan if self._ask_start() else None

    def _find_agent(self, settings: Settings) -> Settings:
        """The one the user's own settings name, else the first on PATH; found out before anything is asked."""
        if not settings.agent.command and detect_agent(os.environ, self._paths.folder) is None:
            raise MachineError(
                f"no coding agent on PATH: looked for {', '.join(list_detectable_agents())}",
                f"install one ({suggest_installation()}), then `ralph`; to see it without an agent: ralph demo",
            )
        return ensure_agent(settings, self._paths, os.environ)[0]

    def _show_agent(self, settings: Settings) -> None:
        agent = resolve_agent(settings.agent, self._paths.folder, os.environ)
        version = ask_version(agent.argv[0], self._paths.folder, os.environ)
        self._print_field("Agent", ", ".join(filter(None, (settings.agent.command, version, agent.argv[0]))))

    def _try_checks(self) -> tuple[str, ...]:
        """Those that can run here."""
        usable, label = [], "Checks"
        for trial in try_suggested_checks(self._paths.folder, os.environ, self._show_attempt):
            self._terminal.erase_line()
            self._print_field(label, format_trial(trial))
            usable += [trial.command] if trial.is_usable else []
            label = ""
        if not usable:
            self._print_field(label, "none that can run here: the agent's word alone will end the run")
        return tuple(usable)

    def _show_attempt(self, check: str) -> None:
        self._terminal.show_for_now(truncate_cells(format_field("Checks", f"trying {check}…", 1000), self._width - 1))

    def _show_git(self) -> None:
        if self._paths.in_git:
            branch = read_branch(self._paths)
            self._print_field("Git", f"on branch {branch}" if branch else "a repository")
        elif can_take_snapshots(self._paths, os.environ):
            self._print_field(
                "Git", "not a repository: no history, only snapshots for `ralph undo`; `git init` makes one"
            )
        else:
            self._print_field("Git", "not installed: what the agent breaks cannot be undone")

    def _ask_permissions(self) -> Permissions:
        self._terminal.print_line("")
        for line in PERMISSION_CHOICES.splitlines():
            name, _, meaning = line.strip().partition(" ")
            self._print_field(f"  {name}", meaning.strip())
        return ask_permission_name(self._terminal)

    def _ask_prompt(self) -> tuple[str, str]:
        """What to do, or the file that says so."""
        default = DEFAULT_PROMPT_FILE if _has_text(DEFAULT_PROMPT_FILE) else ""
        self._terminal.print_line("")
        answer = self._terminal.ask_until_answered("What should the agent do? (text or a file)", default)
        return ("", answer) if os.path.isfile(answer) else (answer, "")

    def _show_plan(self, plan: GuidedPlan) -> None:
        """As the run will have it, the user's own settings included."""
        flags = {key: value for key, value in plan.as_document().items() if key in ("agent", "guardrails")}
        settings = load_settings(self._paths.folder, os.environ, flags).settings
        settings, _ = ensure_agent(settings, self._paths, os.environ)
        request = RunRequest(
            settings=settings,
            prompt=plan.prompt or None,
            prompt_file=plan.prompt_file or None,
            tells_completion=settings.tell_completion,
        )
        refuse_undecoded(read_prompt(request), repr(plan.prompt_file) if plan.prompt_file else "the prompt")
        self._terminal.print_line("")
        for label, value in summarize_dry_run(request, self._paths, os.environ):
            self._print_field(label, value)

    def _ask_start(self) -> bool:
        if not self._paths.in_git:
            return self._terminal.ask_yes_no("Start without git? (y/N): ")
        return self._terminal.ask_line("Start? (Y/n): ").lower() in ("", "y", "yes")

    @property
    def _width(self) -> int:
        return read_terminal_width(1)

    def _print_field(self, label: str, value: str) -> None:
        self._terminal.print_line(format_field(label, value, self._width))


def _has_text(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return bool(file.read(1 << 16).strip())
    except OSError:
        return False
