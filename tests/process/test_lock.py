"""One run a work tree."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ralph.process.identity import ProcessIdentity, identify_process, identify_self, is_alive
from ralph.process.lock import WorkTreeLock, find_lock_holder
from support.processes import wait_until


def test_the_second_is_told_who_holds_it(tmp_path: Path) -> None:
    path = str(tmp_path / "locks" / "x")
    first, second = WorkTreeLock(path), WorkTreeLock(path)
    assert first.acquire("run-1") is None
    holder = second.acquire("run-2")
    assert holder is not None
    assert (holder.run, holder.identity) == ("run-1", identify_self())
    assert find_lock_holder(path) == holder
    first.release()
    assert find_lock_holder(path) is None
    assert second.acquire("run-2") is None
    second.release()


def test_a_killed_holder_frees_it(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    code = (
        "import sys, time; from ralph.process.lock import WorkTreeLock; held = WorkTreeLock(sys.argv[1]);"
        " print(held.acquire('r'), flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert WorkTreeLock(path).acquire("mine") is not None
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert find_lock_holder(path) is None
    assert WorkTreeLock(path).acquire("mine") is None


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_what_cannot_be_written_is_not_held() -> None:
    for _ in range(2):
        with pytest.raises(OSError, match=r"/dev/full|Invalid argument|No space"):
            WorkTreeLock("/dev/full").acquire("run-1")


def test_an_identity_is_more_than_a_pid() -> None:
    me = identify_self()
    assert is_alive(me)
    assert not is_alive(ProcessIdentity(me.pid, me.ticks + 1, me.boot))
    assert not is_alive(ProcessIdentity(me.pid, me.ticks, "another boot"))


def test_remains_are_not_alive() -> None:
    child = os.posix_spawn("/bin/true", ["true"], {})
    assert wait_until(lambda: identify_process(child) is None)  # a zombie until we wait
    os.waitpid(child, 0)
    assert identify_process(child) is None
