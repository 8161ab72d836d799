"""Whether a check that passed has said so: a test runner that was ended early exits with 0, and sums nothing up."""

import re

from ralph.core.proofs.calls import find_calls

_SUMMARIES = {  # what these print last, whatever was asked of them, when tests ran
    "pytest": re.compile(r"\b\d+ (?:passed|skipped|xfailed|xpassed|deselected)\b|\bno tests ran\b"),
    "unittest": re.compile(r"^Ran \d+ tests? in ", re.MULTILINE),
}
_FAILURES = {
    "pytest": re.compile(r"^(?:=+ )?.*\b[1-9]\d* (?:failed|errors?)\b.* in [\d.]+s", re.MULTILINE),
    "unittest": re.compile(r"^FAILED \((?:failures|errors)=", re.MULTILINE),
}
_QUIET = ("-qq", "-qqq", "--quiet", "-p", "--collect-only", "--co", "--version", "--help", "-h", "--setup-plan")
_REDIRECTED = re.compile(r"[|>]|\bif\b|!")


def is_summed_up(command: str) -> bool:
    """Whether one can tell from its output that tests were run: a runner whose words are known, asked directly."""
    return bool(_find_runner(command))


def describe_silence(command: str, output: str) -> str:
    """What is strange about a check that passed with this output; empty where nothing is."""
    runner = _find_runner(command)
    if not runner:
        return ""
    if _FAILURES[runner].search(output):
        return "reports failures, and exits with 0"
    return "" if _SUMMARIES[runner].search(output) else "exits with 0, and reports no test"


def _find_runner(command: str) -> str:
    calls = [] if _REDIRECTED.search(command) else find_calls(command)
    names = {call.name for call in calls}
    quiet = any(word in _QUIET for call in calls for word in call.arguments)
    very_quiet = any(call.arguments.count("-q") > 1 for call in calls)
    return names.pop() if len(names) == 1 and names <= {*_SUMMARIES} and not quiet and not very_quiet else ""
