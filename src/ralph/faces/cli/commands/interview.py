"""The questions of `ralph init`, in the order and the words of its specification."""

import re
from collections.abc import Sequence
from typing import TextIO, get_args

from ralph.app.agents.detect import DetectedAgent, SuggestedGuardrail, choose_default_flags
from ralph.app.setup.init import build_settings_document
from ralph.config.schema import Guardrail, Scm
from ralph.model.loop import FailAction

DECLINE_ANSWER = "-"
_UNREADABLE_CHARS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # and what the terminal's encoding could not read


class Prompter:
    """Asks one line at a time. The end of input is EOFError, Ctrl-C is KeyboardInterrupt."""

    def __init__(self, console_in: TextIO, console_out: TextIO) -> None:
        self._in, self._out = console_in, console_out

    def print_line(self, text: str) -> None:
        self._out.write(f"{text}\n")
        self._out.flush()

    def ask_line(self, prompt: str) -> str:
        """The answer, trimmed; only text will do."""
        while True:
            self._out.write(prompt)
            self._out.flush()
            line = self._in.readline()
            if not line:
                raise EOFError
            answer = line.strip()
            if not _UNREADABLE_CHARS.search(answer):
                return answer
            self.print_line("  Please type plain text: arrow and control keys are not understood here.")

    def ask_with_default(self, prompt: str, default: str) -> str:
        """The same, with a default in brackets that Enter takes and `-` leaves out."""
        if not default:
            return self.ask_line(f"{prompt}: ")
        answer = self.ask_line(f"{prompt} [{default}]: ")
        return "" if answer == DECLINE_ANSWER else answer or default

    def ask_until_answered(self, prompt: str, default: str = "") -> str:
        """Ask until there is an answer."""
        while True:
            if answer := self.ask_with_default(prompt, default):
                return answer

    def ask_yes_no(self, prompt: str) -> bool:
        return self.ask_line(prompt).lower() in ("y", "yes")


def ask_for_settings(
    terminal: Prompter, agent: DetectedAgent | None, suggestions: Sequence[SuggestedGuardrail]
) -> dict[str, object]:
    """Ask for everything; the settings file that follows from the answers."""
    if agent:
        terminal.print_line(
            f"Found {agent.name} ({agent.path}). Enter takes what stands in brackets, {DECLINE_ANSWER} leaves it out."
        )
    command = terminal.ask_until_answered(
        "Agent command (e.g., claude, codex, amp, or other LLM CLI)", agent.name if agent else ""
    )
    usual = choose_default_flags(command) if agent and command == agent.name else ()
    return build_settings_document(
        command=command,
        flags=_split_list(terminal.ask_with_default("Agent flags (comma-separated, optional)", ",".join(usual))),
        maximum_iterations=_ask_iterations(terminal),
        completion_response=terminal.ask_line("Completion response [DONE]: ") or "DONE",
        guardrails=_ask_guardrails(terminal, suggestions),
        scm=_ask_scm(terminal) if terminal.ask_yes_no("Configure SCM? (y/N): ") else None,
    )


def _ask_iterations(terminal: Prompter) -> int:
    while True:
        answer = terminal.ask_line("Maximum iterations [10]: ") or "10"
        if answer.isascii() and answer.isdigit() and len(answer) < 10 and int(answer) > 0:
            return int(answer)
        terminal.print_line("  Please enter a positive integer.")


def _ask_guardrails(terminal: Prompter, suggestions: Sequence[SuggestedGuardrail]) -> list[Guardrail]:
    rails: list[Guardrail] = []
    offered = [suggestion.command for suggestion in suggestions]
    while True:
        default = offered[0] if offered else ""
        if default:
            terminal.print_line(f"  Found {default}: Enter adds it, {DECLINE_ANSWER} leaves it out.")
        command = terminal.ask_with_default("Add guardrail command (leave blank to finish)", default)
        if command:
            offered = [other for other in offered if other != command]
            rails.append(_ask_guardrail_details(terminal, command))
        elif default:
            del offered[0]
        else:
            return rails


def _ask_guardrail_details(terminal: Prompter, command: str) -> Guardrail:
    action = _ask_fail_action(terminal)
    return Guardrail(
        command=command,
        fail_action=action,
        hint=terminal.ask_line("  Hint (optional, guidance for agent on failure): "),
    )


def _ask_fail_action(terminal: Prompter) -> FailAction:
    actions: dict[str, FailAction] = {action: action for action in get_args(FailAction)}
    while True:
        answer = terminal.ask_line("  Fail action (APPEND|PREPEND|REPLACE): ").upper() or "APPEND"
        if answer in actions:
            return actions[answer]
        terminal.print_line("  Please enter APPEND, PREPEND or REPLACE.")


def _ask_scm(terminal: Prompter) -> Scm:
    command = terminal.ask_until_answered("  SCM command (e.g., git)")
    while True:
        if tasks := _split_list(terminal.ask_line("  SCM tasks (comma-separated, e.g., commit,push): ")):
            return Scm(command, tasks)


def _split_list(answer: str) -> tuple[str, ...]:
    return tuple(item for part in answer.split(",") if (item := part.strip()))
