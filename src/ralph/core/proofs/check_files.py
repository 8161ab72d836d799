"""Which files of a tree a check rests on, to be named with what proves a run."""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase

from msgspec import Struct

from ralph.core.proofs.check_rules import ANY_LANGUAGE, CheckRules, resolve_check
from ralph.core.proofs.file_patterns import matches_any
from ralph.core.proofs.runners import RUNNERS
from ralph.core.proofs.shell_line import join_path
from ralph.core.proofs.suites import detect_test
from ralph.model.receipt import ProofFile

MAX_PROOFS_NAMED = 200
MAX_TEXT_CHARS = 1 << 20


class TreeTexts(Struct, frozen=True):
    """Implements the port `ProjectFiles` over a tree: its files by path, and how their contents are read."""

    blobs: Mapping[str, str]
    read_blob: Callable[[str], bytes]

    def read(self, path: str) -> str | None:
        blob = self.blobs.get(path)
        return self.read_blob(blob)[:MAX_TEXT_CHARS].decode("utf-8", "replace") if blob else None

    def find(self, pattern: str) -> list[str]:
        return [path for path in self.blobs if fnmatchcase(path, pattern)]


def list_check_files(command: str, files: TreeTexts, folder: str = "") -> tuple[ProofFile, ...]:
    """Those that are there: what the command names first, then what configures its runner, then the tests it runs; not
    more than can be read. `folder`: where the check runs, from the root of the tree."""
    rule = resolve_check(command, files, folder)
    named = [path for path in _list_named(rule) if path in files.blobs]
    patterns = [pattern for name in rule.runners for pattern in RUNNERS[name].files]
    configuration = sorted(path for path in files.blobs if matches_any(path, patterns))
    tests = sorted(path for path in files.blobs if _is_run(path, rule))
    found = [*dict.fromkeys((*named, *configuration, *tests))][:MAX_PROOFS_NAMED]
    return tuple(ProofFile(path, files.blobs[path]) for path in found)


def _list_named(rule: CheckRules) -> list[str]:
    builds = [*(part.path for part in rule.makefiles), *(part.path for part in rule.justfiles)]
    packages = [join_path(part.folder, "package.json") for part in rule.packages]
    return [*rule.scripts, *rule.tests, *rule.examples, *rule.work, *builds, *packages]


def _is_run(path: str, rule: CheckRules) -> bool:
    language = detect_test(path)
    return bool(language) and (language in rule.languages or ANY_LANGUAGE in rule.languages)
