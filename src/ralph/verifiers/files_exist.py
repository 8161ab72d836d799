"""Files that must be there."""

import os

from msgspec import Struct

from ralph.model.errors import ConfigError
from ralph.model.verdict import Claim, Verdict, Verifier, VerifierConfig, VerifierTools
from ralph.verifiers._options import parse_options
from ralph.verifiers._worktree import resolve_inside

VERIFIES = "that files exist in the worktree"
FILES_EXIST_METHOD = "files_exist"


class FilesExistOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """As the task has them."""

    paths: tuple[str, ...] = ()


def build(config: VerifierConfig, tools: VerifierTools) -> Verifier:
    options = parse_options(FILES_EXIST_METHOD, FilesExistOptions, config)
    if not options.paths:
        raise ConfigError("No paths specified for files_exist verification", 'add "paths": ["src/…"]')
    return FilesExistVerifier(options)


class FilesExistVerifier:
    """Regular files, at the end of whatever links lead to them, inside the worktree."""

    def __init__(self, options: FilesExistOptions) -> None:
        self._paths = options.paths

    def verify(self, claim: Claim) -> Verdict:
        missing = [path for path in self._paths if not os.path.isfile(resolve_inside(claim.folder, path) or "")]
        reason = f"Missing files: {', '.join(missing)}" if missing else f"All {len(self._paths)} files exist"
        return Verdict(method=FILES_EXIST_METHOD, verified=not missing, reason=reason)
