"""`ralph mcp`: tools for another agent, by the Model Context Protocol."""

import os

import click

from ralph.app.control.person import refuse_steering
from ralph.app.paths import find_project_paths
from ralph.model.errors import MachineError


@click.command()
@click.option("--allow-control", is_flag=True, help="Also start, note, pause, resume, answer and cancel runs.")
def command(allow_control: bool) -> None:
    """Serve this repository's board and runs to an agent, on stdin and stdout.

    Tools: board, task_create, task_show, run_show, run_diff, events_since. Needs the extra [mcp].

    \b
    Examples:
      claude mcp add ralph -- ralph mcp
      claude mcp add ralph -- ralph mcp --allow-control
    """
    if allow_control:
        refuse_steering(os.environ, "ralph mcp --allow-control")
    try:
        from ralph.faces.mcp.server import build_mcp_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "ralph":
            raise
        raise MachineError("`ralph mcp` needs the extra [mcp]", "pip install 'ralph-verified[mcp]'") from None
    build_mcp_server(find_project_paths(os.getcwd()), os.environ, allows_control=allow_control).run("stdio")
