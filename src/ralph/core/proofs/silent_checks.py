"""Whether a check that passed has said so: a test runner that was ended early exits with 0, and sums nothing up."""

import re
from collections.abc import Sequence

from ralph.core.proofs.calls import find_calls

_SUMMARIES = {  # what these print last, whatever was asked of them, when tests ran
    "pytest": re.compile(r"\b\d+ (?:passed|skipped|xfailed|xpassed|deselected)\b|\bno tests ran\b"),
    "unittest": re.compile(r"^Ran \d+ tests? in ", re.MULTILINE),
}
_FAILURES = {
    "pytest": re.compile(r"^(?:=+ )?.*\b[1-9]\d* (?:failed|errors?)\b.* in [\d.]+s", re.MULTILINE),
    "unittest": re.compile(r"^FAILED \((?:failures|errors)=", re.MULTILINE),
}
_PASSED = re.compile(r"\b(\d+) (?:passed|xfailed|xpassed)\b")
_SKIPS = re.compile(r"\b[1-9]\d* skipped\b|\bskipped=[1-9]")
_UNKNOWN_RUNNER = ""
_QUIET = ("-qq", "-qqq", "--quiet", "-p", "--collect-only", "--co", "--version", "--help", "-h", "--setup-plan")
_REDIRECTED = re.compile(r"[|>]|\bif\b|!")


def find_summing_runner(lines: Sequence[str]) -> str:
    """The runner whose output tells that tests ran: one whose words are known, and that nobody keeps silent; empty:
    none. `lines`: all that a check leads a shell to run."""
    found = {name for line in lines for name in _find_runners(line)}
    return found.pop() if len(found) == 1 and found <= {*_SUMMARIES} else ""


def describe_silent_check(runner: str, output: str, *, is_poorer: bool = False) -> str:
    """What is strange about a check that passed with this output; empty where nothing is. `is_poorer`: packages of its
    Python came or went."""
    if _FAILURES[runner].search(output):
        return "reports failures, and exits with 0"
    if not _SUMMARIES[runner].search(output):
        return "exits with 0, and reports no test"
    if _count_passed(runner, output) == 0:
        return "reports no test that passed"
    return "skips tests, and packages came or went" if is_poorer and _SKIPS.search(output) else ""


def _count_passed(runner: str, output: str) -> int:
    if runner == "pytest":
        return sum(map(int, _PASSED.findall(output)))
    skipped = re.findall(r"^OK \(.*?skipped=(\d+)", output, re.MULTILINE)
    return sum(map(int, re.findall(r"^Ran (\d+) tests? in ", output, re.MULTILINE))) - sum(map(int, skipped))


def _find_runners(line: str) -> set[str]:
    """What a line runs and could be heard of; a mark that nobody knows where it is kept silent."""
    calls = find_calls(line)
    names = {call.name for call in calls if call.name in _SUMMARIES}
    quiet = any(word in _QUIET for call in calls for word in call.arguments)
    very_quiet = any(call.arguments.count("-q") > 1 for call in calls)
    is_plain = len(calls) == 1 and not _REDIRECTED.search(line) and not quiet and not very_quiet
    return names if is_plain or not names else {*names, _UNKNOWN_RUNNER}
