"""The questions of `ralph init`, in the order and the words of its specification."""

import re
from collections.abc import Sequence
from typing import TextIO, get_args

from ralph.app.agents.detect import DetectedAgent
from ralph.app.setup.check_trial import CheckTrial, format_trial
from ralph.app.setup.init import build_settings_document
from ralph.config.schema import Guardrail, Scm
from ralph.model.agent_card import Permissions
from ralph.model.loop import FailAction

DECLINE_ANSWER = "-"
PERMISSION_CHOICES = """\
  checks  edit files, run the guardrails above, commit with git; nothing else
  edits   edit files only
  all     anything, like you: use it in a sandbox"""
_PERMISSION_ANSWERS: dict[str, Permissions] = {"checks": "checks", "edits": "edits", "all": "all"}
_UNREADABLE_CHARS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # and what the terminal's encoding could not read


class Prompter:
    """Asks one line at a time. The end of input is EOFError, Ctrl-C is KeyboardInterrupt."""

    def __init__(self, console_in: TextIO, console_out: TextIO) -> None:
        self._in, self._out = console_in, console_out

    def print_line(self, text: str) -> None:
        self._out.write(f"{text}\n")
        self._out.flush()

    def show_for_now(self, text: str) -> None:
        """Until `erase_line`, or the next of its kind."""
        self._out.write(f"\r\x1b[K{text}")
        self._out.flush()

    def erase_line(self) -> None:
        self.show_for_now("")

    def ask_line(self, prompt: str) -> str:
        """One trimmed line; asks again if it holds control characters."""
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
        """Shows the default in brackets: Enter takes it, `-` gives the empty string."""
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
    terminal: Prompter, agent: DetectedAgent | None, trials: Sequence[CheckTrial]
) -> dict[str, object]:
    """Asks all questions; returns the content of the settings file."""
    if agent:
        terminal.print_line(
            f"Found {agent.name} ({agent.path}). Press Enter to accept the default, {DECLINE_ANSWER} to skip."
        )
    command = terminal.ask_until_answered(
        "Agent command (e.g., claude, codex, amp, or other LLM CLI)", agent.name if agent else ""
    )
    flags = _split_list(terminal.ask_line("Agent flags (comma-separated, optional): "))
    return build_settings_document(
        command=command,
        flags=flags,
        maximum_iterations=_ask_iterations(terminal),
        completion_response=terminal.ask_line("Completion response [DONE]: ") or "DONE",
        guardrails=_ask_guardrails(terminal, trials),
        scm=_ask_scm(terminal) if terminal.ask_yes_no("Configure SCM? (y/N): ") else None,
        permissions=ask_permissions(terminal) if agent and command == agent.name and not flags else None,
    )


def ask_permissions(terminal: Prompter) -> Permissions:
    """One question, with the plain meaning of each answer."""
    terminal.print_line(PERMISSION_CHOICES)
    return ask_permission_name(terminal)


def ask_permission_name(terminal: Prompter) -> Permissions:
    while True:
        answer = terminal.ask_line("What may the agent do without asking? [checks]: ").lower() or "checks"
        if answer in _PERMISSION_ANSWERS:
            return _PERMISSION_ANSWERS[answer]
        terminal.print_line("  Please enter checks, edits or all.")


def _ask_iterations(terminal: Prompter) -> int:
    while True:
        answer = terminal.ask_line("Maximum iterations [10]: ") or "10"
        if answer.isascii() and answer.isdigit() and len(answer) < 10 and int(answer) > 0:
            return int(answer)
        terminal.print_line("  Please enter a positive integer.")


def _ask_guardrails(terminal: Prompter, trials: Sequence[CheckTrial]) -> list[Guardrail]:
    rails = _offer_trials(terminal, trials)
    while command := terminal.ask_line("Add guardrail command (leave blank to finish): "):
        rails.append(_ask_guardrail_details(terminal, command))
    return rails


def _offer_trials(terminal: Prompter, trials: Sequence[CheckTrial]) -> list[Guardrail]:
    """Those found in the repository, tried already; one that cannot run here is shown, not offered."""
    usable = [trial for trial in trials if trial.is_usable]
    if trials:
        terminal.print_line("Checks found here, each run once:")
    for trial in trials:
        terminal.print_line(f"  {format_trial(trial)}")
    if not usable:
        return []
    names = " and ".join(trial.command for trial in usable)
    accepted = terminal.ask_line(f"Use {names} as guardrails? (Y/n): ").lower() not in ("n", "no", DECLINE_ANSWER)
    return [Guardrail(command=trial.command) for trial in usable] if accepted else []


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
