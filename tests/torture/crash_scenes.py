"""One small project a loop, the agent that works in it, and what must hold whatever happened to ralph in between."""

import json
import shlex
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.processes import find_processes_started_with, wait_until
from support.stories import SUBMIT_FIELDS, StoryFixture, build_work_command, make_approval, make_story
from support.workshop import ProjectFixture, make_result_command
from torture.crash_evidence import WORK, check_projections, check_stored_passes
from torture.crash_memory import check_agents_ended_once, check_commits

LOOPS = ("run", "story", "supervise", "execute")
CHILD = Path(__file__).with_name("crash_child.py")
COST = 0.01
TOOL_USE = {"type": "tool_use", "id": "t", "name": "Write", "input": {"file_path": "a.txt"}}
AT_WORK = json.dumps({"type": "assistant", "message": {"id": "m", "content": [TOOL_USE]}})


def result(text: str) -> str:
    """It used a tool, so that its work is looked at."""
    return f"echo {shlex.quote(AT_WORK)}; echo x >> $HOME/paid; {make_result_command(text, COST)}"


class Scene:
    """A project in which one loop comes to its end in two to five agent runs. The agent goes by what it finds, so that
    one who is asked twice does no harm."""

    def __init__(self, loop: str, folder: Path) -> None:
        self.loop, self.folder, self.disk_failed = loop, folder, False
        self.shop = ProjectFixture(folder)
        self.repo = self.shop.repo
        self.shop.environment["RALPH_AGENT_COMMAND"] = "claude"
        self.shop.environment["PYTHONPATH"] = str(CHILD.parents[1])
        (self.repo / "README").write_text("x\n")
        self.shop.git("add", "-A")
        self.shop.git("commit", "-qm", "Start")
        getattr(self, f"_set_up_{loop}")()

    @classmethod
    def reopen(cls, loop: str, folder: Path, environment: dict[str, str]) -> "Scene":
        """One that is set up already."""
        scene = object.__new__(cls)
        scene.loop, scene.folder, scene.disk_failed = loop, folder, False
        scene.shop = object.__new__(ProjectFixture)
        scene.shop.home, scene.shop.repo, scene.shop.environment = folder / "home", folder / "repo", environment
        scene.repo = scene.shop.repo
        return scene

    @property
    def database(self) -> Path:
        return self.repo / ".git/ralph/ralph.db"

    @property
    def words(self) -> tuple[str, ...]:
        match self.loop:
            case "run":
                return ("run", "-p", "work", "-m", "6")
            case "story":
                return ("story", "run", "-n", "8")
            case "supervise":
                task = str(self.repo / "tasks/app/job")
                return ("supervise", task, "--restart-delay", "0.01", "--check", "test -f tasks/app/job/half")
            case _:
                return ("execute",)

    @property
    def words_again(self) -> tuple[str, ...]:
        """What a person types after a crash."""
        match self.loop:
            case "run":
                return ("run", "--resume")
            case "execute":
                return ("execute", "--resume")
            case _:
                return self.words

    # -- the four loops -------------------------------------------------------------------------
    def _set_up_run(self) -> None:
        self.shop.settings(guardrails=[{"command": "test -f a.txt"}], scm={"command": "git", "tasks": ["commit"]})
        half, done, message = result("half done"), result("<response>DONE</response>"), result("Add the file")
        work = f"if [ -f a.txt ]; then echo x > b.txt; {done}; else echo x > a.txt; {half}; fi"
        self.shop.agent(f"if grep -q 'commit message' {self.shop.home}/prompt.$n; then {message}; else {work}; fi")

    def _set_up_story(self) -> None:
        story = StoryFixture(self.shop)
        story.plan(make_story("US-1"), verifyCommands=["test -f work.txt"])
        work = build_work_command(self.shop.home, "US-1", SUBMIT_FIELDS, "feat: [US-1] - Title of US-1")
        review = build_work_command(self.shop.home, "US-1", make_approval(1), "review: [US-1] - approved")
        ended = result("Ended.")
        self.shop.agent(f"if [ $RALPH_MODE = review ]; then {review}; else {work}; fi; {ended}")

    def _set_up_supervise(self) -> None:
        task = self.repo / "tasks/app/job"
        task.mkdir(parents=True)
        (task / "TASK.md").write_text("Do it.\n")
        ended = result("Ended.")
        self.shop.agent(
            f"if [ -f $TASK_FOLDER/half ]; then touch $TASK_FOLDER/DONE; fi; touch $TASK_FOLDER/half; {ended}"
        )

    def _set_up_execute(self) -> None:
        said = {
            "coder": "<promise>IMPLEMENTATION_COMPLETE</promise>",
            "reviewer": "<promise>REVIEW_PASSED</promise>",
            "tester": "<promise>TESTS_PASSED</promise>",
            "qa": "<promise>QA_PASSED</promise>",
        }
        work = "echo done > T.txt; git add -A; git commit -qm Do || true"
        turns = "".join(f"{role}) {work if role == 'coder' else ':'}; {result(text)};; " for role, text in said.items())
        judge = f"judge) {result('VERIFIED')};; "
        self.shop.agent(f"case $RALPH_STAGE in {turns} {judge} esac")
        self.shop.call("spec", "create", "files")
        methods = [
            word
            for role in said
            for word in (f"--{role}-verify", "external", f"--{role}-verify-cmd", "test -f T.txt")
            if role != "reviewer"
        ]  # a judge is asked about that one
        words = ("--outcome", "T.txt is there", "--acceptance", "the file is there")
        self.shop.call("task", "create", "T-1", "files", "Make T", *words, *methods)

    # -- playing it -----------------------------------------------------------------------------
    def play(self, *plan: str, timeout: float = 120, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Once, with something that happens in between."""
        return subprocess.run(
            [sys.executable, str(CHILD), *plan, "--", *self.words],
            cwd=self.repo,
            env={**self.shop.environment, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def resume(self) -> "subprocess.CompletedProcess[str]":
        """As a person does who finds it cut off."""
        done = self.shop.ralph(*self.words_again, timeout=120)
        if done.returncode == 2 and self.loop == "run" and not self.is_complete:
            done = self.shop.ralph(*self.words, timeout=120)  # there was nothing to go on with
        return done

    @property
    def is_complete(self) -> bool:
        """It was before the blow, and there is nothing to resume."""
        there = self.database.exists() and self.query("SELECT 1 FROM sqlite_master WHERE name = 'run'")
        return bool(there and self.query("SELECT 1 FROM run WHERE outcome = 'completed'"))

    def copy_to(self, folder: Path) -> "Scene":
        """The same scene, set up already."""
        shutil.copytree(self.folder, folder, symlinks=True)
        old, new = str(self.folder), str(folder)
        twin = Scene.reopen(self.loop, folder, {k: v.replace(old, new) for k, v in self.shop.environment.items()})
        for path in (*twin.shop.home.glob("answer.*"), twin.shop.home / "claude"):
            path.write_text(path.read_text().replace(old, new))
        return twin

    # -- what must hold -------------------------------------------------------------------------
    def find_faults(self) -> list[str]:
        """After the last resume."""
        faults = [*self._check_database(), *self._check_money(), *self._check_effects()]
        faults += [*check_projections(self), *check_stored_passes(self)]
        faults += [] if self.disk_failed else [*check_agents_ended_once(self), *check_commits(self)]
        home = str(self.shop.home)
        if not wait_until(lambda: not find_processes_started_with(f"HOME={home}"), 10):
            faults.append("a process is left")
        faults += [f"stale {path.name}" for path in (self.repo / ".git").rglob("*.lock")]
        if len(self.shop.git("worktree", "list", "--porcelain").split("\n\n")) > 2:
            faults.append("a work tree is on record: " + self.shop.git("worktree", "list"))
        if self.shop.git("show", "HEAD:README") != "x\n" or (self.repo / "README").read_text() != "x\n":
            faults.append("a file that nobody worked on is not as it was")
        before = self._look()
        again = self.resume_again()
        if again.returncode not in (0, 2) or self._look() != before:
            faults.append(f"a second resume is no no-op: {again.returncode} {again.stderr[-200:]}")
        return faults

    def _look(self) -> object:
        """What a resume that has nothing to do must not change. Lists and folders that are done are looked at by a run
        of its own, which is on record and calls no agent."""
        rows = self._count_rows() if self.loop in ("run", "execute") else None
        state = self.shop.git("rev-parse", "HEAD"), self.shop.git("status", "--porcelain"), self.shop.git("branch")
        work = [path.read_bytes() for name in WORK if (path := self.repo / name).exists()]
        return rows, state, work, (self.shop.home / "count").read_text()

    def resume_again(self) -> "subprocess.CompletedProcess[str]":
        return self.shop.ralph(*self.words_again, timeout=120)

    def query(self, sql: str) -> Sequence[tuple[Any, ...]]:
        database = sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)
        try:
            return database.execute(sql).fetchall()
        finally:
            database.close()

    def _count_rows(self) -> object:
        return self.query("SELECT count(*) FROM transition")

    def _check_database(self) -> list[str]:
        faults = []
        if self.query("PRAGMA integrity_check") != [("ok",)]:
            faults.append("the database is damaged")
        seen: dict[object, tuple[object, ...]] = {}
        for run, seq, iteration, cost in self.query(
            "SELECT run, seq, iteration, coalesce(cost_usd, 0) FROM transition ORDER BY run, seq"
        ):
            before = seen.get(run, (0, 0, 0.0))
            if seq != int(str(before[0])) + 1 or float(str(cost)) < float(str(before[2])) - 1e-9:
                faults.append(f"the journal of {run} jumps at {seq}")
            spent_none = 1 if self.disk_failed else 0  # an agent that could not be called gives its iteration back
            if int(str(iteration)) < int(str(before[1])) - spent_none:
                faults.append(f"iterations of {run} go back at {seq}")
            seen[run] = (seq, iteration, cost)
        if self.query("SELECT count(*) FROM run WHERE ended_at IS NULL") != [(0,)]:
            faults.append("a run has no end")
        return faults

    def _check_money(self) -> list[str]:
        """Every result that reached a log is counted, once; where the log has no room, at most what was paid."""
        runs = self.repo / ".git/ralph/runs"
        logs = [*runs.rglob("agent_*.log"), *runs.rglob("judge_*.log"), *self.folder.rglob("agent-stdout.txt")]
        told = sum(log.read_bytes().count(b'"total_cost_usd"') for log in logs) * COST
        shown = json.loads(self.shop.ralph("cost", "--since", "all", "--json").stdout)
        counted = shown["total"]["cost_usd"] or 0.0
        paid = (self.shop.home / "paid").read_text().count("x") * COST
        most = paid if self.disk_failed else told
        fits = told - 1e-6 < counted < most + 1e-6
        return [] if fits else [f"agents told ${told:.2f} of ${paid:.2f}, ralph counts ${counted:.2f}"]

    def _check_effects(self) -> list[str]:
        match self.loop:
            case "run":
                return [] if (self.repo / "b.txt").exists() else ["the work is not there"]
            case "story":
                return []
            case "supervise":
                return [] if (self.repo / "tasks/app/job/DONE").exists() else ["DONE is not there"]
            case _:
                faults = []
                if self.query("SELECT status FROM task") != [("done",)]:
                    faults.append(f"the task is {self.query('SELECT status FROM task')}")
                if not (self.repo / "T.txt").exists():
                    faults.append("nothing landed")
                if (self.repo / ".ralph/worktrees/T-1").exists() or self.shop.git("branch", "--list", "ralph/*"):
                    faults.append("a work tree or a branch is left")
                (spent,) = self.query("SELECT coalesce(sum(cost_usd), 0) FROM spend")[0]
                told = json.loads(self.shop.ralph("cost", "--since", "all", "--json").stdout)["total"]["cost_usd"]
                if abs(float(str(spent)) - (told or 0.0)) > 1e-6:
                    faults.append(f"the board counts ${spent}, the journal ${told}")
                return faults


def play_to_the_end(scene: Scene, most: int = 3) -> "subprocess.CompletedProcess[str]":
    """Resume until it is complete."""
    for _ in range(most):
        done = scene.resume()
        if done.returncode == 0 or (done.returncode == 2 and scene.is_complete):
            break
        time.sleep(0.05)
    return done
