"""`ralph web`: the board, runs and costs in a browser; an API for other programs."""

import os
from importlib.util import find_spec

import click

from ralph.app.control.person import identify_person
from ralph.app.paths import find_project_paths
from ralph.model.errors import MachineError

NEEDED_PACKAGES = ("starlette", "uvicorn")


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), help="The port; 0: a free one.  [default: 7420, or a free one]")
@click.option("--open", "opens_browser", is_flag=True, help="Open the page in your browser.")
@click.option("--host", default="", metavar="ADDRESS", help="Listen for other machines too; needs --token-file.")
@click.option(
    "--token-file",
    default="",
    metavar="FILE",
    help="Accept the token in FILE as `Authorization: Bearer`; created if missing.",
)
@click.option("--all", "shows_all", is_flag=True, help="Every repository on this machine.")
def command(port: int | None, opens_browser: bool, host: str, token_file: str, shows_all: bool) -> int:
    """See and steer runs in the browser: board, runs, diffs, costs, logs. Runs continue when the server stops.

    The first line printed is a login link for one browser. Other programs use --token-file; see docs/api.md.
    """
    by = identify_person(os.environ, "ralph web", via="web")
    missing = [name for name in NEEDED_PACKAGES if find_spec(name) is None]
    if missing:
        raise MachineError(
            f"`ralph web` needs {' and '.join(missing)}, which ralph's extra `web` brings",
            "pip install 'ralph-verified[web]' (or: uv tool install 'ralph-verified[web]')",
        )
    from ralph.faces.web.server import (  # starlette takes 0.2 s: only for who serves
        ServerMessages,
        WebOptions,
        serve_web,
    )

    paths = find_project_paths(os.getcwd())
    options = WebOptions(
        host=host, port=port, token_file=token_file, opens_browser=opens_browser, shows_all=shows_all, by=by
    )
    place = "every repository on this machine" if shows_all else paths.root
    messages = ServerMessages(place, click.echo, lambda text: click.echo(text, err=True))
    return serve_web(options, paths, os.environ, messages)
