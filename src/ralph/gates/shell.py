"""A shell command that must succeed: ralph's guardrail."""

import os

from ralph.core.guardrail import failure, log_name
from ralph.model.command import Command, Exited
from ralph.model.loop import Feedback, GateResult
from ralph.model.ports import Evidence, Gate, GateOptions, Processes
from ralph.process.output import BoundedLog, Excerpt
from ralph.process.shell import argv_of

NOTES = ".ralph"
HEAD, TAIL = 1 << 20, 1 << 16


def build(options: GateOptions, processes: Processes) -> Gate:
    """A gate that runs `options.command` in the work folder."""
    return ShellGate(options, processes)


class ShellGate:
    """Passes when the command exits with 0. All it prints is kept in a log below `.ralph/`."""

    def __init__(self, options: GateOptions, processes: Processes) -> None:
        self._options = options
        self._processes = processes

    @property
    def title(self) -> str:
        """The command itself."""
        return self._options.command

    def check(self, evidence: Evidence) -> GateResult:
        """Run it once."""
        options = self._options
        log_path = f"{NOTES}/{log_name(evidence.iteration, options.log_name)}"
        log = BoundedLog(os.path.join(evidence.folder, log_path))
        output = Excerpt(HEAD, TAIL)

        def keep(data: bytes) -> None:
            log.write(data)
            output.write(data)

        argv = argv_of(options.command, evidence.environment)
        command = Command(argv, evidence.environment, evidence.folder, merged=True, timeout=options.timeout)
        exited = self._processes.run(command, keep, keep)
        log.close()
        if exited.ending == "exited" and exited.code == 0:
            return GateResult(options.command, passed=True, seconds=exited.seconds, log=log_path)
        reason = _reason(exited, options.timeout)
        text = "\n".join(part for part in (reason, output.text()) if part)
        message = failure(options.command, exited.code, options.hint, log_path, text, options.output_limit)
        return GateResult(
            options.command, False, exited.code, exited.seconds, log_path, Feedback(message, options.action), reason
        )


def _reason(exited: Exited, timeout: float | None) -> str:
    match exited.ending:
        case "timed_out":
            return f"It was ended after its time limit of {timeout:g}s."
        case "not_started":
            return f"It could not be started: {exited.error}."
        case _:
            return ""
