"""Each decision of `ralph story run`, and the fact it comes to."""

import json
from pathlib import Path

import pytest

from ralph.engine.gate_run import GateRunner
from ralph.engine.loops.story import StoryEffects
from ralph.engine.marker import MarkerFile
from ralph.engine.proofs.proof_gates import ProofGates
from ralph.model.command import CommandExit
from ralph.model.errors import DiskError, MachineError
from ralph.model.events import Debugged
from ralph.model.loop import (
    Brief,
    Check,
    Checked,
    Feedback,
    GateResult,
    Interrupted,
    Reported,
    Restore,
    Restored,
    RunAgent,
    Save,
    Survey,
    Surveyed,
    Wait,
)
from ralph.model.ports import Evidence
from ralph.model.story import StoryPaths, StoryRules
from ralph.workspaces.git import Git
from support.quiet_inbox import QuietInbox
from support.scripted_processes import AskedAgent, Listener, Ran, ScriptedProcesses, make_runner, say, stopped
from support.stories import make_story
from support.tree_keeper import MemoryKeeper

TASKS = json.dumps({"project": "p", "description": "d", "userStories": [make_story("S-1", title="A door")]})
BRIEF = Brief(
    iteration=2,
    limit=9,
    role="implementation",
    story="S-1",
    tasks=TASKS,
    budget_usd=0.25,
    feedback=(Feedback("Mend it"),),
)
HEAD = Ran(stdout=b"0123abc 4567def Add a door, and a lock\n")
CLEAN = Ran()
BRANCH = Ran(stdout=b"ralph/doors\n")
FAILED = Ran(stdout=b"half a word", exited=CommandExit(code=128, seconds=0.1))


class PassingGate:
    title = "make test"

    def __init__(self) -> None:
        self.seen: list[Evidence] = []

    def check(self, evidence: Evidence) -> GateResult:
        self.seen.append(evidence)
        return GateResult(gate=self.title, passed=True)


class Project:
    """A project with the files of a story loop, and everything the loop touches."""

    def __init__(self, root: Path, inbox: QuietInbox, listener: Listener) -> None:
        self.root, self.folder, self.run_dir = root / "project", root / "project" / "loop", root / "run"
        self.folder.mkdir(parents=True)
        self.run_dir.mkdir()
        self.place = StoryPaths(str(self.root), str(self.folder))
        self.inbox, self.listener = inbox, listener
        self.agent, self.gate = AskedAgent(), PassingGate()
        self.trees: MemoryKeeper | None = None
        self.processes = self.git = ScriptedProcesses()
        (self.folder / "prompt.md").write_text("Round {{RALPH_ITERATION}} of {{RALPH_MAX_ITERATIONS}}\n")
        (self.folder / "tasks.json").write_text(TASKS)

    @property
    def marker(self) -> Path:
        return Path(self.place.marker)

    def make_effects(self, *script: Ran, git: tuple[Ran, ...] = ()) -> StoryEffects:
        self.processes, self.git = ScriptedProcesses(*script), ScriptedProcesses(*git)
        return StoryEffects(
            self.place,
            str(self.run_dir),
            runner=make_runner(self.agent, self.processes, self.root),
            gates=ProofGates(
                GateRunner(
                    {"make_test": self.gate},
                    folder=str(self.root),
                    environment={"PATH": "/gates"},
                    inbox=self.inbox,
                    watchers=[self.listener],
                )
            ),
            marker=MarkerFile(self.place, StoryRules(cap=3)),
            git=Git("/bin/git", str(self.root), environment={"PATH": "/git"}, processes=self.git),
            watchers=[self.listener],
            trees=self.trees,
        )

    def survey(self, *, head: Ran = HEAD, status: bytes = b"") -> Surveyed:
        found = self.make_effects(git=(head, Ran(stdout=status), BRANCH)).perform(Survey())
        assert isinstance(found, Surveyed)
        return found


@pytest.fixture
def project(tmp_path: Path, inbox: QuietInbox, listener: Listener) -> Project:
    return Project(tmp_path, inbox, listener)


# -- the agent ------------------------------------------------------------------------------------
def test_the_agent_reads_the_prompt_of_its_iteration_and_keeps_to_its_budget(project: Project) -> None:
    reported = project.make_effects(say("done", 0.5)).perform(RunAgent(BRIEF))
    assert isinstance(reported, Reported)
    assert (reported.outcome, reported.text, reported.cost_usd) == ("finished", "done", 0.5)
    ((prompt, mode, budget),) = project.agent.asked
    assert prompt.startswith("Round 2 of 9\n")
    assert "Mode: implementation. Story: S-1 - A door" in prompt
    assert "- Mend it" in prompt
    assert (mode, budget) == ("stream", 0.25)
    assert (2, Debugged(f"Prompt: {prompt}"[:208])) in project.listener.told


def test_it_works_in_the_project_and_knows_what_its_iteration_is_about(project: Project) -> None:
    project.make_effects(say("done")).perform(RunAgent(BRIEF))
    command = project.processes.commands[0]
    assert command.cwd == str(project.root)
    assert command.environment == {
        "FROM": "its adapter",
        "RALPH_ITERATION": "2",
        "RALPH_MAX_ITERATIONS": "9",
        "RALPH_MODE": "implementation",
        "RALPH_STORY": "S-1",
    }


def test_each_call_has_files_of_its_own(project: Project) -> None:
    effects = project.make_effects(say("a"), say("b"))
    effects.perform(RunAgent(BRIEF))
    effects.perform(RunAgent(BRIEF))
    names = sorted(path.name for path in project.run_dir.iterdir())
    assert names == ["agent_001.log", "agent_002.log", "prompt_001.txt", "prompt_002.txt"]


def test_hooks_find_the_marker_of_this_iteration_while_the_agent_runs(project: Project) -> None:
    seen: list[dict[str, object]] = []
    ran = Ran(stdout=say("done").stdout, act=lambda: seen.append(json.loads(project.marker.read_text())))
    project.make_effects(ran).perform(RunAgent(BRIEF))
    (marker,) = seen
    assert (marker["iterationMode"], marker["max_iterations"], marker["reviewCap"]) == ("implementation", 9, 3)
    assert marker["ralphDir"] == "loop"


def test_without_its_prompt_the_agent_cannot_be_asked(project: Project) -> None:
    effects = project.make_effects()
    (project.folder / "prompt.md").unlink()
    detail = f"cannot read {project.folder}/prompt.md: No such file or directory. create it with `ralph story init`"
    assert effects.perform(RunAgent(BRIEF)) == Reported(outcome="unusable", detail=detail)
    assert not project.marker.exists()


def test_no_agent_starts_without_a_marker_for_its_hooks(project: Project) -> None:
    (project.root / "a file").touch()
    project.place = StoryPaths(str(project.root / "a file" / "project"), str(project.folder))
    effects = project.make_effects()
    reported = effects.perform(RunAgent(BRIEF))
    assert isinstance(reported, Reported)
    assert reported.outcome == "unusable"
    assert reported.detail.startswith(f"cannot write {project.root}/a file")
    assert project.processes.commands == []


def test_an_agent_that_was_stopped_is_no_report(project: Project) -> None:
    effects = project.make_effects(stopped("received SIGINT"))
    assert effects.perform(RunAgent(BRIEF)) == Interrupted("received SIGINT")


# -- the survey -----------------------------------------------------------------------------------
def test_a_survey_tells_the_list_the_last_commit_and_what_is_not_in_it(project: Project) -> None:
    assert project.survey(status=b" M src/door.py\0?? new.py\0") == Surveyed(
        text=TASKS,
        head="0123abc",
        committed="4567def",
        subject="Add a door, and a lock",
        uncommitted=("src/door.py", "new.py"),
        branch="ralph/doors",
    )


def test_git_is_asked_without_taking_locks_or_running_what_an_agent_configured(project: Project) -> None:
    project.survey()
    log, status, branch = project.git.commands
    options = ("-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "--no-optional-locks")
    assert log.argv == ("/bin/git", *options, "log", "-1", "--format=%H %T %s")
    assert status.argv == (
        "/bin/git",
        *options,
        "status",
        "--ignore-submodules=dirty",
        "--porcelain",
        "--no-renames",
        "-z",
    )
    assert branch.argv == ("/bin/git", *options, "symbolic-ref", "--quiet", "--short", "HEAD")
    assert (log.cwd, log.environment["PATH"]) == (str(project.root), "/git")


def test_what_git_printed_before_it_failed_is_no_answer(project: Project) -> None:
    assert project.make_effects(git=(FAILED, FAILED, FAILED)).perform(Survey()) == Surveyed(text=TASKS)


@pytest.mark.parametrize("line", ["?? .ralph-active", "?? .ralph/settings.json", " M loop/.ralph-active"])
def test_what_ralph_keeps_for_itself_need_not_be_committed(project: Project, line: str) -> None:
    assert project.survey(status=f"{line}\0".encode()).uncommitted == ()


@pytest.mark.parametrize("line", [" M .ralph/settings.json", "?? loop/notes.md", "?? ralph-active"])
def test_all_else_is_uncommitted_work(project: Project, line: str) -> None:
    assert project.survey(status=f"{line}\0".encode()).uncommitted == (line[3:],)


def test_a_loop_that_lives_in_ralphs_own_folder_commits_that_too(project: Project) -> None:
    folder = project.root / ".ralph" / "loop"
    folder.mkdir(parents=True)
    project.place = StoryPaths(str(project.root), str(folder))
    assert project.survey(status=b"?? .ralph/loop/prd.md\0").uncommitted == (".ralph/loop/prd.md",)


def test_a_list_that_is_gone_and_one_that_cannot_be_read_are_two_things(project: Project) -> None:
    tasks = project.folder / "tasks.json"
    tasks.unlink()
    assert (project.survey().text, project.survey().problem) == (None, "")
    tasks.mkdir()
    assert project.survey().text is None
    assert project.survey().problem.startswith("tasks.json cannot be read: ")


def test_files_that_are_lost_and_files_that_are_rewritten_are_two_things(project: Project) -> None:
    for name in ("prd.md", "progress.txt"):
        (project.folder / name).write_text("words")
    effects = project.make_effects(git=(HEAD, CLEAN, BRANCH))
    (project.folder / "progress.txt").unlink()
    (project.folder / "prd.md").write_text("other words")
    found = effects.perform(Survey())
    assert isinstance(found, Surveyed)
    assert (found.lost, found.rewritten) == (("progress.txt",), ("prd.md",))


# -- what is put back -----------------------------------------------------------------------------
def test_the_list_and_lost_files_are_put_back(project: Project) -> None:
    effects = project.make_effects()
    (project.folder / "prompt.md").unlink()
    assert effects.perform(Restore("{}", why=("it was cheated",), files=("prompt.md",))) == Restored()
    assert (project.folder / "tasks.json").read_text() == "{}"
    assert (project.folder / "prompt.md").read_text().startswith("Round ")


def test_a_list_that_is_right_is_left_alone(project: Project) -> None:
    before = (project.folder / "tasks.json").stat().st_mtime_ns
    assert project.make_effects().perform(Restore(None)) == Restored()
    assert (project.folder / "tasks.json").stat().st_mtime_ns == before


def test_a_list_that_cannot_be_put_back_ends_the_loop(project: Project) -> None:
    (project.root / "a file").touch()
    project.place = StoryPaths(str(project.root), str(project.root / "a file" / "loop"))
    effects = project.make_effects()
    with pytest.raises(MachineError, match="cannot restore "):
        effects.perform(Restore("{}"))


# -- the rest -------------------------------------------------------------------------------------
def test_the_commands_that_verify_work_in_the_project(project: Project) -> None:
    assert project.make_effects().perform(Check(("make_test",), 4)) == Checked(
        (GateResult(gate="make test", passed=True),)
    )
    assert project.gate.seen == [Evidence(4, str(project.root), {"PATH": "/gates"})]


@pytest.mark.parametrize("decision", [Wait(1.0, "the network"), Save(iteration=1)])
def test_what_is_no_business_of_its_own_is_left_to_the_kernel(project: Project, decision: Wait | Save) -> None:
    assert project.make_effects().perform(decision) is None


def test_what_an_agent_touched_is_not_guessed_where_the_disk_is_broken(project: Project) -> None:
    project.trees = keeper = MemoryKeeper(project.root, {"a.py": "x\n"})
    effects = project.make_effects(say("done"), git=(HEAD, CLEAN, BRANCH) * 2)
    effects.perform(RunAgent(BRIEF))
    keeper.write({"a.py": "y\n"})
    keeper.is_broken = True
    found = effects.perform(Survey())
    assert isinstance(found, Surveyed)
    assert found.touched == ()
    keeper.is_disk_full = True
    with pytest.raises(DiskError):
        effects.perform(Survey())
