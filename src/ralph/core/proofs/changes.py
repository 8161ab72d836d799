"""What became of the proofs: the differences between two trees, seen by what the checks rest on."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from ralph.core.proofs import justfile, makefile
from ralph.core.proofs.additions import is_only_added_to
from ralph.core.proofs.check_rules import ANY_FOLDER, ANY_LANGUAGE, CheckRules
from ralph.core.proofs.config_parts import extract_config_part
from ralph.core.proofs.doubts import describe_doubt
from ralph.core.proofs.file_patterns import is_named, matches_any
from ralph.core.proofs.patched_imports import describe_patched_import
from ralph.core.proofs.python_doubts import (
    MIN_LEARNED_ANSWERS,
    describe_learned_answers,
    find_answers,
    find_expectations,
)
from ralph.core.proofs.runners import RUNNERS
from ralph.core.proofs.shadowing_files import find_shadowed_file, find_shadowed_module
from ralph.core.proofs.suites import TEST_DATA, detect_language, detect_pipeline, detect_test, is_golden_name
from ralph.core.proofs.tested_data import find_named_files, may_be_tested_data
from ralph.core.proofs.weakening import asserts_nothing, count_tests, describe_danger, describe_weakening
from ralph.core.proofs.wording import LOOKED_AT_REASON
from ralph.core.text.quantities import pluralize
from ralph.model.proofs import ProofChange, ProofChangeKind, TreeChange

MAX_PROOF_CHANGES = 200
MAX_READ_FILES = 400  # of those that are no proofs
EXPECTED_REASON = "tests compare with it"
INLINE_TEST_LANGUAGES = frozenset(("rust", "zig"))  # tests stand in the file they test
# a prompt and what follows it, up to the next prompt, a blank line or the end of the text it stands in
_EXAMPLE = re.compile(r"^[ \t]*>>> .*(?:\n(?![ \t]*(?:>>> |\"\"\"|'''|$)).*)*", re.MULTILINE)
_BUILD_SCRIPTS = ("noxfile.py", "tox.ini", "build.gradle*", "settings.gradle*", "pom.xml")  # they run the tests
_LINK_MODE = "12"
_PYTHON_SHADOWS = re.compile(r"(?P<module>\w+)(\.py|\.pyc|\.pyd|\.so|\..*\.so|/__init__\.py|/__main__\.py)")
_STANDARD_MODULES = frozenset(  # those a Python test runner imports after it has begun to look into the project
    "argparse ast asyncio bdb cmd code configparser contextlib copy dataclasses datetime decimal difflib doctest"
    " email enum fnmatch functools getpass glob gzip hashlib html http importlib inspect io json linecache locale"
    " logging math operator optparse os pathlib pdb platform pprint random re runpy shlex shutil signal socket"
    " string subprocess sysconfig tempfile textwrap threading time timeit token tokenize tomllib traceback types"
    " typing unittest urllib uuid warnings xml zipfile".split()
)


class TreeReader(Struct, frozen=True, kw_only=True):
    """How to look into both trees."""

    read_blob: Callable[[str], bytes]
    list_old_paths: Callable[[], Collection[str]]  # of the baseline
    read_old_tests: Callable[[], Iterable[str]] = tuple  # texts of the baseline's tests
    doubts: dict[tuple[str, str, str], str] = {}  # by path, old and new blob: what was found before

    def read_text(self, blob: str) -> str:
        return self.read_blob(blob).decode("utf-8", "replace") if blob else ""


def find_proof_changes(
    rules: Sequence[CheckRules], changes: Sequence[TreeChange], reader: TreeReader, protected: Sequence[str] = ()
) -> tuple[ProofChange, ...]:
    """Each proof that is not as it was, once, the suspect ones first."""
    gone = {change.path for change in changes if not change.new_blob}
    judge = _Judge(rules, reader, moved=_find_moves(changes), gone=gone)
    found: dict[str, ProofChange] = {}
    for change in changes:
        seen = judge.judge(change)
        if matches_any(change.path, protected):
            kind, reason = (seen.kind, seen.reason) if seen else (_plain_kind(change), "")
            seen = ProofChange(path=change.path, kind=kind, reason=reason, protected=True)
        if seen is None or seen.noted:
            seen = judge.judge_code(change) or seen
        if seen is not None:
            found[seen.path] = seen
    return tuple(sorted(found.values(), key=lambda each: (not each.is_suspect, each.path))[:MAX_PROOF_CHANGES])


class _Judge:
    """Knows what the checks rest on, and asks of one file after the other what it was to them."""

    def __init__(
        self, rules: Sequence[CheckRules], reader: TreeReader, *, moved: Mapping[str, str], gone: Collection[str]
    ) -> None:
        self._rules, self._reader, self._moved, self._gone = rules, reader, moved, gone
        self._languages = {language for rule in rules for language in rule.languages}
        self._named_tests = {path for rule in rules for path in rule.tests}
        self._runners = {runner for rule in rules for runner in rule.runners}
        self._unknown = {name for rule in rules for name in rule.unknown}
        self._unread = MAX_READ_FILES

    @cached_property
    def _old_paths(self) -> frozenset[str]:
        return frozenset(self._reader.list_old_paths())

    @cached_property
    def _tested_files(self) -> frozenset[str]:
        return find_named_files(self._reader.read_old_tests())

    def judge(self, change: TreeChange) -> ProofChange | None:
        for rule in self._rules:
            found = (
                _judge_shadow(change, rule)
                or self._judge_build_file(change, rule)
                or self._judge_configuration(change, rule)
                or self._judge_script(change, rule)
                or self._judge_examples(change, rule)
            )
            if found is not None:
                return found
        return self._judge_test(change) or self._judge_inline_tests(change) or self._judge_work(change)

    def _judge_build_file(self, change: TreeChange, rule: CheckRules) -> ProofChange | None:
        """Makefile, justfile, package.json: only what the check uses of them counts."""
        texts = self._read_both(change) if is_named(change.path, _list_build_files(rule, change.path)) else ()
        for make_part in rule.makefiles:
            if is_named(change.path, (make_part.path,)):
                parsed = map(makefile.parse_makefile, texts)
                parts = [makefile.extract_make_use(each, make_part.use) for each in parsed]
                return _compare_parts(change, rule, parts, is_new_check=not rule.shadows)
        for just_part in rule.justfiles:
            if just_part.path == change.path:
                recipes = map(justfile.parse_justfile, texts)
                parts = [justfile.extract_just_use(each, just_part.use) for each in recipes]
                return _compare_parts(change, rule, parts)
        scripts = _list_used_scripts(rule, change.path)
        if not scripts:
            return None
        parts = [extract_config_part(change.path, text or "{}", rule.runners, scripts) for text in texts]
        return _compare_parts(change, rule, parts, is_new_check=True)

    def _judge_configuration(self, change: TreeChange, rule: CheckRules) -> ProofChange | None:
        runners = [name for name in rule.runners if matches_any(change.path, RUNNERS[name].files)]
        if not runners:
            return None
        old, new = self._read_both(change)
        if change.path.endswith("ignore") and not self._hides_old_files(change.path, old, new):
            return None
        empty = "{}" if change.path.endswith(".json") else ""
        parts = [extract_config_part(change.path, text or empty, rule.runners) for text in (old, new)]
        if parts[0] == parts[1]:
            return None
        reason, is_conftest = f"configures {runners[0]}", change.path.rpartition("/")[2] == "conftest.py"
        is_script = bool(change.old_blob) and matches_any(change.path, _BUILD_SCRIPTS)
        if not is_script and not self._has_old_tests(change.path if is_conftest else "", rule):
            return ProofChange(path=change.path, kind="added", reason=reason, check=rule.command)
        if not change.new_blob:
            return ProofChange(path=change.path, kind="deleted", reason=reason, check=rule.command)
        weaker = describe_weakening("python", old, new) if is_conftest else ""
        kind: ProofChangeKind = "weakened" if weaker else "changed"
        return ProofChange(path=change.path, kind=kind, reason=weaker or reason, check=rule.command)

    def _hides_old_files(self, path: str, old: str, new: str) -> bool:
        """Whether a file is ignored now that was there and was not; a new one may be ignored."""
        folder, slash, _ = path.rpartition("/")
        more = [line.strip() for line in new.splitlines() if line not in old.splitlines()]
        patterns = [line for line in more if line and not line.startswith(("#", "!"))]
        inner = (
            each.removeprefix(f"{folder}{slash}") for each in self._old_paths if each.startswith(f"{folder}{slash}")
        )
        return bool(patterns) and any(matches_any(each, patterns) for each in inner)

    def _has_old_tests(self, path: str, rule: CheckRules) -> bool:
        """Whether a configuration holds for tests that were there before: for those beside and below the path, or any.
        A check that runs no tests always has what it looks at."""
        if not rule.languages:
            return True
        folder = path.rpartition("/")[0]
        return any(self._is_run_by(old, rule) for old in self._old_paths if not folder or old.startswith(f"{folder}/"))

    def _is_run_by(self, path: str, rule: CheckRules) -> bool:
        language = detect_test(path)
        if language and (language in rule.languages or ANY_LANGUAGE in rule.languages):
            return True
        return detect_language(path) in INLINE_TEST_LANGUAGES.intersection(rule.languages)

    def _judge_examples(self, change: TreeChange, rule: CheckRules) -> ProofChange | None:
        """A file may change, the examples in it may not become others or fewer."""
        if change.path not in rule.examples:
            return None
        old, new = (_find_examples(text) for text in self._read_both(change))
        if change.old_blob and not old <= new:
            reason = f"{pluralize(len(old - new), 'example')} changed or removed"
            return ProofChange(path=change.path, kind="weakened", reason=reason, check=rule.command)
        kind, reason = _plain_kind(change), "the check tries its examples"
        return ProofChange(path=change.path, kind=kind, reason=reason, check=rule.command, noted=True)

    def _judge_script(self, change: TreeChange, rule: CheckRules) -> ProofChange | None:
        if not is_named(change.path, rule.scripts):
            return None
        if not change.old_blob:
            return ProofChange(path=change.path, kind="added", reason="new, and the check runs it", check=rule.command)
        if not change.new_blob:
            return ProofChange(path=change.path, kind="deleted", reason="the check needs it", check=rule.command)
        weaker = describe_weakening(detect_language(change.path) or "shell", *self._read_both(change))
        kind: ProofChangeKind = "weakened" if weaker else "changed"
        return ProofChange(path=change.path, kind=kind, reason=weaker or "the check needs it", check=rule.command)

    def _judge_test(self, change: TreeChange) -> ProofChange | None:
        path, language = change.path, detect_test(change.path)
        if not self._is_counted(language) and path not in self._named_tests:
            return None
        language = language or detect_language(path) or TEST_DATA
        if path in self._moved:
            way = "to" if change.old_blob else "from"
            return ProofChange(path=path, kind="changed", reason=f"moved {way} {self._moved[path]}")
        old, new = self._read_both(change)
        if not change.old_blob:
            if module := find_shadowed_module(path, self._old_paths, self._gone):
                return ProofChange(path=path, kind="shadowed", reason=f"would be imported instead of {module}")
            danger = describe_danger(language, new) or self._describe_patched_import(path, language, new)
            if not danger and path in self._named_tests and asserts_nothing(language, new):
                return ProofChange(path=path, kind="doubtful", reason="new test that asserts nothing", noted=True)
            return ProofChange(path=path, kind="changed" if danger else "added", reason=danger or "new test")
        if not change.new_blob:
            count = count_tests(language, old)
            return ProofChange(path=path, kind="deleted", reason=f"{pluralize(count, 'test')} removed" if count else "")
        if change.new_mode.startswith(_LINK_MODE) and not change.old_mode.startswith(_LINK_MODE):
            return ProofChange(path=path, kind="weakened", reason="replaced by a link")
        if weaker := describe_weakening(language, old, new) if language != TEST_DATA else "":
            return ProofChange(path=path, kind="weakened", reason=weaker)
        if language != TEST_DATA and is_only_added_to(language, old, new):
            danger = "" if describe_patched_import(old) else self._describe_patched_import(path, language, new)
            return ProofChange(path=path, kind="changed" if danger else "added", reason=danger or "tests added")
        return ProofChange(path=path, kind="changed")

    def _describe_patched_import(self, path: str, language: str, new: str) -> str:
        """A test that the check names cannot be left out of it."""
        return describe_patched_import(new) if language == "python" and path not in self._named_tests else ""

    def _judge_inline_tests(self, change: TreeChange) -> ProofChange | None:
        """Tests beside the code they test: the file may change, its tests may not become fewer."""
        language = detect_language(change.path)
        if language not in INLINE_TEST_LANGUAGES.intersection(self._languages) or not change.old_blob:
            return None
        old, new = self._read_both(change)
        if not count_tests(language, old):
            return None
        weaker = describe_weakening(language, old[_first_test(old) :], new[_first_test(new) :])
        return ProofChange(path=change.path, kind="weakened", reason=weaker) if weaker else None

    def _judge_work(self, change: TreeChange) -> ProofChange | None:
        for rule in self._rules:
            if change.path in rule.work:
                kind, reason = _plain_kind(change), "the check runs it"
                return ProofChange(path=change.path, kind=kind, reason=reason, check=rule.command, noted=True)
            if change.path in rule.looks:
                kind, reason = _plain_kind(change), LOOKED_AT_REASON
                return ProofChange(path=change.path, kind=kind, reason=reason, check=rule.command, noted=True)
        return None

    def judge_code(self, change: TreeChange) -> ProofChange | None:
        """Of a file that is no proof: whether it steers those that are."""
        if not change.new_blob or not self._rules:
            return None
        known, key = self._reader.doubts, (change.path, change.old_blob, change.new_blob)
        if key not in known and self._unread:
            self._unread -= bool(detect_language(change.path))
            known[key] = self._find_doubt(change) or self._find_steering(change)
        reason = known.get(key, "")
        if not reason and not change.old_blob:
            hidden = find_shadowed_file(change.path, self._old_paths, self._gone, self._runners)
            verb = "imported" if hidden.endswith(".py") and not change.path.endswith(".pyi") else "read"
            reason = f"is {verb} instead of {hidden}" if hidden else ""
        if reason.startswith(EXPECTED_REASON):
            return ProofChange(path=change.path, kind="changed", reason=reason)
        return ProofChange(path=change.path, kind="doubtful", reason=reason, noted=True) if reason else None

    def _find_doubt(self, change: TreeChange) -> str:
        """What was there before is asked for only where there is a doubt: that takes a process."""
        language = detect_language(change.path) or detect_pipeline(change.path)
        if not language:
            return ""
        new = self._reader.read_text(change.new_blob)
        if describe_doubt(language, "", new):
            return describe_doubt(language, self._reader.read_text(change.old_blob), new)
        if language != "python" or len(find_answers(new)) < MIN_LEARNED_ANSWERS:
            return ""
        tests = map(find_expectations, self._reader.read_old_tests())
        return describe_learned_answers(self._reader.read_text(change.old_blob), new, tests)

    def _find_steering(self, change: TreeChange) -> str:
        """Values that tests read, and settings of programs nobody knows."""
        path, name = change.path, change.path.rpartition("/")[2]
        steered = next(
            (each for each in self._unknown if re.fullmatch(rf"\.?{re.escape(each)}(?:[.-].*|rc.*|file)", name)), ""
        )
        if steered:
            return f"may steer `{steered}`, which the check runs"
        if not change.old_blob or not self._languages or not may_be_tested_data(path):
            return ""
        if name not in self._tested_files:
            return ""
        return EXPECTED_REASON if is_golden_name(path) else "is read by tests"

    def _is_counted(self, language: str) -> bool:
        if not language or not self._languages:
            return False
        return language in (TEST_DATA, *self._languages) or ANY_LANGUAGE in self._languages

    def _read_both(self, change: TreeChange) -> tuple[str, str]:
        return self._reader.read_text(change.old_blob), self._reader.read_text(change.new_blob)


def _find_examples(text: str) -> set[str]:
    """What is typed at a prompt in it, each with the answer it expects."""
    return {" ".join(found.split()) for found in _EXAMPLE.findall(text)}


def _judge_shadow(change: TreeChange, rule: CheckRules) -> ProofChange | None:
    if change.old_blob:
        return None
    for shadow in rule.shadows:
        if change.path == shadow.path or change.path.startswith(f"{shadow.path}/"):
            return ProofChange(path=change.path, kind="shadowed", reason=shadow.reason, check=rule.command)
    if "sitecustomize" in rule.modules and re.fullmatch(r"(?:.*/)?(?:site|user)customize\.py", change.path):
        reason = "is run at the start of every Python that finds it"
        return ProofChange(path=change.path, kind="shadowed", reason=reason, check=rule.command)
    for folder in rule.folders if rule.modules else ():
        inner = change.path.removeprefix(f"{folder}/") if folder else change.path
        found = _PYTHON_SHADOWS.fullmatch(inner)
        if found and found["module"] in {*rule.modules, *_STANDARD_MODULES}:
            reason = f"would be imported as {found['module']}"
            return ProofChange(path=change.path, kind="shadowed", reason=reason, check=rule.command)
    return None


def _list_build_files(rule: CheckRules, path: str) -> list[str]:
    known = [*(part.path for part in rule.makefiles), *(part.path for part in rule.justfiles)]
    return [*known, path] if _list_used_scripts(rule, path) else known


def _list_used_scripts(rule: CheckRules, path: str) -> list[str]:
    folder, _, name = path.rpartition("/")
    if name != "package.json":
        return []
    return [script for part in rule.packages if part.folder in (folder, ANY_FOLDER) for script in part.scripts]


def _compare_parts(
    change: TreeChange, rule: CheckRules, parts: Sequence[object], *, is_new_check: bool = False
) -> ProofChange | None:
    if not change.old_blob and is_new_check:
        return ProofChange(path=change.path, kind="added", reason="new, and the check is in it", check=rule.command)
    if change.new_blob and parts[0] == parts[1]:
        return None
    kind: ProofChangeKind = "changed" if change.new_blob else "deleted"
    return ProofChange(path=change.path, kind=kind, reason="what the check runs is in it", check=rule.command)


def _first_test(text: str) -> int:
    """Where the tests of a Rust file begin: asserts above are the program's own."""
    found = re.search(r"#\[cfg\(test\)\]|#\[(?:\w+::)*test\b", text)
    return found.start() if found else len(text)


def _find_moves(changes: Sequence[TreeChange]) -> dict[str, str]:
    """Tests that lie elsewhere now, old path → new and new → old: by content, else by name."""
    gone = [change for change in changes if change.old_blob and not change.new_blob and detect_test(change.path)]
    new = [change for change in changes if change.new_blob and not change.old_blob and detect_test(change.path)]
    moved: dict[str, str] = {}
    for is_same in (_has_same_content, _has_same_name):
        for old in gone:
            target = next((each.path for each in new if each.path not in moved and is_same(old, each)), "")
            if target and old.path not in moved:
                moved[old.path], moved[target] = target, old.path
    return moved


def _has_same_content(old: TreeChange, new: TreeChange) -> bool:
    return old.old_blob == new.new_blob


def _has_same_name(old: TreeChange, new: TreeChange) -> bool:
    return old.path.rpartition("/")[2] == new.path.rpartition("/")[2]


def _plain_kind(change: TreeChange) -> ProofChangeKind:
    if not change.old_blob:
        return "added"
    return "changed" if change.new_blob else "deleted"
