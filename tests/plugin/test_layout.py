"""The plugin as Claude Code loads it: its files, its hooks, the generated copy, and how little a hook imports."""

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ralph.core.stories.review import validate_document
from support.hooks import PLUGIN_FOLDER, load_sample_event

ROOT = PLUGIN_FOLDER.parents[1]
HOOKS = json.loads((PLUGIN_FOLDER / "hooks" / "hooks.json").read_text())["hooks"]
SCRIPTS = ["context_monitor.py", "stop_loop_reminder.py", "pretooluse_guard.py"]


def front_matter(path: Path) -> dict[str, str]:
    """The fields above a command or a skill."""
    head = path.read_text().split("---\n")[1]
    return dict(line.split(": ", 1) for line in head.splitlines())


# -- manifests ------------------------------------------------------------------------------------
def test_the_manifest_names_the_plugin_and_leaves_the_hooks_to_be_found() -> None:  # 004-01, C21
    manifest = json.loads((PLUGIN_FOLDER / ".claude-plugin" / "plugin.json").read_text())
    assert (manifest["name"], manifest["version"]) == ("ralph", "0.1.0")
    assert "hooks" not in manifest


def test_the_marketplace_offers_the_plugin() -> None:  # 004-01
    marketplace = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())
    (entry,) = marketplace["plugins"]
    assert (ROOT / entry["source"]).resolve() == PLUGIN_FOLDER
    manifest = json.loads((PLUGIN_FOLDER / ".claude-plugin" / "plugin.json").read_text())
    assert {key: entry[key] for key in ("name", "version", "description")} == {
        key: manifest[key] for key in ("name", "version", "description")
    }


@pytest.mark.parametrize(
    ("event", "script"),
    [
        ("SessionStart", "context_monitor.py"),
        ("PreToolUse", "pretooluse_guard.py"),
        ("PostToolUse", "context_monitor.py"),
        ("PostToolUseFailure", "context_monitor.py"),
        ("Stop", "stop_loop_reminder.py"),
    ],
)
def test_every_event_has_its_hook(event: str, script: str) -> None:  # 004-13, 004-14, C21
    (entry,) = HOOKS[event]
    assert entry.get("matcher", "*") == "*"
    (hook,) = entry["hooks"]
    words = shlex.split(hook["command"].replace("${CLAUDE_PLUGIN_ROOT}", str(PLUGIN_FOLDER)))
    assert words == ["python3", "-ESs", str(PLUGIN_FOLDER / "hooks" / "scripts" / script)]
    assert set(HOOKS) == {"SessionStart", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop"}


# -- the generated copy ---------------------------------------------------------------------------
def test_the_copy_of_the_rules_is_fresh() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "sync_plugin.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_copy_says_that_it_is_one_and_is_the_same_otherwise() -> None:
    header, _, rest = (PLUGIN_FOLDER / "hooks" / "scripts" / "review.py").read_text().partition("\n")
    assert "Generated from src/ralph/core/stories/review.py" in header
    assert rest == (ROOT / "src" / "ralph" / "core" / "stories" / "review.py").read_text()


# -- start-up -------------------------------------------------------------------------------------
def imported(*words: str, cwd: Path, event: str = "") -> set[str]:
    """The modules a process of Python imports."""
    done = subprocess.run(
        [sys.executable, "-ESs", "-X", "importtime", *words],
        input=event,
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "TMPDIR": str(cwd)},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(re.findall(r"^import time: .*\| +([\w.]+)$", done.stderr, re.MULTILINE))


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_hook_imports_little(tmp_path: Path, script: str) -> None:
    """Counted, not timed: what is not imported costs nothing on any machine."""
    event = {"context_monitor.py": "PostToolUse", "pretooluse_guard.py": "PreToolUse"}.get(script, "Stop")
    asked = json.dumps(load_sample_event(event, cwd=str(tmp_path)))
    plain = imported("-c", "import json, os, sys", cwd=tmp_path)
    new = imported(str(PLUGIN_FOLDER / "hooks" / "scripts" / script), cwd=tmp_path, event=asked) - plain
    assert {"session"} <= new <= {"__future__", "session", "review"}


@pytest.mark.parametrize("script", [*(PLUGIN_FOLDER / "hooks" / "scripts").glob("*.py")], ids=lambda path: path.name)
def test_hooks_are_written_for_the_python_people_have(script: Path) -> None:
    ast.parse(script.read_text(), feature_version=(3, 8))


# -- skills and commands --------------------------------------------------------------------------
def test_the_skill_is_where_claude_code_looks_and_knows_its_phrases() -> None:  # 004-30
    skill = front_matter(PLUGIN_FOLDER / "skills" / "ralph-plan" / "SKILL.md")
    assert skill["name"] == "ralph-plan"
    for phrase in ("/ralph-plan", "plan this feature for ralph", "create a ralph prd", "generate tasks for ralph"):
        assert phrase in skill["description"]


def test_the_plan_has_two_modes_and_needs_the_folder() -> None:  # 004-30
    text = (PLUGIN_FOLDER / "skills" / "ralph-plan" / "SKILL.md").read_text()
    for words in ("## Mode 1", "## Mode 2", "ralph story init", "Right-sized", "Ordered by dependency", "Verifiable"):
        assert words in text
    example = json.loads(text.split("```json\n")[1].split("```")[0])
    assert validate_document(example).problems == ()


def test_the_plan_needs_no_file_beside_it() -> None:
    """It is also copied to where the plugin's templates are not."""
    text = (PLUGIN_FOLDER / "skills" / "ralph-plan" / "SKILL.md").read_text()
    sections = re.findall(r"^#{2,3} \w+\. (.+)$", (PLUGIN_FOLDER / "templates" / "prd.md").read_text(), re.MULTILINE)
    assert len(sections) == 15
    assert [section for section in sections if section not in re.sub(r"\s+", " ", text)] == []
    assert "templates/" not in text
    assert "CLAUDE_PLUGIN_ROOT" not in text


@pytest.mark.parametrize("name", ["status", "specflow.tasks"])
def test_every_command_says_what_it_does(name: str) -> None:
    assert front_matter(PLUGIN_FOLDER / "commands" / f"{name}.md")["description"]


def test_no_command_hides_a_skill() -> None:
    """Claude Code takes the command where both have one name, and the skill is never read."""
    skills = {path.parent.name for path in (PLUGIN_FOLDER / "skills").glob("*/SKILL.md")}
    assert skills == {"ralph-plan"}
    assert not skills & {path.stem for path in (PLUGIN_FOLDER / "commands").glob("*.md")}


def test_the_specflow_command_demands_completion_criteria() -> None:  # 002-14
    text = (PLUGIN_FOLDER / "commands" / "specflow.tasks.md").read_text()
    for words in (
        "For EACH task you create, you MUST specify:",
        "1. **outcome**: A single sentence describing the measurable outcome",
        "2. **acceptance_criteria**: A list of specific, verifiable requirements",
        "For each agent (coder, reviewer, tester, qa), you MAY specify:",
        "  completion:\n    outcome:",
        "IMPORTANT: Tasks without completion criteria will fail during Ralph loop execution.",
    ):
        assert words in text


# -- templates ------------------------------------------------------------------------------------
def test_the_task_template_has_every_field_in_its_initial_state() -> None:  # 004-27
    template = json.loads((PLUGIN_FOLDER / "templates" / "tasks.json").read_text())
    (story,) = template.pop("userStories")
    assert template == {"project": "", "branchName": "ralph/feature-name", "description": "", "verifyCommands": []}
    assert story == {
        "id": "US-001",
        "title": "",
        "description": "",
        "acceptanceCriteria": [],
        "priority": 1,
        "passes": False,
        "reviewStatus": None,
        "reviewCount": 0,
        "reviewFeedback": "",
        "notes": "",
        "dependsOn": [],
    }


def test_the_progress_template() -> None:  # 004-27
    assert (PLUGIN_FOLDER / "templates" / "progress.txt").read_text() == (
        "# Ralph Progress Log\nStarted: {{DATE}}\nPRD: {{PROJECT_NAME}}\n\n"
        "## Codebase Patterns\n- (Reusable patterns discovered during this loop)\n\n---\n"
    )


def test_the_prd_template_has_its_sections_in_order_with_hints_and_tiers() -> None:  # 004-27
    text = (PLUGIN_FOLDER / "templates" / "prd.md").read_text()
    assert re.findall(r"^##+ (.+)$", text, re.MULTILINE) == [
        "1. Summary",
        "2. Problem Statement",
        "3. Goals",
        "4. Non-Goals",
        "5. Background & Context",
        "6. Technical Design",
        "6a. Database Changes",
        "6b. API Contracts",
        "6c. Core Logic Changes",
        "6d. Frontend Changes",
        "6e. Infrastructure / Config Changes",
        "7. Constraints",
        "8. Edge Cases & Error Handling",
        "9. Risks & Mitigations",
        "10. Open Questions",
    ]
    for section in re.split(r"^##+ ", text, flags=re.MULTILINE)[1:]:
        assert "<!-- " in section
    assert all(tier in text for tier in ("S-Patch", "M-Feature", "L-Epic", "Required", "Recommended"))


def test_the_prompt_has_its_steps_in_order() -> None:  # 004-05, 004-22
    text = (PLUGIN_FOLDER / "templates" / "prompt.md").read_text()
    assert text.startswith("# Ralph Loop: iteration {{RALPH_ITERATION}} of {{RALPH_MAX_ITERATIONS}}\n")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert [heading.split(":")[0] for heading in headings if "[" not in heading] == [
        "Step 1",
        "Step 2",
        "Step 3-implement",
        "Step 3-review",
        "Step 3-review-fix",
        "Step 4",
        "Step 5",
        "Step 6",
        "Hard rules",
    ]


@pytest.mark.parametrize(
    "words",
    [
        "feat: [US-xxx] - [Title]",  # 004-24
        "review: [US-xxx] - approved",
        "review: [US-xxx] - changes requested",
        "fix: [US-xxx] - address review feedback",
        "\n<promise>COMPLETE</promise>\n",  # 004-08
        "`[AUTO-APPROVED AT CAP]`",  # 004-25
        '"skipReview": true',  # 004-26
        "verifyCommands",
        "dependsOn",  # 004-23
        "One story per iteration. Never start a second.",  # 004-22, the hard rules
        "**Implementation iterations NEVER set `passes: true`.**",
        "Don't weaken tests to make them pass.",
        "document the blocker in `ralph/progress.txt`",
        "You may add, split and reorder stories",
        "`ralph/prd.md` is read-only.",
        "Review iterations do not fix code",
        "Review-fix iterations address ALL feedback items, not just the easy ones.",
    ],
)
def test_the_prompt_says_what_the_seed_demands(words: str) -> None:
    assert words in (PLUGIN_FOLDER / "templates" / "prompt.md").read_text()


# -- scripts --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("script", "action"), [("ralph.sh", "run"), ("ralph-init.sh", "init"), ("ralph-archive.sh", "archive")]
)
def test_a_script_hands_everything_to_ralph(tmp_path: Path, script: str, action: str) -> None:  # 004-01
    stand_in = tmp_path / "ralph"
    stand_in.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\nexit 7\n')
    stand_in.chmod(0o755)
    path = PLUGIN_FOLDER / "scripts" / script
    assert os.access(path, os.X_OK)
    done = subprocess.run(
        [path, "--name", "a b"], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True, check=False
    )
    assert (done.stdout.splitlines(), done.returncode) == (["story", action, "--name", "a b"], 7)


def test_the_sandbox_gets_its_credentials_and_a_git_identity(tmp_path: Path) -> None:  # 004-10, 004-11
    state, home = tmp_path / "state", tmp_path / "agent"
    state.mkdir()
    (home / ".claude").mkdir(parents=True)
    (state / ".claude.json").touch()  # empty, as `touch` leaves it
    setup = PLUGIN_FOLDER / "sandbox" / "setup.sh"
    for _ in range(2):
        subprocess.run(
            ["bash", "-s", "--", state],
            stdin=setup.open(),
            env={"PATH": os.environ["PATH"], "RALPH_SANDBOX_HOME": str(home)},
            check=True,
        )
    assert (home / ".claude").resolve() == state / ".claude"
    assert (home / ".claude.json").resolve() == state / ".claude.json"
    assert json.loads((state / ".claude.json").read_text()) == {}
    identity = (home / ".gitconfig").read_text()
    assert "ralph@localhost" in identity
    assert "Ralph Loop" in identity
    nowhere = subprocess.run(["bash", setup, "/nowhere"], capture_output=True, text=True, check=False)
    assert nowhere.returncode == 2


# -- how they find it ------------------------------------------------------------------------------
def run_script(tmp_path: Path, root: Path, *, on_path: bool) -> "subprocess.CompletedProcess[str]":
    """`ralph-init.sh --help` of a plugin below `root`, with a stand-in for ralph on PATH or in the checkout."""
    shutil.copytree(PLUGIN_FOLDER, root / "plugins" / "ralph", dirs_exist_ok=True)
    programs = tmp_path / "bin" if on_path else root / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "ralph").write_text('#!/bin/sh\necho "$0 $*"\n')
    (programs / "ralph").chmod(0o755)
    path = f"{programs}:/usr/bin:/bin" if on_path else "/usr/bin:/bin"
    script = root / "plugins" / "ralph" / "scripts" / "ralph-init.sh"
    return subprocess.run(
        [str(script), "--name", "x"], env={"PATH": path}, capture_output=True, text=True, check=False, timeout=20
    )


@pytest.mark.parametrize("on_path", [True, False], ids=["on PATH", "in the checkout"])
def test_the_scripts_find_ralph(tmp_path: Path, on_path: bool) -> None:  # 004-01
    done = run_script(tmp_path, tmp_path / "checkout", on_path=on_path)
    assert done.stdout.rstrip().endswith("/ralph story init --name x"), done.stderr


def test_without_ralph_the_scripts_name_our_package_and_no_other(tmp_path: Path) -> None:
    shutil.copytree(PLUGIN_FOLDER, tmp_path / "plugin")
    done = subprocess.run(
        [str(tmp_path / "plugin" / "scripts" / "ralph.sh")],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    assert done.returncode == 2
    assert "pipx install ralph-verified" in done.stderr
