"""Stories for the tests of the story loop: the list, what an iteration makes of it, and the command that does so."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

from support.workshop import ProjectFixture

SUBMIT_FIELDS: dict[str, Any] = {"reviewStatus": "needs_review", "notes": "done"}
REJECT_FIELDS: dict[str, Any] = {"reviewStatus": "changes_requested", "reviewFeedback": "handle zero", "reviewCount": 1}
RESUBMIT_FIELDS: dict[str, Any] = {"reviewStatus": "needs_review", "reviewFeedback": ""}
CHEAT_FIELDS: dict[str, Any] = {"reviewStatus": "approved", "passes": True, "notes": "trust me"}
_CHANGE_SCRIPT = """\
import json, sys
path, id_, fields = "ralph/tasks.json", sys.argv[1], json.loads(sys.argv[2])
document = json.load(open(path))
[story.update(fields) for story in document["userStories"] if story["id"] == id_]
json.dump(document, open(path, "w"), indent=2)
"""


def make_approval(count: int) -> dict[str, Any]:
    """What a review that finds nothing sets."""
    return {"reviewStatus": "approved", "passes": True, "reviewCount": count}


def make_story(id_: str, **fields: Any) -> dict[str, Any]:
    """One that nobody began, but for these fields."""
    return {
        "id": id_,
        "title": f"Title of {id_}",
        "description": "",
        "acceptanceCriteria": ["works"],
        "priority": int(id_[-1]),
        "passes": False,
        "reviewStatus": None,
        "reviewCount": 0,
        "reviewFeedback": "",
        "notes": "",
        "dependsOn": [],
        **fields,
    }


def write_plan(repo: Path, *stories: dict[str, Any], **more: Any) -> None:
    """tasks.json with these stories."""
    document = {"project": "demo", "branchName": "ralph/demo", "description": "d", "verifyCommands": [], **more}
    (repo / "ralph/tasks.json").write_text(json.dumps({**document, "userStories": list(stories)}, indent=2))


def read_stories(repo: Path) -> list[dict[str, Any]]:
    """As tasks.json has them now."""
    found: list[dict[str, Any]] = json.loads((repo / "ralph/tasks.json").read_text())["userStories"]
    return found


def build_work_command(home: Path, id_: str, fields: dict[str, Any], subject: str) -> str:
    """A command line that works on a story, sets its fields and commits; without a subject it does not commit."""
    script = home / "change.py"
    script.write_text(_CHANGE_SCRIPT)
    commit = f"git add -A && git commit -qm {shlex.quote(subject)}" if subject else "true"
    work = "true" if subject.startswith("review:") else f"echo {id_} >> work.txt"  # a review only reads
    return f"{work}; {sys.executable} -S {script} {id_} {shlex.quote(json.dumps(fields))} && {commit}"


class StoryFixture:
    """A project with a story loop in it."""

    def __init__(self, workshop: ProjectFixture) -> None:
        self.workshop = workshop
        self.repo = workshop.repo
        workshop.call("story", "init", "--name", "demo")

    def plan(self, *stories: dict[str, Any], **more: Any) -> None:
        """The list, committed."""
        write_plan(self.repo, *stories, **more)
        self.workshop.git("add", "-A")
        self.workshop.git("commit", "-qm", "Plan")

    @property
    def stories(self) -> list[dict[str, Any]]:
        """As the list has them now."""
        return read_stories(self.repo)

    def script(self, *runs: tuple[str, dict[str, Any], str]) -> None:
        """Each run: which story, which fields it sets, the commit's subject."""
        rest: list[dict[str, Any]] = [{"cost": 0.05}, {"say": "Ended."}]
        self.play(*([{"bash": build_work_command(self.workshop.home, *run)}, *rest] for run in runs))

    def play(self, *runs: list[dict[str, Any]]) -> None:
        """What the scripted agent does in each run; the last one again and again."""
        script = self.workshop.home / "script.json"
        script.write_text(json.dumps(runs))
        self.workshop.environment["RALPH_AGENT_COMMAND"] = f"scripted {script}"
