"""The command line: finds the command, tells errors in one way, gives the exit code."""

import errno
import gc
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from ralph.core.text.write_error import explain_write_error
from ralph.model.errors import MachineError, RalphError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ralph.process.spawner import GuardianHandle

# Groups of the help, in the order people need them. A command's module is commands/NAME.py or commands/FOLDER/NAME.py,
# loaded only when it is used; so what the list says of it stands here.
COMMAND_GROUPS: Mapping[str, Mapping[str, str]] = {
    "Start": {
        "run": "Run an agent on a prompt until the work is verifiably done",
        "init": "Create the settings: agent, checks, permissions",
        "demo": "See the loop at work, without a key",
    },
    "Watch": {
        "status": "Show what is running, and how recent runs ended",
        "logs": "Show what a run said and did; -f follows",
        "show": "Show a run's iterations, checks, cost and snapshots",
        "diff": "Show what a run changed",
        "accept": "Accept that a run changed a test",
        "undo": "Undo what a run changed, or its last iterations",
        "recover": "Bring back files that were lost after a run",
        "restore": "Restore the files of a snapshot",
        "board": "Watch tasks and runs live",
        "report": "Report on a run or a night: text, Markdown, a page",
        "web": "See and steer runs in the browser",
        "cost": "Show what agents cost, by day, task, agent or model",
        "stats": "Show how agents do: first-pass rate, iterations, cost",
    },
    "Steer": {
        "pause": "Pause a run or a task before its next agent",
        "resume": "Resume what is paused, waiting, stopped or killed",
        "note": "Tell the next agent something",
        "answer": "Answer the question of an agent",
        "wait": "Wait until runs have ended",
        "cancel": "Stop a run; its work is kept",
    },
    "Bigger work": {
        "task": "Create, change and list tasks",
        "spec": "Create, change and list specs",
        "execute": "Work on tasks: coder, reviewer, tester, qa, merge",
        "verify": "Verify a task now, or a run's checks again",
        "story": "Work through a list of stories, each reviewed",
        "supervise": "Restart an agent until its task is DONE",
        "bus": "Post and read messages of supervised tasks",
    },
    "Set up": {
        "config": "Show or change the settings",
        "clean": "Remove what old runs left on disk",
        "doctor": "Check that everything a run needs is there",
        "sandbox": "Test the sandbox agents run in; open a shell in it",
        "agents": "List coding agents; check one",
        "plugin": "Install the Claude Code plugin",
        "mcp": "Serve the board and runs to an agent as MCP tools",
        "completion": "Print the completion script for your shell",
        "dev": "Tools for writing agent adapters",
    },
}
COMMAND_MODULES = tuple(name for group in COMMAND_GROUPS.values() for name in group)
# command → folder below commands/, where it has one
MODULE_FOLDERS: Mapping[str, str] = {
    "web": "watch",
    "cost": "watch",
    "stats": "watch",
    "report": "watch",
    "accept": "trees",
    "diff": "trees",
    "restore": "trees",
    "undo": "trees",
    "recover": "trees",
    "clean": "trees",
    "sandbox": "setup",
    "mcp": "setup",
    "pause": "control",
    "resume": "control",
    "note": "control",
    "answer": "control",
    "wait": "control",
}
DEFAULT_COMMAND = "run"
_GROUP_OPTIONS = ("-h", "--help", "-v", "--version")
COMMAND_ALIASES: Mapping[str, Sequence[str]] = {  # what people type, too
    "runs": ("status",),
    "stop": ("cancel",),
}
_OTHER_WORDS = {  # what people of other tools type → ours
    "kill": "cancel",
    "abort": "cancel",
    "start": "run",
    "loop": "run",
    "continue": "resume",
    "unpause": "resume",
    "tell": "note",
    "ask": "note",
    "reply": "answer",
    "list": "status",
    "ps": "status",
    "stauts": "status",  # `stats` is nearer, and seldom meant
    "log": "logs",
    "tasks": "task list",
    "settings": "config show",
    "setup": "init",
    "check": "doctor",
}


class RalphGroup(click.Group):
    """Loads a command's module when it is needed; a line that starts with an option is `ralph run`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default command where none is given, and ours for what people type."""
        if args and args[0] == "help":
            args = [*args[1:], "--help"]
        if args and args[0] in COMMAND_ALIASES:
            args = [*COMMAND_ALIASES[args[0]], *args[1:]]
        if args and args[0].startswith("-") and args[0] not in _GROUP_OPTIONS:
            _refuse_misspelt_option(ctx, args)
            args = [DEFAULT_COMMAND, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order people need them."""
        return list(COMMAND_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMAND_MODULES:
            return None
        path = f"{MODULE_FOLDERS[cmd_name]}.{cmd_name}" if cmd_name in MODULE_FOLDERS else cmd_name
        module = importlib.import_module(f"ralph.faces.cli.commands.{path}")
        found: click.Command = module.command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """In groups; no command is loaded for it."""
        for group, commands in COMMAND_GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([*commands.items()], col_max=12, col_spacing=2)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Commands, and the other words people type for them."""
        from click.shell_completion import CompletionItem

        found = super().shell_complete(ctx, incomplete)
        others = {**{word: " ".join(("ralph", *meant)) for word, meant in COMMAND_ALIASES.items()}, "help": "Show help"}
        return [
            *found,
            *(
                CompletionItem(word, help=words)
                for word, words in others.items()
                if incomplete and word.startswith(incomplete) and word not in COMMAND_MODULES
            ),
        ]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest what was probably meant."""
        if args and args[0] not in COMMAND_MODULES:
            import difflib

            near = [*filter(None, [_OTHER_WORDS.get(args[0])]), *difflib.get_close_matches(args[0], COMMAND_MODULES, 1)]
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(COMMAND_MODULES)}"
            ctx.fail(f"no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)


def _refuse_misspelt_option(ctx: click.Context, args: list[str]) -> None:
    """`ralph --verison` is no prompt loop."""
    import difflib

    if len(args) == 1 and (near := difflib.get_close_matches(args[0], ("--version", "--help"), 1, 0.7)):
        ctx.fail(f"no such option: {args[0]}; did you mean {near[0]!r}?")


@click.command(
    cls=RalphGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
    epilog="`ralph -p PROMPT` is short for `ralph run -p PROMPT`. `ralph help COMMAND` shows the options of a command.",
)
@click.option(
    "-v", "--version", is_flag=True, is_eager=True, expose_value=False, callback=lambda c, p, v: _print_version(c, v)
)
def ralph() -> None:
    """Run coding agents in a loop until the work is verifiably done."""


def _print_version(context: click.Context, wanted: bool) -> None:
    if wanted:
        from ralph._version import VERSION

        click.echo(f"ralph {VERSION}")
        context.exit()


def main(arguments: Sequence[str], guardian: "GuardianHandle | None" = None) -> int:
    """Parse, run one use case, tell what went wrong."""
    _replace_unencodable()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)  # a flood makes many short-lived structs and hardly a cycle
    gc.enable()
    as_json = "--json" in arguments
    try:
        entry = _load_guided_start() if _wants_guided_start(arguments) else ralph
        result = entry.main(list(arguments), prog_name="ralph", standalone_mode=False, obj=guardian)
    except click.exceptions.Exit as done:
        return done.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except click.ClickException as error:
        if as_json:
            print_error(RalphError(error.format_message(), "see `ralph --help`"), as_json, code="usage")
        else:
            with suppress(OSError):
                error.show()
        return 2
    except RalphError as error:
        print_error(error, as_json)
        return error.exit_code
    except BrokenPipeError:
        return 1
    except Exception as error:  # noqa: BLE001  # the last line of defence: a bug is told, not dumped
        if _is_cwd_gone():
            print_error(MachineError("the folder ralph was started in is gone", "cd into one that exists"), as_json)
            return 2
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            print_error(explain_write_error("a file or standard output", error), as_json)
            return 2
        if limit := _explain_system_limit(error):
            print_error(limit, as_json)
            return 2
        print_error(_wrap_bug(error), as_json)
        return 1
    return result if isinstance(result, int) else 0


def _explain_system_limit(error: Exception) -> MachineError | None:
    """What the machine refuses is no bug of ours."""
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.EMFILE, errno.ENFILE):
        return MachineError(f"too many open files: {error}", "raise the limit, e.g. `ulimit -n 256`, then try again")
    if number in (errno.EAGAIN, errno.ENOMEM) or "can't start new thread" in str(error):
        hint = "stop some processes, or raise the limit (`ulimit -u`), then try again"
        return MachineError(f"the system cannot start more processes, or is out of memory: {error}", hint)
    if number == errno.EIO:
        return MachineError(f"the disk does not respond: {error}", "check the system log, then try again")
    return None


def _wants_guided_start(arguments: Sequence[str]) -> bool:
    """Who types only `ralph`, where nothing is set up, is asked; scripts and who has settings get the help."""
    if arguments or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    from ralph.app.paths import find_project_paths

    return not find_project_paths(os.getcwd()).has_settings


def _load_guided_start() -> click.Command:
    from ralph.faces.cli.commands.setup.guided_start import command

    return command


def print_error(error: RalphError, as_json: bool, code: str = "") -> None:
    """On stderr: the message and the hint, secrets hidden. A closed stderr is no error."""
    from ralph.core.text.secrets import redact

    message, hint = redact(error.message), redact(error.hint)
    with suppress(OSError):
        if as_json:
            import msgspec

            record = {"code": code or error.code, "message": message, "hint": hint}
            click.echo(msgspec.json.encode(record), err=True)
            return
        lines = [f"ralph: {message}", *([f"  → {hint}"] if hint else [])]
        click.echo(_wrap_error("\n".join(lines)), err=True)


def _wrap_error(text: str) -> str:
    from ralph.faces.cli.terminal.wrapping import wrap_for_stream

    return wrap_for_stream(text, sys.stderr)


def _is_cwd_gone() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _wrap_bug(error: Exception) -> RalphError:
    import traceback

    if os.environ.get("RALPH_TRACEBACK"):
        traceback.print_exception(error)
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(where.filename)}:{where.lineno}"
    bug = RalphError(
        f"internal error at {place}: {type(error).__name__}: {error}",
        "this is a bug in ralph; set RALPH_TRACEBACK=1, try again and report the output",
    )
    bug.code = "internal"
    return bug


def _replace_unencodable() -> None:
    """Characters the terminal cannot encode are replaced, so that printing never ends a run."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
