"""An agent in bubblewrap puts links where ralph itself reads and writes: ralph does not go there for it."""

import json
from pathlib import Path

import pytest

from support.bubblewrap import needs_bubblewrap
from support.workshop import ProjectFixture

pytestmark = [pytest.mark.sandbox, needs_bubblewrap, pytest.mark.timeout(120)]
STORY = {"id": "US-001", "title": "t", "description": "d", "acceptanceCriteria": ["a"], "priority": 1, "passes": False}
REVIEW: dict[str, object] = {"reviewStatus": None, "reviewCount": 0, "reviewFeedback": "", "notes": "", "dependsOn": []}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "key").write_text("TOPSECRET\n")
    return folder


def write_agent(workshop: ProjectFixture, first: str) -> None:
    """Keeps every prompt it gets; the first one does harm."""
    agent = workshop.repo / "agent.sh"
    agent.write_text(
        f"#!/bin/sh\ncat >> heard\nif ! test -e second; then touch second; {first}; fi\necho fine\nexit 1\n"
    )
    agent.chmod(0o755)
    workshop.git("add", "-A")
    workshop.git("commit", "-qm", "Begin")


def test_a_prompt_file_that_became_a_link_is_not_read(workshop: ProjectFixture, outside: Path) -> None:
    (workshop.repo / "PROMPT.md").write_text("Do it.\n")
    write_agent(workshop, f"ln -sf {outside}/key PROMPT.md")
    arguments = ("run", "-f", "PROMPT.md", "--agent", "./agent.sh", "--sandbox", "bubblewrap", "-m", "3")
    workshop.ralph(*arguments)
    heard = (workshop.repo / "heard").read_text()
    assert "Do it." in heard
    assert "TOPSECRET" not in heard
    (workshop.repo / "PROMPT.md").symlink_to(outside / "key")
    again = workshop.ralph(*arguments)
    assert (again.returncode, "outside of the sandbox" in again.stderr) == (2, True)


@pytest.mark.parametrize(
    "harm",
    [
        "cd task; rm TASK.md; ln -s {outside}/key TASK.md",
        "cd task; mv runs away; ln -s {outside} runs",
        "cd task/runs; for run in *; do mv $run ../away; ln -s {outside} $run; done",
        "cd task/runs/*; for name in output.md run-info.yaml agent-stderr.txt; do ln -sf {outside}/key $name; done",
        "mv tasks away; mkdir tasks; ln -s {outside} tasks/task",
    ],
)
def test_a_supervised_task_whose_files_became_links(workshop: ProjectFixture, outside: Path, harm: str) -> None:
    (workshop.repo / "tasks/task").mkdir(parents=True)
    (workshop.repo / "tasks/task/TASK.md").write_text("Do it.\n")
    (outside / "TASK.md").write_text("TOPSECRET\n")
    write_agent(workshop, harm.replace("cd task", "cd tasks/task").format(outside=outside))
    workshop.ralph(
        *("supervise", "tasks/task", "--agent", "./agent.sh", "--sandbox", "bubblewrap"),
        *("--max-restarts", "2", "--restart-delay", "0"),
    )
    assert "TOPSECRET" not in (workshop.repo / "heard").read_text()
    assert sorted(each.name for each in outside.iterdir()) == ["TASK.md", "key"]
    assert (outside / "key").read_text() == "TOPSECRET\n"


@pytest.mark.parametrize("harm", ["ln -sf {outside}/key ralph/prompt.md", "mv ralph away; ln -s {outside} ralph"])
def test_a_story_loop_whose_files_became_links(workshop: ProjectFixture, outside: Path, harm: str) -> None:
    workshop.ralph("story", "init")
    stories = {
        "project": "p",
        "branchName": "",
        "description": "d",
        "verifyCommands": [],
        "userStories": [STORY | REVIEW],
    }
    (workshop.repo / "ralph/tasks.json").write_text(json.dumps(stories))
    write_agent(workshop, harm.format(outside=outside))
    done = workshop.ralph("story", "run", "--agent", "./agent.sh", "--sandbox", "bubblewrap", "--max-iterations", "3")
    assert (workshop.repo / "second").exists(), done.stdout + done.stderr
    assert "TOPSECRET" not in (workshop.repo / "heard").read_text()
    assert [each.name for each in outside.iterdir()] == ["key"]


@pytest.mark.parametrize(
    "trap",
    [
        "git config core.fsmonitor $PWD/../spy",
        "git config filter.f.clean $PWD/../spy; echo '* filter=f' > .gitattributes",
        "cp ../spy .git/hooks/post-index-change",
    ],
)
def test_a_repository_inside_the_work_tree_runs_nothing_on_the_host(
    workshop: ProjectFixture, outside: Path, trap: str
) -> None:
    workshop.settings(guardrails=["true"], scm={"command": "git", "tasks": ["commit"]})
    agent = workshop.repo / "agent.sh"
    agent.write_text(
        "#!/bin/sh\ncat > /dev/null\n"
        f"printf '#!/bin/sh\\ntouch {outside}/ran\\ncat\\n' > spy; chmod +x spy; echo new > new\n"
        f"mkdir in; cd in; git init -q; echo f > f; git add f; git commit -qm x; {trap}; echo g > f; cd ..\n"
        "git update-index --add --cacheinfo 160000,$(git -C in rev-parse HEAD),in\n"
        "echo '<response>DONE</response>'\n"
    )
    agent.chmod(0o755)
    workshop.git("add", "-A")
    workshop.git("commit", "-qm", "Begin")
    done = workshop.ralph("run", "-p", "x", "--agent", "./agent.sh", "--sandbox", "bubblewrap", "-m", "1")
    assert (workshop.repo / "in/.git").exists(), done.stdout
    assert not (outside / "ran").exists()
