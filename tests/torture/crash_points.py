"""The named moments at which ralph is killed or its disk fails: before and after every function that leaves something
behind. Put there from outside; the program knows nothing of them."""

from typing import Literal, NamedTuple

Side = Literal["before", "after"]


class Point(NamedTuple):
    """A function by its module; `fails` is how a bad disk shows in it. At `disk`, each write can be the one."""

    module: str
    function: str
    fails: Literal["", "os", "sqlite", "disk"] = ""

    @property
    def name(self) -> str:
        return f"{self.module.removeprefix('ralph.')}:{self.function}"


POINTS = (
    # every commit to the store
    Point("ralph.stores.sqlite.runs", "SqliteRunStore.begin", "sqlite"),
    Point("ralph.stores.sqlite.runs", "SqliteRunStore.take_over", "sqlite"),
    Point("ralph.stores.sqlite.runs", "SqliteRunStore.append", "sqlite"),
    Point("ralph.stores.sqlite.runs", "SqliteRunStore.append_last", "sqlite"),
    Point("ralph.stores.sqlite.runs", "SqliteRunStore.append_missing"),
    Point("ralph.stores.sqlite.runs", "SqliteRunStore.end"),
    Point("ralph.stores.sqlite.runs", "SqliteRunStore.mark_swept"),
    Point("ralph.stores.sqlite.tasks", "SqliteTaskStore.claim", "sqlite"),
    Point("ralph.stores.sqlite.tasks", "SqliteTaskStore.apply", "sqlite"),
    Point("ralph.stores.sqlite.attempts", "SqliteAttemptStore.save", "sqlite"),
    # processes and locks
    Point("ralph.process.supervisor", "Supervisor._spawn"),
    Point("ralph.process.supervisor", "Supervisor.run"),
    Point("ralph.process.supervisor", "Supervisor.close"),
    Point("ralph.process.lock", "WorkTreeLock.acquire"),
    Point("ralph.process.lock", "WorkTreeLock.release"),
    # an agent, its log and its snapshot
    Point("ralph.engine.agent_run", "AgentRunner.run"),
    Point("ralph.engine.agent_run", "AgentRunner._write_note"),
    Point("ralph.engine.agent_run", "AgentRunner.take_snapshot"),
    Point("ralph.process.output", "BoundedLog.write"),
    Point("ralph.process.output", "BoundedLog.close"),
    Point("ralph.engine.event_log", "EventLog.__call__"),
    Point("ralph.engine.journal", "Journal.append"),
    Point("ralph.workspaces.snapshots", "Snapshots.save_initial_tree"),
    Point("ralph.workspaces.snapshots", "Snapshots.save_tree_after"),
    Point("ralph.workspaces.tree_index", "TreeIndex.look"),
    Point("ralph.workspaces.own_git", "OwnGit.write_ref", "os"),
    Point("ralph.workspaces.pins", "Pins.pin", "os"),
    # files that are made of what the database has
    Point("ralph.engine.marker", "MarkerFile.write", "os"),
    Point("ralph.engine.gate_run", "GateRunner.check"),
    Point("ralph.engine.loops.story", "StoryEffects._survey"),
    Point("ralph.engine.loops.story", "StoryEffects._restore"),
    Point("ralph.stores.bus", "FileMessageBus.post"),
    Point("ralph.app.session", "Session.record"),
    Point("ralph.app.session", "Session.play"),
    Point("ralph.app.session", "Session.write_receipt"),
    # a task, its branch and its landing
    Point("ralph.workspaces.worktree", "Worktrees.open"),
    Point("ralph.workspaces.worktree", "Worktrees.commit_leftovers"),
    Point("ralph.workspaces.worktree", "Worktrees.remove_if_landed"),
    Point("ralph.workspaces.git", "Git.add_worktree"),
    Point("ralph.workspaces.git", "Git.run_locked"),
    Point("ralph.workspaces.task_workspace", "TaskWorkspace.land"),
    Point("ralph.workspaces.task_workspace", "TaskWorkspace._merge"),
    Point("ralph.engine.loops.pipeline", "PipelineEffects._record_end"),
    Point("ralph.engine.loops.pipeline", "PipelineEffects._verify_promise"),
    Point("ralph.engine.loops.pipeline", "PipelineEffects._land"),
    # and whatever else this process writes, as the system sees it
    Point("os", "write", "disk"),
    Point("os", "replace", "disk"),
    Point("os", "fsync", "disk"),
    Point("os", "mkdir", "disk"),
    Point("builtins", "open", "disk"),
)
BY_NAME = {point.name: point for point in POINTS}
