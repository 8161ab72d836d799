"""Checks on the tree where a task began: real git, real commands, each of them once."""

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.app.pipeline.base_checks import BasePlace, BaseVerdicts, TaskBaseChecks
from ralph.app.pipeline.task_inbox import TaskInbox
from ralph.model.errors import DiskError
from ralph.model.spec import CompletionCriteria, VerificationMethod
from support.quiet_inbox import QuietInbox
from support.repository import RepositoryFixture, open_repository
from support.tree_keeper import MemoryKeeper

TESTS = "for each in tests/test_*.sh; do [ -f $each ] || continue; sh $each || exit 1; done"


class Room:
    """A repository with a program and a work tree beside it that an agent has changed."""

    def __init__(self, repo: RepositoryFixture, folder: Path) -> None:
        self.repo, self.log = repo, folder / "runs"
        self.commit = repo.commit("add.sh", "echo 0\n")
        self.keeper = MemoryKeeper(folder / "work", {"add.sh": "echo 0\n"})
        self.inbox = TaskInbox(QuietInbox(), lambda: False)
        self.verdicts = BaseVerdicts()

    def open(self, folder: str = "") -> TaskBaseChecks:
        place = BasePlace(
            git=self.repo.git,
            commit=self.commit,
            folder=folder or self.keeper.root,
            environment={**self.repo.environment, "LOG": str(self.log)},
            inbox=self.inbox,
            sibling_guardians=set(),
        )
        return TaskBaseChecks(place, self.verdicts, self.keeper)

    def count(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    (tmp_path / "work").mkdir()
    with open_repository(tmp_path) as repo:
        yield Room(repo, tmp_path)


def check(command: str) -> CompletionCriteria:
    return CompletionCriteria("DONE", "d", VerificationMethod.EXTERNAL, {"command": f"echo run >> $LOG; {command}"})


def test_a_check_runs_once_on_the_files_where_the_work_began(room: Room) -> None:
    room.keeper.write({"add.sh": "echo 3\n"})
    base, green, red = room.open(), check("grep -q 0 add.sh"), check("grep -q 3 add.sh")
    base.start([green, red, red])
    answers = [base.check(each) for each in (red, green, red, green)]
    base.close()
    assert [answer.verified for answer in answers if answer] == [False, True, False, True]
    another = room.open()  # another task that began there
    another.start([green])
    found = another.check(green)
    assert found
    assert found.verified
    assert room.count() == 2
    assert room.repo.run("worktree", "list").count("\n") == 0


def test_a_new_test_tells_whether_it_fails_without_the_work(room: Room) -> None:
    base, tests = room.open(), check(TESTS)
    room.keeper.write({"add.sh": "echo 3\n", "notes.txt": "x"})
    assert base.check_with_new_tests(tests) is None
    room.keeper.write({"tests/test_add.sh": "grep -q 3 add.sh\n"})
    found = base.check_with_new_tests(tests)
    assert found
    assert not found.verified
    room.keeper.write({"tests/test_add.sh": "true\n"})
    room.verdicts = BaseVerdicts()
    found = room.open().check_with_new_tests(tests)
    assert found
    assert found.verified


def test_what_failed_for_want_of_dependencies_is_asked_again_with_them(room: Room) -> None:
    base, needs = room.open(), check("test -d node_modules/left-pad")
    found = base.check(needs)
    assert found
    assert not found.verified
    (Path(room.keeper.root) / "node_modules/left-pad").mkdir(parents=True)
    found = base.check(needs)
    assert found
    assert found.verified
    assert room.count() == 2


def test_a_check_that_nobody_waits_for_is_stopped(room: Room) -> None:
    base = room.open()
    base.start([check("sleep 60")])
    while not room.count():
        threading.Event().wait(0.01)
    base.close()
    assert room.verdicts.recall(base._key(check("sleep 60"))) is None


def test_who_is_to_stop_does_not_wait_for_the_base(room: Room) -> None:
    base, wanted = room.open(), check("sleep 60")
    base.start([wanted])
    room.inbox._cancelled = True
    found = base.check(wanted)
    base.close()
    assert found
    assert found.interrupted


def test_a_commit_that_is_gone_tells_nothing(room: Room) -> None:
    room.commit = "0" * 40
    assert room.open().check(check("true")) is None


def test_on_a_full_disk_a_check_that_was_green_before_does_not_count_as_new(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "a file")

    base, wanted = room.open(), check("true")
    with monkeypatch.context() as patch:
        patch.setattr(os, "mkdir", fail)
        base.start([wanted])
        with pytest.raises(DiskError, match="No space"):
            base.check(wanted)
    found = base.check(wanted)
    base.close()
    assert found
    assert found.verified


def test_a_checkout_that_finds_no_room_is_no_missing_commit(room: Room) -> None:
    room.repo.break_git("worktree", "fatal: could not create leading directories: No space left on device")
    room.repo.git = room.repo.make_users_git()
    with pytest.raises(DiskError, match="No space"):
        room.open().check(check("true"))
