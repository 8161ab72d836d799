"""A shell command that must succeed: ralph's guardrail."""

import os
from functools import partial

from msgspec.structs import replace

from ralph.core.guardrail import format_log_name, render_failure
from ralph.core.text.raw_secrets import find_secret_spans, list_raw_secrets
from ralph.core.text.secrets import list_secret_values, redact_values
from ralph.model.command import Command, CommandExit
from ralph.model.loop import Feedback, GateResult
from ralph.model.ports import Evidence, Gate, GateOptions, Processes
from ralph.process.output import BoundedLog, Excerpt, OutputDigest
from ralph.process.shell import build_shell_argv

GUARDRAIL_LOG_FOLDER = ".ralph"
OUTPUT_HEAD_BYTES, OUTPUT_TAIL_BYTES = 1 << 20, 1 << 16


def build(options: GateOptions, processes: Processes) -> Gate:
    """A gate that runs `options.command` in the work folder."""
    return ShellGate(options, processes)


class ShellGate:
    """Passes when the command exits with 0. What it prints is kept in a log below `.ralph/`, where that can be, and in
    one of the run's own folder: the next run writes over the first."""

    def __init__(self, options: GateOptions, processes: Processes) -> None:
        self._options = options
        self._processes = processes

    @property
    def title(self) -> str:
        return self._options.command

    def check(self, evidence: Evidence) -> GateResult:
        options = self._options
        log_name = format_log_name(evidence.iteration, f"{options.log_name}{evidence.log_suffix}")
        name = f"{GUARDRAIL_LOG_FOLDER}/{log_name}"
        log = BoundedLog(os.path.join(evidence.log_folder or evidence.folder, name))
        run_log = BoundedLog(os.path.join(options.run_dir, log_name)) if options.run_dir else None
        output, digest = Excerpt(OUTPUT_HEAD_BYTES, OUTPUT_TAIL_BYTES), OutputDigest()

        def keep(data: bytes) -> None:
            log.write(data)
            if run_log:
                run_log.write(data)
            output.write(data)
            digest.write(data)

        argv = build_shell_argv(options.command, evidence.environment)
        command = Command(
            argv=argv, environment=evidence.environment, cwd=evidence.folder, merged=True, timeout=options.timeout
        )
        exited = self._processes.run(command, keep, keep)
        hide = partial(find_secret_spans, values=list_raw_secrets(evidence.environment))
        log.close(hide)
        if run_log:
            run_log.close(hide)
        kept, trouble = (name if log.is_there else ""), _describe_log_trouble(name, log)
        passed = GateResult(
            gate=options.command,
            passed=True,
            seconds=exited.seconds,
            log=kept,
            trouble=trouble,
            digest=digest.hexdigest(),
            argv=argv,
            timeout=options.timeout,
            run_log=log_name if run_log and run_log.is_there else "",
        )
        if exited.ending == "exited" and exited.code == 0:
            return passed
        reason = _describe_ending(exited, command)
        printed = redact_values(output.text(), list_secret_values(evidence.environment))
        text = "\n".join(part for part in (reason, printed) if part)
        message = render_failure(
            options.command, exited.code, hint=options.hint, log=kept, output=text, limit=options.output_limit
        )
        feedback = Feedback(message, options.action)
        summary, tail = _digest_output(printed)
        return replace(
            passed,
            passed=False,
            exit_code=exited.code,
            feedback=feedback,
            reason=reason,
            summary=summary,
            tail=tail,
        )


def _digest_output(output: str) -> tuple[str, str]:
    """The line that tells most, and the last lines."""
    # its patterns cost milliseconds; only a failure needs them
    from ralph.core.text.check_output import summarize_output, take_last_lines

    end = output[-OUTPUT_TAIL_BYTES:]
    return summarize_output(end), take_last_lines(end)


def _describe_log_trouble(name: str, log: BoundedLog) -> str:
    if log.failure:
        return f"cannot write {name}: {log.failure}"
    return "" if log.is_there else f"{name} was deleted while it was written"


def _describe_ending(exited: CommandExit, command: Command) -> str:
    match exited.ending:
        case "timed_out":
            return f"It was ended after its time limit of {command.timeout:g}s."
        case "not_started" if not os.path.isdir(command.cwd):
            return f"It could not be started: the folder {command.cwd} is gone."
        case "not_started":
            return f"It could not be started: {exited.error}."
        case _:
            return ""
