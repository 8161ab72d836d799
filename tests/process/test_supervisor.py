"""Real children: started, heard, ended, and proven gone."""

import os
import signal
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.model.command import ENOUGH_OUTPUT, FINAL_OUTPUT, Command, CommandExit
from ralph.model.errors import MachineError
from ralph.process.supervisor import Supervisor
from support.processes import find_processes_with, wait_until
from support.quiet_inbox import QuietInbox

VARIABLES = {"PATH": os.environ["PATH"]}


@pytest.fixture
def inbox() -> Iterator[QuietInbox]:
    made = QuietInbox()
    yield made
    made.close()


@pytest.fixture
def supervisor(inbox: QuietInbox) -> Iterator[Supervisor]:
    made = Supervisor(inbox)
    yield made
    made.close()


def shell(script: str, stdin: bytes = b"", **limits: float) -> Command:
    return Command(argv=("/bin/sh", "-c", script), environment=VARIABLES, cwd="/", stdin=stdin, **limits)  # type: ignore[arg-type]


def heard(supervisor: Supervisor, command: Command) -> tuple[CommandExit, bytes, bytes]:
    out, err = bytearray(), bytearray()
    return supervisor.run(command, out.extend, err.extend), bytes(out), bytes(err)


def test_output_errors_and_exit_code_are_told(supervisor: Supervisor) -> None:
    exited, out, err = heard(supervisor, shell("echo out; echo err >&2; exit 3"))
    assert (exited.code, exited.ending, out, err) == (3, "exited", b"out\n", b"err\n")


def test_nothing_is_started_while_a_stop_is_wanted(supervisor: Supervisor, inbox: QuietInbox, tmp_path: Path) -> None:
    inbox.grace = 0.3
    assert heard(supervisor, shell(f"touch {tmp_path}/begun"))[0].ending == "stopped"
    inbox.grace = None
    assert heard(supervisor, shell("echo next"))[1] == b"next\n"
    assert not (tmp_path / "begun").exists()


def test_a_signal_is_a_negative_code(supervisor: Supervisor) -> None:
    assert heard(supervisor, shell("kill -SEGV $$"))[0].code == -signal.SIGSEGV


def test_merged_streams_keep_their_order(supervisor: Supervisor) -> None:  # 001-19
    script = "for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done"
    _, out, err = heard(
        supervisor, Command(argv=("/bin/sh", "-c", script), environment=VARIABLES, cwd="/", merged=True)
    )
    assert out == b"o1\ne1\no2\ne2\no3\ne3\no4\ne4\no5\ne5\n"
    assert err == b""


def test_a_large_stdin_needs_no_writer(supervisor: Supervisor) -> None:
    _, out, _ = heard(supervisor, shell("wc -c", b"x" * 5_000_000))
    assert int(out) == 5_000_000


def test_without_stdin_there_is_nothing_to_wait_for(supervisor: Supervisor) -> None:
    assert heard(supervisor, shell("cat"))[1] == b""


@pytest.mark.parametrize(("argv", "folder"), [(("/no/such/program",), "/"), (("/bin/true",), "/no/such/folder")])
def test_what_cannot_start_says_why(supervisor: Supervisor, argv: tuple[str, ...], folder: str) -> None:
    exited = supervisor.run(Command(argv=argv, environment=VARIABLES, cwd=folder), len, len)
    assert (exited.ending, exited.error) == ("not_started", "No such file or directory")


def test_a_huge_argument_is_an_error_not_a_crash(supervisor: Supervisor) -> None:
    exited = supervisor.run(Command(argv=("/bin/true", "x" * 3_000_000), environment=VARIABLES, cwd="/"), len, len)
    assert (exited.ending, exited.error) == ("not_started", "Argument list too long")
    assert heard(supervisor, shell("echo fine"))[1] == b"fine\n"


def test_a_flood_on_stderr_does_not_block(supervisor: Supervisor) -> None:
    _, out, err = heard(supervisor, shell("head -c 20000000 /dev/zero >&2; echo done"))
    assert out == b"done\n"
    assert len(err) == 20_000_000


def test_a_grandchild_that_holds_the_pipe_is_ended(supervisor: Supervisor) -> None:
    token = uuid.uuid4().hex
    exited, out, _ = heard(supervisor, shell(f"echo hi; setsid sh -c 'sleep 60; : {token}' {token} & exit 0"))
    assert (exited.code, out) == (0, b"hi\n")
    assert exited.seconds < 2
    assert not find_processes_with(token)


def test_a_grandchild_that_ignores_term_is_killed(supervisor: Supervisor) -> None:
    token = uuid.uuid4().hex
    deaf = f"setsid sh -c 'trap \"\" TERM INT HUP; echo up; while :; do sleep 0.05; done' {token} & sleep 0.2"
    exited, _, _ = heard(supervisor, shell(deaf))
    assert exited.seconds < 2
    assert not find_processes_with(token)


def test_a_time_limit_ends_the_tree(supervisor: Supervisor) -> None:  # 001-34, 003-12
    token = uuid.uuid4().hex
    exited, _, _ = heard(supervisor, shell(f"setsid sh -c 'sleep 60; :' {token} & sleep 60", timeout=0.3))
    assert exited.ending == "timed_out"
    assert exited.code in (-signal.SIGTERM, 128 + signal.SIGTERM)  # its last child's end may reach the shell first
    assert exited.seconds < 3
    assert not find_processes_with(token)


def test_silence_is_noticed_and_chatter_is_not_silence(supervisor: Supervisor) -> None:
    assert heard(supervisor, shell("echo a; sleep 60", idle_timeout=0.3))[0].ending == "idle"
    chatty = heard(supervisor, shell("for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.1; done", idle_timeout=0.6))[0]
    assert (chatty.ending, chatty.code) == ("exited", 0)


def test_a_reader_that_has_enough_ends_the_tree(supervisor: Supervisor) -> None:
    exited = supervisor.run(shell("echo a; sleep 60 & sleep 60"), lambda data: ENOUGH_OUTPUT, len)
    assert exited.ending == "enough"
    assert exited.seconds < 5


def test_what_is_forked_while_the_tree_ends_is_asked_to_end_too(supervisor: Supervisor) -> None:
    script = "trap 'sleep 60 & exit' TERM; echo a; while :; do sleep 0.05; done"
    exited = supervisor.run(shell(script), lambda data: ENOUGH_OUTPUT, len)
    assert exited.ending == "enough"
    assert exited.seconds < 4  # of the five it would have


def test_what_puts_things_in_order_at_the_end_is_left_alone(supervisor: Supervisor, tmp_path: Path) -> None:
    script = f"trap 'sh -c \"sleep 0.3; touch {tmp_path}/tidy\"; exit' TERM; echo a; while :; do sleep 0.05; done"
    supervisor.run(shell(script), lambda data: ENOUGH_OUTPUT, len)
    assert (tmp_path / "tidy").exists()


def last_word(data: bytes) -> str | None:
    return FINAL_OUTPUT if data.endswith(b"bye\n") else None


def test_silence_after_the_last_word_ends_the_tree(supervisor: Supervisor) -> None:
    token = uuid.uuid4().hex
    script = f"setsid sh -c 'sleep 60; :' {token} & echo bye; sleep 60"
    exited = supervisor.run(shell(script, linger=0.3), last_word, len)
    assert exited.ending == "lingered"
    assert exited.seconds < 3
    assert not find_processes_with(token)


def test_without_a_last_word_silence_may_last(supervisor: Supervisor) -> None:
    for script in ("echo hi; sleep 0.8", "echo bye; sleep 0.1; echo no; sleep 0.8"):
        exited = supervisor.run(shell(script, linger=0.3), last_word, len)
        assert (exited.ending, exited.code) == ("exited", 0)


@pytest.mark.parametrize("line", ["echo bye", "echo oops >&2"])
def test_every_word_after_the_last_one_begins_the_silence_anew(supervisor: Supervisor, line: str) -> None:
    script = f"echo bye; for i in 1 2 3 4 5 6; do sleep 0.2; {line}; done"
    exited = supervisor.run(shell(script, linger=0.6), last_word, len)
    assert (exited.ending, exited.code) == ("exited", 0)
    exited = supervisor.run(shell(f"{script}; sleep 60", linger=0.6), last_word, len)
    assert exited.ending == "lingered"


def test_an_idle_limit_that_is_shorter_holds_after_the_last_word_too(supervisor: Supervisor) -> None:
    exited = supervisor.run(shell("echo bye; sleep 60", linger=30.0, idle_timeout=0.3), last_word, len)
    assert exited.ending == "lingered"
    assert exited.seconds < 3


def test_a_wish_to_stop_ends_the_child_now(supervisor: Supervisor, inbox: QuietInbox) -> None:
    inbox.stop_after = 0.2
    exited, _, _ = heard(supervisor, shell("trap '' TERM; sleep 60 & wait; while :; do sleep 0.05; done"))
    assert exited.ending == "stopped"
    assert exited.seconds < 5


def test_children_inherit_only_what_they_are_given(supervisor: Supervisor) -> None:
    script = (
        "ls /proc/self/fd | wc -l; grep -E 'SigIgn|SigBlk' /proc/self/status; env | cut -d= -f1 | sort | tr '\\n' ' '"
    )
    _, out, _ = heard(supervisor, shell(script))
    words = out.decode().split()
    assert words[0] == "4"  # three streams and ls's own
    assert all(int(mask, 16) & ~0x180000000 == 0 for mask in (words[2], words[4]))  # 32 and 33 are glibc's own
    assert "CLAUDECODE" not in words
    assert set(words[5:]) <= {"PATH", "PWD", "OLDPWD", "SHLVL", "_"}


def test_a_child_has_a_session_of_its_own(supervisor: Supervisor) -> None:
    _, out, _ = heard(supervisor, shell(f"{sys.executable} -c 'import os; print(os.getsid(0), os.getpid())'; echo $$"))
    session, _, pid = out.split()
    assert session == pid


def test_a_guardian_killed_between_commands_costs_nothing(supervisor: Supervisor) -> None:
    os.kill(supervisor.guardian_pid, signal.SIGKILL)
    time.sleep(0.05)
    assert heard(supervisor, shell("echo fine"))[1] == b"fine\n"


def test_a_guardian_killed_during_a_command_leaves_nothing(supervisor: Supervisor) -> None:
    token = uuid.uuid4().hex
    guardian = supervisor.guardian_pid

    def kill(data: bytes) -> None:
        os.kill(guardian, signal.SIGKILL)

    script = f"setsid sh -c 'trap \"\" TERM; sleep 60; :' {token} & echo up; sleep 60"
    exited = supervisor.run(shell(script), kill, len)
    assert exited.error == "its guardian was killed"
    assert wait_until(lambda: not find_processes_with(token))
    assert heard(supervisor, shell("echo again"))[1] == b"again\n"


def test_guardians_that_are_all_killed_as_they_start_are_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor = Supervisor(QuietInbox(), spared=tuple)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    os.kill(supervisor.guardian_pid, signal.SIGKILL)
    told = set()
    for _ in range(5):  # it dies before it is asked, or while it is
        try:
            told.add(supervisor.run(shell("echo never"), len, len).error)
        except MachineError as error:
            told.add(str(error))
        time.sleep(0.02)
    assert told <= {"its guardian was killed", "ralph's guardian process is killed whenever it starts"}
    monkeypatch.undo()
    assert heard(supervisor, shell("echo fine"))[1] == b"fine\n"
    supervisor.close()


def test_many_commands_in_a_row_leak_nothing(supervisor: Supervisor) -> None:
    heard(supervisor, shell("true"))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        assert heard(supervisor, shell("true"))[0].code == 0
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_stop_that_crosses_the_childs_own_end_does_not_hurt_the_next(
    supervisor: Supervisor, inbox: QuietInbox
) -> None:
    for _ in range(20):
        inbox.grace = 0.05
        heard(supervisor, shell("true"))
        inbox.grace = None
        exited, out, _ = heard(supervisor, shell("sleep 0.08; echo whole"))
        assert (exited.ending, out) == ("exited", b"whole\n")


def test_what_is_spared_outlives_the_child_but_not_the_guardian(inbox: QuietInbox, tmp_path: Path) -> None:  # 003-05
    kept, lost = uuid.uuid4().hex, uuid.uuid4().hex
    note = tmp_path / "pid"
    supervisor = Supervisor(inbox, spared=lambda: [int(note.read_text())] if note.exists() else [])
    script = (
        f"setsid sh -c 'echo $$ > {note}; sleep 60; :' {kept} & setsid sh -c 'sleep 60; :' {lost} &"
        f" while [ ! -s {note} ]; do sleep 0.01; done"
    )
    exited, _, _ = heard(supervisor, shell(script))
    assert exited.code == 0
    assert find_processes_with(kept)
    assert not find_processes_with(lost)
    assert heard(supervisor, shell("echo next"))[1] == b"next\n"
    assert find_processes_with(kept)
    supervisor.close()
    assert not find_processes_with(kept)


def test_who_writes_on_after_its_output_was_heard_sees_that_nobody_reads(inbox: QuietInbox, tmp_path: Path) -> None:
    """What outlives its agent must not hang because the guardian could still read what it prints."""
    log = os.open(tmp_path / "log", os.O_RDWR | os.O_CREAT)
    waits = "trap '' PIPE; while echo more; do sleep 0.05; done; touch refused"
    argv = ("/bin/sh", "-c", f"({waits}) & echo $! > pid")
    made = Supervisor(inbox, spared=lambda: [int((tmp_path / "pid").read_text())])
    made.run(Command(argv=argv, environment=VARIABLES, cwd=str(tmp_path), log_fd=log), len, len)
    assert wait_until((tmp_path / "refused").exists)
    made.close()
    os.close(log)
