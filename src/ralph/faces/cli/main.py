"""The command line: finds the command, tells errors in one way, gives the exit code."""

import errno
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from ralph.core.text.write_error import explain_write_error
from ralph.model.errors import MachineError, RalphError

if TYPE_CHECKING:
    from ralph.process.spawner import GuardianHandle

# in the order people need them; each is a module of faces/cli/commands, loaded only when it is used or listed
COMMAND_MODULES = (
    "run",
    "supervise",
    "story",
    "spec",
    "task",
    "execute",
    "board",
    "verify",
    "init",
    "status",
    "cancel",
    "logs",
    "show",
    "bus",
    "config",
    "doctor",
    "agents",
    "plugin",
    "demo",
    "completion",
    "dev",
)
DEFAULT_COMMAND = "run"
_GROUP_OPTIONS = ("-h", "--help", "-v", "--version")
_OTHER_WORDS = {  # what people of other tools type → ours
    "stop": "cancel",
    "kill": "cancel",
    "abort": "cancel",
    "start": "run",
    "loop": "run",
    "resume": "run --resume",
    "continue": "run --resume",
    "help": "--help",
    "runs": "status",
    "list": "status",
    "ps": "status",
    "log": "logs",
    "tasks": "task list",
    "settings": "config show",
    "setup": "init",
    "check": "doctor",
}


class RalphGroup(click.Group):
    """Loads a command's module when it is needed; a line that starts with an option is `ralph run`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default command where none is given."""
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
        module = importlib.import_module(f"ralph.faces.cli.commands.{cmd_name}")
        found: click.Command = module.command
        return found

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
    epilog="`ralph -p PROMPT` is short for `ralph run -p PROMPT`.",
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
    gc.set_threshold(20_000, 20, 20)  # a flood makes many short-lived structs and hardly a cycle
    gc.enable()
    as_json = "--json" in arguments
    try:
        result = ralph.main(list(arguments), prog_name="ralph", standalone_mode=False, obj=guardian)
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
        print_error(_wrap_bug(error), as_json)
        return 1
    return result if isinstance(result, int) else 0


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
        click.echo(f"ralph: {message}", err=True)
        if hint:
            click.echo(f"  → {hint}", err=True)


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
        "this is a bug in ralph: set RALPH_TRACEBACK=1, try again, and report what it prints",
    )
    bug.code = "internal"
    return bug


def _replace_unencodable() -> None:
    """Characters the terminal cannot encode are replaced, so that printing never ends a run."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
