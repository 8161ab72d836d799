"""Files that must be there."""

import os

from msgspec import Struct

from ralph.model.errors import ConfigError
from ralph.model.verdict import Claim, Config, Tools, Verdict, Verifier
from ralph.verifiers._options import parsed
from ralph.verifiers._worktree import inside

VERIFIES = "that files exist in the worktree"
NAME = "files_exist"


class Options(Struct, frozen=True, forbid_unknown_fields=True):
    """As the task has them."""

    paths: tuple[str, ...] = ()


def build(config: Config, tools: Tools) -> Verifier:
    """`paths` must be given."""
    options = parsed(NAME, Options, config)
    if not options.paths:
        raise ConfigError("No paths specified for files_exist verification", 'add "paths": ["src/…"]')
    return FilesExist(options)


class FilesExist:
    """Regular files, at the end of whatever links lead to them, inside the worktree."""

    def __init__(self, options: Options) -> None:
        self._paths = options.paths

    def verify(self, claim: Claim) -> Verdict:
        """Look at each."""
        missing = [path for path in self._paths if not os.path.isfile(inside(claim.folder, path) or "")]
        reason = f"Missing files: {', '.join(missing)}" if missing else f"All {len(self._paths)} files exist"
        return Verdict(NAME, not missing, reason)
