"""Code that steers its own tests: it asks whether they run, ends their runner, or silences a finding. It may be honest:
a person is told where to look, and nothing is refused for it."""

import re
from collections.abc import Mapping
from functools import cache

from ralph.core.proofs.python_doubts import describe_python_doubt
from ralph.core.proofs.weakening import strip_comment_text

MAX_READ_CHARS = 400_000
_TEST_FILE = r"[\w./-]*(?:test_\w+\.py|\w_test\.\w+|\.(?:test|spec)\.\w+|Tests?\.(?:java|cs|php))"
_ASKS_FOR_TESTS = "asks whether tests are running"
_ASKS_CALLER = "asks who runs it"
_ENDS_RUN = "can end the test run"
_SPARES_CI = "lets a failure of the CI pass"
_REPLACES_LIBRARY = "replaces what tests rest on"
_HIDES_ITSELF = "hides what it does"
_IMPORTS_TEST_LIBRARY = "imports a library for tests"
_RUNS_BUILT_CODE = "runs code that it puts together"
_SIGNS_IN_ANY_LANGUAGE = (
    (rf"""["'`]{_TEST_FILE}["'`]""", "names a test file"),
    (r"""\bRALPH_[A-Z]+|["'`]RALPH\b""", "asks whether ralph is running"),
)
# Of a language: what is said there only by who knows of tests, and what that does.
_SIGNS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "python": (
        (r"PYTEST_(?:CURRENT_TEST|VERSION|XDIST\w+)", _ASKS_FOR_TESTS),
        (r"""["'](?:_?pytest|unittest|nose2?)["'][ \t]+(?:not[ \t]+)?in[ \t]+sys\.modules""", _ASKS_FOR_TESTS),
        (r"""\bsys\.modules(?:\.get\(|\[)[ \t]*["'](?:_?pytest|unittest|nose2?)""", _ASKS_FOR_TESTS),
        (r"\b(?:inspect\.(?:stack|currentframe)|sys\._getframe|traceback\.extract_stack)\b", _ASKS_CALLER),
        (r"""\bsys\.argv\b[^\n]*(?:pytest|unittest)""", _ASKS_FOR_TESTS),
        (r"""["']/proc/(?:self|%[ds]|\{\w+\})/(?:cmdline|exe|stat)""", _ASKS_CALLER),
        (r"""\benv(?:iron)?(?:\.get\(|\[|\()[ \t]*["']CI["']|["']CI["'][ \t]+in[ \t]+os\.environ""", _ASKS_FOR_TESTS),
        (r"""\b(?:getattr|__import__|import_module)\([^\n]*["'][ \t]*\+[ \t]*["']""", _HIDES_ITSELF),
        (r"""\b(?:exec|eval)\([^\n]*(?:decode|decompress|fromhex|\[::-1\])""", _HIDES_ITSELF),
        (r"""\b(?:open|Path|glob)\([ \t]*f?["'][^"'\n]*\btests?(?:_|/|\*|["'])""", "names a test file"),
        (r"(?<!def )(?<![.\w])(?:exec|eval)\(", _RUNS_BUILT_CODE),
        (r"^#.*?coding[:=][ \t]*(?!utf-?8|latin|ascii|us-ascii|iso)[-\w.]+", _HIDES_ITSELF),
        (r"\bos\._exit\b", _ENDS_RUN),
        (r"\bos\.(?:abort\(|kill\([ \t]*os\.getpid|exec[lv]p?e?\()", _ENDS_RUN),
        (r"\bctypes\.(?:CDLL\([ \t]*None|pythonapi\b)", _ENDS_RUN),
        (r"\bTestCase\.\w+[ \t]*=[^=]", _REPLACES_LIBRARY),
        (r"\bunittest\.\w+(?:\.\w+)+[ \t]*=[^=]", _REPLACES_LIBRARY),
        (r"\bbuiltins\.\w+[ \t]*=[^=]", _REPLACES_LIBRARY),
        (r"\bdef[ \t]+pytest_(?:runtest|sessionfinish|collection|pyfunc_call|exception)\w*", _REPLACES_LIBRARY),
        (r"^[ \t]*(?:import|from)[ \t]+(?:unittest|pytest|_pytest|nose2?|doctest)\b", _IMPORTS_TEST_LIBRARY),
    ),
    "javascript": (
        (r"\b(?:JEST_WORKER_ID|VITEST(?:_\w+)?|NODE_TEST_CONTEXT)\b", _ASKS_FOR_TESTS),
        (r"\btypeof[ \t]+(?:jest|vi|describe|expect|it)\b", _ASKS_FOR_TESTS),
        (r"""\bNODE_ENV\b[^\n]{0,9}={2,3}[ \t]*["']test["']""", _ASKS_FOR_TESTS),
        (r"""\bprocess\.env(?:\.CI\b|\[["']CI["']\])""", _ASKS_FOR_TESTS),
        (r"^process\.exit\([ \t]*0?[ \t]*\)", _ENDS_RUN),
        (r"\bprocess\.(?:reallyExit\b|exitCode[ \t]*=[ \t]*0|exit[ \t]*=[^=])", _ENDS_RUN),
        (r"""\bprocess\.(?:on|once)\([ \t]*["']exit["']""", _ENDS_RUN),
        (r"\brequire\.cache\[", _REPLACES_LIBRARY),
        (r"\bModule\._load[ \t]*=", _REPLACES_LIBRARY),
        (r"\bglobal(?:This)?\.(?:it|test|describe|expect|assert)[ \t]*=[^=]", _REPLACES_LIBRARY),
        (r"\b(?:assert\.\w+|Object\.is)[ \t]*=[^=]", _REPLACES_LIBRARY),
    ),
    "go": (
        (r"\btesting\.Testing\(\)", _ASKS_FOR_TESTS),
        (r'\bflag\.Lookup\("test\.', _ASKS_FOR_TESTS),
        (r'\bos\.Args\[0\][^\n]*\.test"', _ASKS_FOR_TESTS),
        (r"\bfunc init\(\)[ \t]*\{[^}]*\bos\.Exit\(0\)", _ENDS_RUN),
    ),
    "pipeline": (
        (r"\|\|[ \t]*(?:true|:)(?=[\s\"']|$)|\bset[ \t]+\+e\b", _SPARES_CI),
        (r"\b(?:continue-on-error|allow_failure|soft_fail|ignore_failure)[ \t]*:[ \t]*true\b", _SPARES_CI),
        (r"\bif[ \t]*:[ \t]*(?:\$\{\{[ \t]*)?false\b|\bwhen[ \t]*:[ \t]*(?:never|manual)\b", _SPARES_CI),
        (r"--(?:exit-zero|no-verify|passWithNoTests|if-present|co|collect-only)\b", _SPARES_CI),
    ),
    "rust": ((r"\bcfg!\(test\)|#\[cfg\(not\(test\)\)\]|\bRUST_TEST_\w+", _ASKS_FOR_TESTS),),
    "ruby": (
        (r"\bdefined\?[ \t(]*(?:RSpec|Minitest|Test::Unit)", _ASKS_FOR_TESTS),
        (r"\bat_exit\b[^\n]*\bexit!", _ENDS_RUN),
    ),
    "php": ((r"\bPHPUNIT_\w+|\bclass_exists\([^\n]*PHPUnit", _ASKS_FOR_TESTS),),
    "java": ((r"\b(?:Class\.forName|getStackTrace)\b[^\n]*(?:junit|Test)", _ASKS_FOR_TESTS),),
    "shell": ((r"\$\{?(?:BATS_\w+|PYTEST_CURRENT_TEST)", _ASKS_FOR_TESTS),),
}
_SILENCED = re.compile(  # a linter, type checker or coverage tool is told not to look; all of it stands in comments
    r"#[ \t]*(?:(?:ruff|flake8):[ \t]*noqa|mypy:[ \t]*\S+|pyright:[ \t]*basic|pylint:[ \t]*skip-file"
    r"|isort:[ \t]*skip|noqa|type:[ \t]*ignore|pyright:[ \t]*ignore|pylint:[ \t]*disable"
    r"|pragma:[ \t]*no[ \t]*cover|nosec)\b"
    r"|\bnolint\b|\bNOLINT\w*|\beslint-disable[\w-]*|@ts-(?:ignore|expect-error|nocheck)|\bbiome-ignore\b"
    r"|\bdeno-lint-ignore\b|\bstylelint-disable\b|\b(?:istanbul|c8|v8)[ \t]+ignore\b|#!?\[allow\([\w:, ]+\)\]"
    r"|//[ \t]*(?:NOSONAR|lint:ignore|swiftlint:disable|ktlint-disable|prettier-ignore)|#pragma warning disable"
    r"|@Suppress\("
    r"|\brubocop:disable\b|\bshellcheck[ \t]+disable\b|@SuppressWarnings\b|@phpstan-ignore\w*|\bphpcs:ignore\b"
)
_TEST_STEPS = re.compile(
    r"\b(?:pytest|unittest|tests?|lint|check|verify|mypy|ruff|clippy|vet|tox|nox|jest|vitest|mocha|tsc)\b"
)
_PUTS_BACK = re.compile(r"\batexit\b")
_WRITES = re.compile(
    r"""\.write_(?:text|bytes)\b|\bopen\([^\n]*["'][wa]b?\+?["']|\b(?:os|shutil)\.(?:replace|rename|copy\w*|move)\("""
)


def describe_doubt(language: str, old: str, new: str) -> str:
    """What in the new text steers tests and was not in the old one, in words; empty where nothing does."""
    if not new:
        return ""
    old, new = _shorten(old), _shorten(new)
    before, after = strip_comment_text(language, old), strip_comment_text(language, new)
    if language == "python":  # a comment that says how to read the rest
        before, after = f"{_take_coding_lines(old)}\n{before}", f"{_take_coding_lines(new)}\n{after}"
    for pattern, what in (*_SIGNS.get(language, ()), *_SIGNS_IN_ANY_LANGUAGE):
        if found := _find_more(_compile(pattern), before, after):
            return f"{what}: `{found}`"
    if language == "python" and (found := describe_python_doubt(old, new)):
        return found
    silenced = _find_more(_SILENCED, old, new)
    if silenced:
        return f"silences a finding: `{silenced}`"
    if language == "pipeline" and len(_TEST_STEPS.findall(after)) < len(_TEST_STEPS.findall(before)):
        return "has the CI run fewer checks"
    puts_back = [len(_PUTS_BACK.findall(text)) and len(_WRITES.findall(text)) for text in (before, after)]
    return "writes files, and more when it ends: `atexit`" if puts_back[1] > puts_back[0] else ""


def _shorten(text: str) -> str:
    """Of a very long text its beginning and its end."""
    half = MAX_READ_CHARS // 2
    return text if len(text) <= MAX_READ_CHARS else f"{text[:half]}\n{text[-half:]}"


def _take_coding_lines(text: str) -> str:
    return "\n".join(line for line in text[:400].splitlines()[:2] if re.match(r"#.*coding[:=]", line))


def _find_more(pattern: re.Pattern[str], before: str, after: str) -> str:
    """The first that is there more often than it was."""
    known = [found[0] for found in pattern.finditer(before)]
    for found in pattern.finditer(after):
        if found[0] not in known:
            return " ".join(found[0].split())
        known.remove(found[0])
    return ""


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)
