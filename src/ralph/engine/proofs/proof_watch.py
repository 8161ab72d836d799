"""Watches what the checks of a run rest on: compared after every agent, put back as it was for a sealed check."""

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ralph.core.proofs.wording import MAX_DIFF_CHARS
from ralph.engine.proofs.outside_settings import find_changed_above, find_changed_git_settings, find_changed_home_files
from ralph.engine.proofs.program_watch import (
    find_changed_programs,
    find_ignored_protected,
    find_ignored_shadows,
    has_changed_packages,
)
from ralph.engine.proofs.stale_caches import remove_new_bytecode, remove_new_test_cache
from ralph.model.errors import DiskError, MachineError
from ralph.model.loop import Checked, GateResult, Interrupted
from ralph.model.ports import SealedTree, TreeKeeper
from ralph.model.proofs import ANY_BLOB, GONE_BLOB, ClosedSettings, ProofApproval, ProofChange, TreeChange, WorkTime
from ralph.process.atomic_file import read_regular_file

if TYPE_CHECKING:  # loaded after the first agent: nobody waits for it to start
    from ralph.core.proofs.check_rules import CheckRules

MAX_PROOF_CHARS = 1 << 20
MAX_RESTORED_FILES = 2000
MAX_SUMMARY_BYTES = 1 << 16
MAX_READ_TESTS = 200  # for what they expect
SELECTING_OPTIONS = re.compile(r"--(?:lf|last-failed|ff|failed-first|sw|stepwise|nf|new-first)\b")  # of pytest
CheckSealed = Callable[[SealedTree], Checked | Interrupted]


class ProofWatch:
    """Of one run, by the tree it started with. What a person accepted counts as if it had been so from the start."""

    def __init__(
        self,
        keeper: TreeKeeper,
        *,
        commands: Sequence[str],
        protected: Sequence[str],
        folder: str,
        environment: Mapping[str, str],
        worked: WorkTime,
        list_accepted: Callable[[], Mapping[str, str]],
        closed: ClosedSettings | None = None,
    ) -> None:
        """`folder`: where the checks run; `closed`: of a sandbox; `list_accepted`: path → blob."""
        self._keeper = keeper
        self._commands, self._protected = commands, protected
        self._root, self._folder = keeper.root, folder
        self._environment, self._worked = environment, worked
        self._list_accepted = list_accepted
        self._closed = closed or ClosedSettings()
        self._doubts: dict[tuple[str, str, str], str] = {}
        self._rules: Sequence[CheckRules] | None = None
        self._old_paths: tuple[str, Sequence[str]] = ("", ())  # of which baseline

    def look(self, iteration: int) -> None:
        """At the tree as it is now."""
        self._keeper.save_tree_after(iteration)

    def compare(self) -> tuple[ProofChange, ...]:
        """What is not as it was at the baseline, by the tree as it was last looked at. Trees that nobody can compare
        are suspect."""
        try:
            return self._compare()
        except DiskError:
            raise
        except MachineError as error:
            return (ProofChange(path=".", kind="changed", reason=error.message),)

    def _compare(self) -> tuple[ProofChange, ...]:
        if not self._keeper.tree():  # a resumed run has not looked yet
            self._keeper.save_initial_tree()
        before, after = self._keeper.baseline(), self._keeper.tree()
        if not before or not (self._commands or self._protected or self._closed.paths):
            return ()
        if not after:
            raise MachineError("nobody can tell what the files are now: ralph's record of them is gone or broken")
        changes = self._list_changes(before, after)
        rules = self._resolve_checks(changes)
        found = {change.path: change for change in self._find_proof_changes(rules, changes)}
        blobs = {change.path: change.new_blob for change in changes}
        found = {path: replace(change, blob=blobs.get(path, "")) for path, change in found.items()}
        accepted = self._list_accepted()
        shadows = find_ignored_shadows(rules, root=self._root, since=self._worked)
        home = find_changed_home_files(rules, environment=self._environment, since=self._worked)
        git = find_changed_git_settings(rules, root=self._root, since=self._worked)
        lasting = self._find_lasting_changes(rules)
        for change in (*shadows, *lasting, *home, *git, *self._find_ignored_protected(after)):
            if accepted.get(change.path) != ANY_BLOB:
                found.setdefault(change.path, change)
        return tuple(found.values())

    @property
    def is_untouched(self) -> bool:
        """Whether all files were as at the baseline when they were last looked at."""
        return self._keeper.tree() == self._keeper.baseline()

    def compare_after(self, iteration: int, results: Sequence[GateResult]) -> tuple[ProofChange, ...]:
        """Once more after checks that are green: they may have touched what they rest on, or have run nothing."""
        self.look(iteration)
        return (*self.compare(), *self.find_silent_checks(results))

    def find_silent_checks(self, results: Sequence[GateResult]) -> tuple[ProofChange, ...]:
        """Green ones whose output does not say that a test passed."""
        return tuple(self._list_silent_checks(results))

    def _list_silent_checks(self, results: Sequence[GateResult]) -> Iterator[ProofChange]:
        from ralph.core.proofs.silent_checks import describe_silent_check, find_summing_runner

        rules = {rule.command: rule for rule in self._rules or ()}
        for result in results:
            rule = rules.get(result.gate)
            runner = find_summing_runner(rule.lines if rule else (result.gate,))
            if not result.passed or not result.log or not runner:
                continue
            is_poorer = rule is not None and self._has_changed_packages(rule)
            with suppress(OSError), open(os.path.join(self._folder, result.log), "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - MAX_SUMMARY_BYTES))
                output = file.read().decode("utf-8", "replace")
                if reason := describe_silent_check(runner, output, is_poorer=is_poorer):
                    yield ProofChange(path=result.gate, kind="doubtful", reason=reason, check=result.gate, noted=True)

    def _has_changed_packages(self, rule: "CheckRules") -> bool:
        return has_changed_packages(rule, root=self._root, environment=self._environment, since=self._worked)

    def clear_caches(self) -> None:
        """Before checks that run Python: what an agent left in caches is not asked."""
        if any("sitecustomize" in rule.modules for rule in self._rules or ()):
            remove_new_bytecode(self._root, self._worked.first)
        if any(SELECTING_OPTIONS.search(line) for rule in self._rules or () for line in rule.lines):
            remove_new_test_cache(self._folder, self._worked.first)

    def check_sealed(self, check: CheckSealed, approved: Sequence[ProofApproval] = ()) -> Checked | Interrupted:
        """Run the checks once more with the suspects put back, but for those a reviewer approved. A program that was
        replaced cannot be put back: that is a failure of its own."""
        try:
            return self._check_sealed(check, {(each.change.path, each.change.blob) for each in approved})
        except DiskError:
            raise
        except MachineError as error:
            failure = _build_failure("sealed check", f"{error.message}. {error.hint}".strip())
            suspects = tuple(change for change in self.compare() if change.is_suspect)
            return Checked((failure,), sealed=True, proofs=suspects)

    def _check_sealed(self, check: CheckSealed, approved: Collection[tuple[str, str]]) -> Checked | Interrupted:
        found_changes = self._compare()
        changes = [each for each in found_changes if each.protected or (each.path, each.blob) not in approved]
        suspects = tuple(change for change in changes if change.is_suspect)
        if not suspects:
            return Checked((), sealed=True)
        before, after = self._keeper.baseline(), self._keeper.tree()
        in_tree = {change.path for change in self._list_changes(before, after)}
        restored = [each.path for each in changes if each.path in in_tree and self._is_put_back(each)]
        with self._keeper.open_sealed_tree(restored[:MAX_RESTORED_FILES]) as sealed:
            found = check(sealed)
        if isinstance(found, Interrupted):
            return found
        lasting = {each.path for each in self._find_lasting_changes(self._rules or ())}
        replaced = (_build_failure(each.path, each.reason) for each in suspects if each.path in lasting)
        return Checked((*found.results, *replaced), sealed=True, proofs=suspects, diff=self._diff(suspects))

    def diff_suspects(self, changes: Sequence[ProofChange]) -> str:
        """Of changes that were just found; empty where nobody can tell."""
        try:
            return self._diff([change for change in changes if change.is_suspect])
        except MachineError:
            return ""

    def describe_suspects(self) -> Checked:
        """What a sealed check would put back, without one."""
        suspects = tuple(change for change in self.compare() if change.is_suspect)
        return Checked((), sealed=True, proofs=suspects, diff=self._diff(suspects))

    def diff_paths(self, wanted: Sequence[str]) -> str:
        """Of these files, as far as trees know them."""
        before, after = self._keeper.baseline(), self._keeper.tree()
        in_tree = {change.path for change in self._list_changes(before, after)}
        paths = [path for path in wanted if path in in_tree]
        return self._keeper.diff(before, after, paths)[: 2 * MAX_DIFF_CHARS] if paths else ""

    def find_blobs(self, paths: Sequence[str]) -> dict[str, str]:
        """What these files are now, as somebody may accept them."""
        changes = {each.path: each for each in self._list_changes(self._keeper.baseline(), self._keeper.tree())}
        return {path: (changes[path].new_blob or GONE_BLOB) if path in changes else ANY_BLOB for path in paths}

    def _diff(self, suspects: Sequence[ProofChange]) -> str:
        return self.diff_paths([change.path for change in suspects])

    def _is_put_back(self, change: ProofChange) -> bool:
        """Suspects, and new tests: they may need what is put back. Tests that a check names stay."""
        named = {path for rule in self._rules or () for path in (*rule.tests, *rule.scripts)}
        return change.is_suspect or (change.kind == "added" and not change.check and change.path not in named)

    def _list_changes(self, before: str, after: str) -> Sequence[TreeChange]:
        if before == after:
            return ()
        accepted = self._list_accepted()
        found = self._keeper.list_changes(before, after)
        return [change for change in found if accepted.get(change.path) != (change.new_blob or GONE_BLOB)]

    def _resolve_checks(self, changes: Sequence[TreeChange]) -> "Sequence[CheckRules]":
        if self._rules is None:
            from ralph.core.proofs.check_rules import resolve_check

            files = _BaselineFiles(self._keeper, self._root, changes)
            place = os.path.relpath(self._folder, self._root)
            self._rules = [resolve_check(command, files, "" if place == "." else place) for command in self._commands]
        return self._rules

    def _find_proof_changes(
        self, rules: "Sequence[CheckRules]", changes: Sequence[TreeChange]
    ) -> tuple[ProofChange, ...]:
        if not changes:
            return ()
        from ralph.core.proofs.changes import TreeReader, find_proof_changes

        reader = TreeReader(
            read_blob=self._keeper.read_blob,
            list_old_paths=self._list_old_paths,
            read_old_tests=lambda: self._read_old_tests(changes),
            doubts=self._doubts,
        )
        closed = (f"/{path}" for path in self._closed.paths)
        return find_proof_changes(rules, changes, reader, (*self._protected, *closed))

    def _find_lasting_changes(self, rules: "Sequence[CheckRules]") -> tuple[ProofChange, ...]:
        """Those that no sealed tree is without: programs, and settings above it."""
        return (
            *find_changed_programs(rules, root=self._root, environment=self._environment, since=self._worked),
            *find_changed_above(rules, root=self._root, since=self._worked),
        )

    def _read_old_tests(self, changes: Sequence[TreeChange]) -> Iterator[str]:
        from ralph.core.proofs.suites import TEST_DATA, detect_test

        files = _BaselineFiles(self._keeper, self._root, changes)
        paths = [path for path in self._list_old_paths() if detect_test(path) not in ("", TEST_DATA)]
        yield from (files.read(path) or "" for path in paths[:MAX_READ_TESTS])

    def _find_ignored_protected(self, tree: str) -> list[ProofChange]:
        found = [*find_ignored_protected(self._protected, root=self._root, since=self._worked)]
        known = {change.path for change in self._keeper.list_changes("", tree)} if found else set()
        made = [path for path in self._closed.absent if os.path.lexists(os.path.join(self._root, path))]
        return [
            *(change for change in found if change.path not in known),
            *(ProofChange(path=path, kind="added", reason="made in the sandbox", protected=True) for path in made),
        ]

    def _list_old_paths(self) -> Sequence[str]:
        baseline = self._keeper.baseline()
        if self._old_paths[0] != baseline:
            self._old_paths = (baseline, [change.path for change in self._keeper.list_changes("", baseline)])
        return self._old_paths[1]


class _BaselineFiles:
    """The files of the baseline: what has not changed since is read from disk."""

    def __init__(self, keeper: TreeKeeper, root: str, changes: Sequence[TreeChange]) -> None:
        self._keeper, self._root = keeper, root
        self._old_blobs = {change.path: change.old_blob for change in changes}

    def read(self, path: str) -> str | None:
        blob = self._old_blobs.get(path)
        if blob is not None:
            return self._keeper.read_blob(blob)[:MAX_PROOF_CHARS].decode("utf-8", "replace") if blob else None
        try:
            return read_regular_file(os.path.join(self._root, path), MAX_PROOF_CHARS, "replace")
        except OSError:
            return None

    def find(self, pattern: str) -> list[str]:
        paths = (change.path for change in self._keeper.list_changes("", self._keeper.baseline()))
        return [path for path in paths if fnmatchcase(path, pattern)]


def _build_failure(what: str, reason: str) -> GateResult:
    return GateResult(gate=what, passed=False, exit_code=1, reason=reason)
