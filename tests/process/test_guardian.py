"""What the guardian does where the kernel helps less."""

import os
import subprocess
import sys

import pytest

from ralph.process import guardian


@pytest.mark.skipif(not os.path.exists("/bin/ps"), reason="there is no /bin/ps here; only macOS needs it")
def test_both_ways_to_list_children_agree() -> None:
    with subprocess.Popen(["sleep", "60"]) as first, subprocess.Popen(["sleep", "60"]) as second:
        mine = os.getpid()
        assert {first.pid, second.pid} <= set(guardian.list_children_by_proc(mine))
        assert {first.pid, second.pid} <= set(guardian.list_children_by_ps(mine))
        assert guardian.list_children_by_ps(first.pid) == []
        first.kill()
        second.kill()


def test_what_is_spared_is_left_out_with_all_below_it() -> None:
    script = "sleep 60 & echo $!; wait"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert {parent.pid, child} <= set(guardian.list_descendants(os.getpid()))
        assert not {parent.pid, child} & set(guardian.list_descendants(os.getpid(), {parent.pid}))
        os.kill(child, 9)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("ralph run", True),
        ("/opt/bin/ralph supervise folder", True),
        ("setsid -f python -m ralph story run", True),
        ("specflow execute", True),
        ("ralph -m 3 -p prompt", True),
        ("ralph --version", False),
        ("ralph bus post", False),
        ("grep -r ralph", False),
        ("ralphs run", False),
    ],
)
def test_a_loop_is_known_by_its_words(words: str, expected: bool) -> None:  # 003-17
    with subprocess.Popen(["sh", "-c", "echo; read line", *words.split()], stdin=-1, stdout=-1) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert guardian.is_loop(process.pid) is expected
        process.communicate(b"\n")
    assert not guardian.is_loop(process.pid)


def test_windows_is_refused_with_a_hint() -> None:  # 003-11
    code = (
        "import sys; sys.platform = 'win32'; sys.argv = ['ralph', 'run'];"
        " from ralph.__main__ import main; sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "WSL2" in done.stderr
