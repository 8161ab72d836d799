"""What a review may leave changed: the list and the progress, and what tools write when they run."""

REVIEW_FILE_NAMES = ("tasks.json", "progress.txt")
MARKER_FILE_NAME = ".ralph-active"
OUTPUT_FOLDERS = frozenset(
    "__pycache__ .pytest_cache .mypy_cache .ruff_cache .tox .nox .hypothesis htmlcov coverage .nyc_output node_modules"
    " target .gradle .eggs .ralph".split()
)
OUTPUT_FILE_ENDS = (".pyc", ".pyo", ".log", ".tsbuildinfo", ".profraw")
OUTPUT_FILE_NAMES = (".coverage", "coverage.xml", "junit.xml", ".eslintcache", ".DS_Store")


def is_review_file(path: str, folder: str) -> bool:
    """Whether a review may write it. `folder`: the loop's, below the root."""
    parent, _, name = path.rpartition("/")
    return (parent == folder and name in REVIEW_FILE_NAMES) or name == MARKER_FILE_NAME


def is_tool_output(path: str) -> bool:
    """Whether a new file of that name is what a test run or a build leaves behind."""
    *folders, name = path.split("/")
    is_one = name in OUTPUT_FILE_NAMES or name.endswith(OUTPUT_FILE_ENDS) or name.startswith(".coverage.")
    return is_one or not OUTPUT_FOLDERS.isdisjoint(folders)
