"""A story loop: where its files are and how it is run."""

from msgspec import Struct

MARKER_NAME = ".ralph-active"
TASKS_FILE = "tasks.json"


class StoryPaths(Struct, frozen=True):
    """The project, and the folder with prd.md, tasks.json, progress.txt and prompt.md."""

    project: str
    folder: str

    @property
    def tasks(self) -> str:
        return f"{self.folder}/{TASKS_FILE}"

    @property
    def prompt(self) -> str:
        """What every iteration is told."""
        return f"{self.folder}/prompt.md"

    @property
    def marker(self) -> str:
        """`.ralph-active`, by which hooks know that a loop is active."""
        return f"{self.project}/{MARKER_NAME}"

    @property
    def markers(self) -> tuple[str, str]:
        """Our marker, and the place other tools use for theirs."""
        return self.marker, f"{self.project}/.ralph/{MARKER_NAME}"


class StoryRules(Struct, frozen=True):
    """How stories are reviewed."""

    cap: int = 5
    skip_review: bool = False
    run_mode: str = "direct"  # or sandbox
