"""`ralph dev llm`: serve a script until it is over or someone ends us."""

import json
from collections.abc import Callable, Mapping

from ralph.agents._script import ScriptError, load_script
from ralph.devtools.server import ModelServer
from ralph.model.errors import MachineError, UsageError


def serve_script(script: str, port: int, *, once: bool, log: str | None, ready: Callable[[str], object]) -> None:
    """Tell `ready` the address, then answer; with `once` until the last run had its last word."""
    try:
        server = ModelServer(load_script(script), port, _open_log(log) if log else len)
    except ScriptError as wrong:
        raise UsageError(str(wrong), "docs/agents.md tells what a script may say") from wrong
    except OSError as wrong:
        raise MachineError(f"cannot listen on port {port}: {wrong.strerror}", "choose another, or 0 for any") from wrong
    server.start()
    try:
        ready(server.url)
        if once:
            server.wait_until_played()
        else:
            server.wait()
    finally:
        server.close()


def _open_log(path: str) -> Callable[[Mapping[str, object]], object]:
    """One line a request; appended whole, so that requests at once do not mix."""
    try:
        file = open(path, "ab", buffering=0)  # noqa: SIM115  # as long as the process
    except OSError as wrong:
        raise MachineError(f"cannot write the log {path!r}: {wrong.strerror}", "name another file") from wrong
    return lambda request: file.write(json.dumps(request).encode() + b"\n")
