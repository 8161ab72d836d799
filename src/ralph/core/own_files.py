"""Which files of a work tree, and which lines of its .gitignore, are ralph's own doing."""

from ralph.model.story import MARKER_NAME

GITIGNORE_LINES = (".ralph/*.log", ".ralph/prompt_*.txt", ".ralph/settings.local.json", ".ralph/state/")
DRAFT_PREFIX = ".ralph-draft-"  # of a file that is being written, in the folder it is for
_IGNORED_BY_US = {*GITIGNORE_LINES, MARKER_NAME}


def is_own_file(name: str) -> bool:
    """Whether it is in a `.ralph/`: settings are the user's to commit, logs are nobody's."""
    return "/.ralph/" in f"/{name}"


def adds_only_own_ignores(before: str, after: str) -> bool:
    """Whether a .gitignore has become another only by lines that `ralph init` and `ralph story init` add."""
    return _without_own_ignores(before) == _without_own_ignores(after)


def _without_own_ignores(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip() not in _IGNORED_BY_US]
