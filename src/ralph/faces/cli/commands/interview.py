"""The questions of `ralph init`, in the order and the words of its specification."""

import re
from collections.abc import Sequence
from typing import TextIO, get_args

from ralph.app.agents.detect import FoundAgent, Suggestion, default_flags
from ralph.app.setup.init import document
from ralph.config.schema import Guardrail, Scm
from ralph.model.loop import FailAction

DECLINE = "-"
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # and what the terminal's encoding could not read


class Terminal:
    """Asks one line at a time. The end of input is EOFError, Ctrl-C is KeyboardInterrupt."""

    def __init__(self, console_in: TextIO, console_out: TextIO) -> None:
        self._in, self._out = console_in, console_out

    def say(self, text: str) -> None:
        """One line."""
        self._out.write(f"{text}\n")
        self._out.flush()

    def ask(self, prompt: str) -> str:
        """The answer, trimmed; only text will do."""
        while True:
            self._out.write(prompt)
            self._out.flush()
            line = self._in.readline()
            if not line:
                raise EOFError
            answer = line.strip()
            if not _CONTROL.search(answer):
                return answer
            self.say("  Please type plain text: arrow and control keys are not understood here.")

    def ask_with(self, prompt: str, default: str) -> str:
        """The same, with a default in brackets that Enter takes and `-` leaves out."""
        if not default:
            return self.ask(f"{prompt}: ")
        answer = self.ask(f"{prompt} [{default}]: ")
        return "" if answer == DECLINE else answer or default

    def required(self, prompt: str, default: str = "") -> str:
        """Ask until there is an answer."""
        while True:
            if answer := self.ask_with(prompt, default):
                return answer

    def agrees(self, prompt: str) -> bool:
        """Yes only when it is said."""
        return self.ask(prompt).lower() in ("y", "yes")


def interview(terminal: Terminal, agent: FoundAgent | None, suggestions: Sequence[Suggestion]) -> dict[str, object]:
    """Ask for everything; the settings file that follows from the answers."""
    if agent:
        terminal.say(
            f"Found {agent.name} ({agent.path}). Enter takes what stands in brackets, {DECLINE} leaves it out."
        )
    command = terminal.required(
        "Agent command (e.g., claude, codex, amp, or other LLM CLI)", agent.name if agent else ""
    )
    usual = default_flags(command) if agent and command == agent.name else ()
    return document(
        command=command,
        flags=_listed(terminal.ask_with("Agent flags (comma-separated, optional)", ",".join(usual))),
        maximum_iterations=_iterations(terminal),
        completion_response=terminal.ask("Completion response [DONE]: ") or "DONE",
        guardrails=_guardrails(terminal, suggestions),
        scm=_scm(terminal) if terminal.agrees("Configure SCM? (y/N): ") else None,
    )


def _iterations(terminal: Terminal) -> int:
    while True:
        answer = terminal.ask("Maximum iterations [10]: ") or "10"
        if answer.isascii() and answer.isdigit() and len(answer) < 10 and int(answer) > 0:
            return int(answer)
        terminal.say("  Please enter a positive integer.")


def _guardrails(terminal: Terminal, suggestions: Sequence[Suggestion]) -> list[Guardrail]:
    rails: list[Guardrail] = []
    offered = [suggestion.command for suggestion in suggestions]
    while True:
        default = offered[0] if offered else ""
        if default:
            terminal.say(f"  Found {default}: Enter adds it, {DECLINE} leaves it out.")
        command = terminal.ask_with("Add guardrail command (leave blank to finish)", default)
        if command:
            offered = [other for other in offered if other != command]
            rails.append(_guardrail(terminal, command))
        elif default:
            del offered[0]
        else:
            return rails


def _guardrail(terminal: Terminal, command: str) -> Guardrail:
    action = _fail_action(terminal)
    return Guardrail(command, action, terminal.ask("  Hint (optional, guidance for agent on failure): "))


def _fail_action(terminal: Terminal) -> FailAction:
    actions: dict[str, FailAction] = {action: action for action in get_args(FailAction)}
    while True:
        answer = terminal.ask("  Fail action (APPEND|PREPEND|REPLACE): ").upper() or "APPEND"
        if answer in actions:
            return actions[answer]
        terminal.say("  Please enter APPEND, PREPEND or REPLACE.")


def _scm(terminal: Terminal) -> Scm:
    command = terminal.required("  SCM command (e.g., git)")
    while True:
        if tasks := _listed(terminal.ask("  SCM tasks (comma-separated, e.g., commit,push): ")):
            return Scm(command, tasks)


def _listed(answer: str) -> tuple[str, ...]:
    return tuple(item for part in answer.split(",") if (item := part.strip()))
