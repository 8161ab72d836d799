"""`POST runs`: start a loop that outlives this server."""

from ralph.app.control.launching import StartBody, launch_loop
from ralph.faces.views.shapes import StartAnswer
from ralph.faces.web.answers import ApiCall


def start_new_run(call: ApiCall) -> StartAnswer:
    return launch_run(call.read_body(StartBody), call)


def launch_run(body: StartBody, call: ApiCall) -> StartAnswer:
    """Waits until it is on record. NotStarted: it ended before."""
    launched = launch_loop(body, call.paths, call.context.variables)
    began = launched.start
    return StartAnswer(pid=began.pid, run=began.run, log=began.log, exit_code=began.exit_code, output=launched.output)
