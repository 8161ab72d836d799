"""`ralph sandbox`: look at the sandbox agents run in, and try to get out of it."""

import os

import click
import msgspec

from ralph.app.paths import find_project_paths
from ralph.app.sandbox.shell import open_sandbox_shell
from ralph.app.sandbox.status import choose_working_sandbox, list_sandboxes
from ralph.app.sandbox.trial import EscapeResult, try_escapes
from ralph.config.sources import load_settings
from ralph.faces.cli.options.output_flags import add_json_option
from ralph.faces.cli.options.sandbox import choose_sandbox_kind

_kind_option = click.option("--kind", metavar="KIND", help="Which one.  [default: the one runs get]")


@click.group("sandbox", short_help="Test the sandbox agents run in, or look around in it.")
def command() -> None:
    """Where agents and checks run. docs/security.md says what each sandbox holds."""


@command.command("list")
@add_json_option()
def list_sandboxes_command(as_json: bool) -> None:
    """List the sandboxes that work here, and how to get the others."""
    found = list_sandboxes(os.environ)
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    for kind, probe in found.items():
        hint = f" — {probe.hint}" if probe.hint else ""
        works = f"works ({probe.version})" if probe.version else "works"
        click.echo(f"{kind:<12}{works if probe.is_available else f'{probe.problem}{hint}'}")


@command.command("test")
@_kind_option
@add_json_option()
def test_sandbox_command(kind: str | None, as_json: bool) -> int:
    """Try every known way out of the sandbox. Write outside, read keys, reach sockets, end the harness, outlive it.

    Exit code: 0 nothing got out, 1 something did, 2 there is no sandbox.
    """
    settings = load_settings(find_project_paths(os.getcwd()).folder, os.environ).settings
    chosen = choose_working_sandbox(settings.sandbox, choose_sandbox_kind(kind, False), os.environ)
    results = try_escapes(chosen, os.environ, lambda result: None if as_json else _print_result(result))
    out = [result for result in results if result.got_out]
    if as_json:
        click.echo(msgspec.json.encode({"sandbox": chosen, "escapes": results, "got_out": len(out)}))
    else:
        click.echo(f"{chosen}: {len(results)} ways out tried, {len(out) or 'none'} got out")
        click.echo(
            "Open on purpose: with network full (the default) the internet and this machine's localhost are reachable;"
            ' to close them, set sandbox.network to "none" or a list of hosts.'
        )
    return 1 if out else 0


@command.command("shell")
@_kind_option
@click.argument("words", nargs=-1)
def open_shell_command(kind: str | None, words: tuple[str, ...]) -> int:
    """Open a shell in the sandbox, or run WORDS there."""
    paths = find_project_paths(os.getcwd())
    settings = load_settings(paths.folder, os.environ).settings
    chosen = choose_working_sandbox(settings.sandbox, choose_sandbox_kind(kind, False), os.environ)
    return open_sandbox_shell(chosen, settings, paths, variables=os.environ, words=words)


def _print_result(result: EscapeResult) -> None:
    verdict = click.style("GOT OUT", fg="red", bold=True) if result.got_out else "blocked"
    click.echo(f"{verdict}  {result.group}: {result.name}")
