"""The restart loop as a Python object."""

import threading
from pathlib import Path
from typing import Any

import pytest

from ralph import Canceled, Context, FatalError, MaxRestartsExceeded, RootAgentLoop
from ralph.app.supervise.api import RootRunner
from ralph.stores.bus import FileMessageBus


class Notes:
    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []

    def post(self, kind: str, body: str, *, project_id: str = "", task_id: str = "") -> None:
        self.said.append((kind, body))

    def of(self, kind: str) -> list[str]:
        return [body for said, body in self.said if said == kind]


def loop(folder: Path, runner: RootRunner, bus: Notes | None = None, **more: Any) -> RootAgentLoop:
    options = {"restart_delay": 0, "poll_interval": 0.01, **more}
    return RootAgentLoop(folder, bus or Notes(), root_runner=runner, **options)


def test_done_at_the_start_runs_nothing(tmp_path: Path) -> None:  # 003-16
    (tmp_path / "DONE").touch()
    attempts: list[int] = []
    loop(tmp_path, lambda ctx, n: attempts.append(n)).run()
    assert attempts == []


def test_done_on_the_second_run_of_five(tmp_path: Path) -> None:  # 003-07, 003-16
    attempts: list[int] = []
    bus = Notes()

    def runner(ctx: Context, attempt: int) -> None:
        attempts.append(attempt)
        if attempt == 1:
            (tmp_path / "DONE").touch()

    loop(tmp_path, runner, bus, max_restarts=5).run()
    assert attempts == [0, 1]
    assert [body for body in bus.of("INFO") if "starting root agent" in body] == [
        "starting root agent (restart #0)",
        "starting root agent (restart #1)",
    ]
    assert bus.of("INFO")[-1] == "task completed (DONE marker present, no active children)"


def test_one_failing_run_exceeds_a_limit_of_one(tmp_path: Path) -> None:  # 003-06, 003-09
    bus = Notes()

    def runner(ctx: Context, attempt: int) -> None:
        raise RuntimeError("boom")

    with pytest.raises(MaxRestartsExceeded, match="max restarts exceeded"):
        loop(tmp_path, runner, bus, max_restarts=1).run()
    assert bus.of("WARNING") == ["agent failed on restart #0: boom"]
    assert bus.of("ERROR") == ["max restarts exceeded"]


def test_done_as_a_directory_is_an_error(tmp_path: Path) -> None:  # 003-04
    (tmp_path / "DONE").mkdir()
    with pytest.raises(FatalError, match="DONE is a directory"):
        loop(tmp_path, lambda ctx, n: None).run()


def test_a_mark_that_cannot_be_looked_at_is_an_error(tmp_path: Path) -> None:  # 003-04
    (tmp_path / "DONE").symlink_to("DONE")
    with pytest.raises(FatalError, match="stat DONE: "):
        loop(tmp_path, lambda ctx, n: None).run()


def test_a_child_that_outlives_the_wait_gives_success_and_a_warning(tmp_path: Path) -> None:  # 003-05
    (tmp_path / "DONE").touch()
    bus = Notes()
    loop(tmp_path, lambda ctx, n: None, bus, wait_timeout=0.05, active_children=lambda: ["child-1"]).run()
    assert "child-1" in bus.of("WARNING")[0]


def test_done_waits_for_children(tmp_path: Path) -> None:  # 003-05
    (tmp_path / "DONE").touch()
    left = ["c", "c", "c"]
    bus = Notes()
    loop(tmp_path, lambda ctx, n: None, bus, active_children=lambda: left[: len(left) - 1] if left.pop() else []).run()
    assert not bus.of("WARNING")


def test_cancelling_ends_the_loop(tmp_path: Path) -> None:  # 003-06
    ctx = Context()
    runs: list[int] = []

    def runner(given: Context, attempt: int) -> None:
        runs.append(attempt)
        threading.Timer(0.05, given.cancel).start()

    with pytest.raises(Canceled, match="context canceled"):
        loop(tmp_path, runner, restart_delay=30).run(ctx)
    assert runs == [0]


def test_a_deadline_ends_the_loop(tmp_path: Path) -> None:  # 003-06
    with pytest.raises(Canceled, match="context deadline exceeded"):
        loop(tmp_path, lambda ctx, n: None, restart_delay=30).run(Context(timeout=0.05))


@pytest.mark.parametrize(
    "error", [FileNotFoundError("no agent"), PermissionError("not allowed"), FatalError("bad key")]
)
def test_a_fatal_error_ends_the_loop_as_it_is(tmp_path: Path, error: Exception) -> None:  # 003-15
    runs: list[int] = []

    def runner(ctx: Context, attempt: int) -> None:
        runs.append(attempt)
        raise error

    with pytest.raises(type(error)):
        loop(tmp_path, runner).run()
    assert runs == [0]


@pytest.mark.parametrize(
    "option",
    [{"max_restarts": -1}, {"restart_delay": -1}, {"poll_interval": -1}, {"wait_timeout": -0.5}, {"poll_interval": 0}],
)
def test_negative_values_are_refused(tmp_path: Path, option: dict[str, Any]) -> None:  # 003-01
    with pytest.raises(ValueError, match=next(iter(option))):
        loop(tmp_path, lambda ctx, n: None, **option)


def test_the_defaults(tmp_path: Path) -> None:  # 003-01
    import inspect

    defaults = {n: p.default for n, p in inspect.signature(RootAgentLoop).parameters.items()}
    assert (
        defaults["wait_timeout"],
        defaults["poll_interval"],
        defaults["max_restarts"],
        defaults["restart_delay"],
    ) == (300, 1, 100, 1)


def test_it_speaks_on_a_real_bus(tmp_path: Path) -> None:  # 003-05
    bus = FileMessageBus(tmp_path / "TASK-MESSAGE-BUS.md")

    def runner(ctx: Context, attempt: int) -> None:
        (tmp_path / "DONE").touch()

    RootAgentLoop(tmp_path, bus, root_runner=runner, project_task=("my-project", "task-001")).run()
    assert [(m.project_id, m.task_id) for m in bus.read()] == [("my-project", "task-001")] * 2
