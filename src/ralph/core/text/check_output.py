"""What a check printed, in one line: the count of a test runner, the first error of a compiler, why it cannot run."""

import re

from ralph.core.text.plain import sanitize

MAX_SUMMARY_CHARS = 160
MAX_TAIL_LINES = 20  # of what a failed check printed; how many are shown is a setting
_PYTEST_COUNTS = r"(?:\d+ (?:failed|passed|errors?|skipped|xfailed|xpassed|deselected|warnings?)(?:, )?)+"
# what test runners and linters end with, most meaningful first; the whole match is shown unless a group says which part
_SUMMARIES = tuple(
    re.compile(pattern, re.MULTILINE | re.IGNORECASE)
    for pattern in (
        rf"^=+ ({_PYTEST_COUNTS})",
        rf"^({_PYTEST_COUNTS})(?: in [\d.]+s.*)?$",
        r"^Tests:\s+(.*\d+ total.*)$",  # jest
        r"^\s*Tests\s+((?:\d+ \w+[ |]*)+\(\d+\))",  # vitest
        r"^test result: \w+\. (\d+ passed; \d+ failed)",  # cargo
        r"^(FAILED \((?:failures|errors)=.*\))$",  # unittest
        r"^\s*(\d+ (?:passing|failing).*)$",  # mocha
        r"^(?:# )(?:fail|pass) \d+$",  # node --test
        r"^(Tests run: \d+, Failures: \d+, Errors: \d+)",  # maven
        r"^(\d+ examples?, \d+ failures?.*)$",  # rspec
        r"^(--- FAIL: \S+)",  # go
        r"^(Found \d+ errors?.*)$",  # ruff, mypy, tsc
        r"^\S*\s*(\d+ problems? \(\d+ errors?.*\))$",  # eslint
        r"^(error(?:\[\w+\])?: .+)$",  # rustc and many others
    )
)
_RAN = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)
_CANNOT_RUN = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^(?:\S*python[\d.]*: )?(No module named '?[\w.]+'?)\s*$",
        r"^(?:\S+: (?:line )?\d+: )?(\S+: (?:command )?not found)\s*$",
        r"^make: \*\*\* (No rule to make target .*?)\.?(?:  Stop\.)?$",
        r"^make(?:\[\d+\])?: (\S+: No such file or directory)$",
        r"^make: \*\*\* (No targets specified and no makefile found)",
        r"^npm (?:ERR!|error) (Missing script: .*)$",
        r"^error: (Recipe .* not found.*|Justfile does not contain recipe .*)$",
        r"^(?:error: )?(Failed to spawn: .*)$",  # uv run
    )
)
_NOISE = re.compile(r"^(?:make(?:\[\d+\])?: (?:\*\*\*|Entering|Leaving)|npm (?:ERR!|error)|Stop\.|\s*$)")


def summarize_output(output: str) -> str:
    """The one line that tells most of it; empty when it printed nothing."""
    text = sanitize(output)
    for pattern in _SUMMARIES:
        if found := [*pattern.finditer(text)]:
            last = found[-1]
            return _shorten(last[1] if last.lastindex else last[0])
    if ran := _RAN.search(text):
        return f"{ran[1]} passed" if re.search(r"^OK\b", text, re.MULTILINE) else f"{ran[1]} ran"
    lines = [line for line in text.splitlines() if not _NOISE.match(line)]
    return _shorten(lines[-1]) if lines else ""


def take_last_lines(output: str, count: int = MAX_TAIL_LINES) -> str:
    """How the output ends, for people: without blank lines and without what make and npm add below it."""
    lines = [line.rstrip() for line in sanitize(output).splitlines()]
    meaningful = [line for line in lines if line and not _NOISE.match(line)] or [line for line in lines if line]
    return "\n".join(meaningful[-count:])


def find_why_it_cannot_run(exit_code: int | None, output: str) -> str:
    """Why the command could not do its work at all, as opposed to having found something wrong; empty when it could."""
    if exit_code == 0:
        return ""
    text = sanitize(output)
    for pattern in _CANNOT_RUN:
        if found := pattern.search(text):
            if exit_code == 1 and "No module named" in found[1] and "Traceback" in text:
                continue  # the work under test lacks a module: that is a finding
            return _shorten(found[1])
    if exit_code in (126, 127):
        return _shorten(text.strip().splitlines()[-1]) if text.strip() else "the program is not there"
    return ""


def _shorten(line: str) -> str:
    line = line.strip().strip("=").strip().rstrip(",")
    return line if len(line) <= MAX_SUMMARY_CHARS else f"{line[: MAX_SUMMARY_CHARS - 1]}…"
