import errno
import fcntl
import os
import re
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ralph.model.errors import Busy, UsageError
from ralph.model.message import PROJECT_BUS_FILE, TASK_BUS_FILE, BusUnusable, Message, NoSuchMessage, Parent
from ralph.stores import bus_files
from ralph.stores.bus import MAX_MESSAGE_CHARS, FileMessageBus

ID = re.compile(r"MSG-\d{8}-\d{6}-\d{9}-PID\d{5}-\d{4}")

# Posts forever or COUNT times; tells each id only when the post has returned.
WRITER = """
import sys
from pathlib import Path
from ralph.stores.bus import FileMessageBus
name, count, lines, rotate_at = sys.argv[2], *map(int, sys.argv[3:])
bus = FileMessageBus(Path(sys.argv[1]), rotate_at=rotate_at)
print("ready", flush=True)
sys.stdin.readline()
for n in range(count):
    body = "\\n".join([f"{name} {n}"] + ["---", "x" * 60] * (lines // 2))
    print(bus.post("FACT", body, project_id="p"), flush=True)
"""


@pytest.fixture
def bus(tmp_path: Path) -> FileMessageBus:
    return FileMessageBus(tmp_path / TASK_BUS_FILE)


def writer(path: Path, name: str, *, count: int, lines: int = 0, rotate_at: int = 1 << 30) -> "subprocess.Popen[str]":
    words = [sys.executable, "-c", WRITER, str(path), name, str(count), str(lines), str(rotate_at)]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def let_go(*writers: "subprocess.Popen[str]") -> None:
    """All at once, when the slowest has started."""
    for each in writers:
        assert each.stdout
        assert each.stdout.readline() == "ready\n"
    for each in writers:
        assert each.stdin
        each.stdin.write("\n")
        each.stdin.flush()


def told(each: "subprocess.Popen[str]") -> list[str]:
    """The ids it told, and its end."""
    output, _ = each.communicate()
    return [line for line in output.splitlines() if ID.fullmatch(line)]


def texts(messages: list[Message]) -> list[str]:
    return [message.body for message in messages]


def ids(messages: list[Message]) -> list[str]:
    return [message.msg_id for message in messages]


def never() -> bool:
    return False


def after(calls: int) -> Callable[[], bool]:
    """No, so many times; then yes."""
    left = iter([False] * calls)
    return lambda: next(left, True)


# -- one writer -----------------------------------------------------------------------------------
def test_what_is_posted_is_read(bus: FileMessageBus) -> None:  # §4 Bus entry
    msg_id = bus.post(
        "FACT", "hello", project_id="my-project", task_id="task-001", run_id="r", parents=[Parent("x", "blocks")]
    )
    (found,) = bus.read()
    assert ID.fullmatch(msg_id)
    assert (found.msg_id, found.type, found.body) == (msg_id, "FACT", "hello")
    assert (found.project_id, found.task_id, found.run_id) == ("my-project", "task-001", "r")
    assert found.parents == (Parent("x", "blocks"),)
    assert f"{found.ts:MSG-%Y%m%d-%H%M%S-%f}" == msg_id[:26]


def test_the_file_is_the_documented_one(bus: FileMessageBus) -> None:  # §4 Bus entry
    msg_id = bus.post("FACT", "one", project_id="p", task_id="t", run_id="r")
    bus.post("FACT", "two")
    (first, second) = bus.path.read_text().split("\n\n")
    lines = first.split("\n")
    assert lines[:2] == ["---", f"msg_id: {msg_id}"]
    assert re.fullmatch(r"ts: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", lines[2])
    assert lines[3:] == ["type: FACT", "project_id: p", "task_id: t", "run_id: r", "---", "one"]
    assert second.endswith("---\ntwo\n")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("FACT", "task completed (DONE marker present, no active children)"),  # 003-05
        ("ERROR", "max restarts exceeded"),  # 003-06
        ("WARNING", "agent failed on restart #1: exit code 1"),  # 003-09
        ("wait_without_restart", "Waiting for user input"),  # 003-13
        ("HOMEMADE", "kept"),
    ],
)
def test_the_messages_of_the_loop(tmp_path: Path, kind: str, body: str) -> None:
    bus = FileMessageBus(tmp_path / PROJECT_BUS_FILE)
    bus.post(kind, body)
    assert [(m.type, m.body) for m in bus.read()] == [(kind, body)]


def test_an_issue_has_its_own_id_as_issue_id(bus: FileMessageBus) -> None:  # §4 Bus entry
    issue, fact = bus.post("issue", "broken"), bus.post("FACT", "fine")
    assert [(m.msg_id, m.type, m.issue_id) for m in bus.read()] == [(issue, "ISSUE", issue), (fact, "FACT", "")]


def test_since_an_id_only_what_came_after(bus: FileMessageBus) -> None:
    first, _, third = bus.post("INFO", "1"), bus.post("INFO", "2"), bus.post("INFO", "3")
    assert texts(bus.read(since=first)) == ["2", "3"]
    assert texts(bus.read(since=third)) == []
    assert texts(bus.read(since=first, last=1)) == ["3"]


@pytest.mark.parametrize(("last", "expected"), [(1, ["4"]), (3, ["2", "3", "4"]), (99, ["0", "1", "2", "3", "4"])])
def test_the_last_few(bus: FileMessageBus, last: int, expected: list[str]) -> None:
    for n in range(5):
        bus.post("INFO", str(n))
    assert texts(bus.read(last=last)) == expected


def test_an_unknown_id_is_an_error(bus: FileMessageBus) -> None:  # §4 Bus entry
    with pytest.raises(NoSuchMessage, match="no message 'MSG-gone'"):
        bus.read(since="MSG-gone")
    bus.post("INFO", "x")
    with pytest.raises(NoSuchMessage):
        bus.read(since="MSG-gone")
    with pytest.raises(NoSuchMessage):
        next(bus.follow(never, since="MSG-gone"))


def test_a_bus_nobody_wrote_to_is_empty(tmp_path: Path) -> None:
    assert FileMessageBus(tmp_path / "BUS.md").read() == []
    assert FileMessageBus(tmp_path / "nowhere" / "BUS.md").read() == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["", " ", "two words", "a\nb", "---", "é", "x" * 65])
def test_a_type_is_one_word(bus: FileMessageBus, kind: str) -> None:
    with pytest.raises(UsageError, match="not a message type"):
        bus.post(kind, "x")


def test_a_body_has_a_largest_size(bus: FileMessageBus) -> None:
    bus.post("INFO", "x" * MAX_MESSAGE_CHARS)
    with pytest.raises(UsageError, match="at most"):
        bus.post("INFO", "x" * (MAX_MESSAGE_CHARS + 1))
    bus.post("INFO", "after a message larger than any window")
    assert [len(body) for body in texts(bus.read())] == [MAX_MESSAGE_CHARS, 38]


def test_text_that_is_no_unicode_is_posted_all_the_same(bus: FileMessageBus) -> None:
    bus.post("INFO", "a\udcff", project_id="b\udcff")
    assert [(m.body, m.project_id) for m in bus.read()] == [("a?", "b?")]


# -- what is no file ------------------------------------------------------------------------------
def symlink(path: Path) -> None:
    target = path.with_name("target")
    target.touch()
    path.symlink_to(target)


@pytest.mark.parametrize(
    ("make", "why"),
    [(symlink, "is a symlink"), (Path.mkdir, "is a directory"), (os.mkfifo, "is not a regular file")],
)
def test_only_a_plain_file_is_a_bus(
    bus: FileMessageBus, make: Callable[[Path], object], why: str
) -> None:  # §4 Bus entry
    make(bus.path)
    attempts: list[Callable[[], object]] = [lambda: bus.post("INFO", "x"), bus.read, lambda: next(bus.follow(never))]
    for attempt in attempts:
        with pytest.raises(BusUnusable, match=why):
            attempt()


def test_what_the_system_says_is_told(tmp_path: Path) -> None:
    with pytest.raises(BusUnusable, match=os.strerror(errno.ENAMETOOLONG)):
        FileMessageBus(tmp_path / ("x" * 300)).read()


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(BusUnusable, match="nowhere"):
        FileMessageBus(tmp_path / "nowhere" / TASK_BUS_FILE).post("INFO", "x")


# -- many writers ---------------------------------------------------------------------------------
def test_eight_processes_lose_nothing_and_tear_nothing(bus: FileMessageBus) -> None:  # §3 messagebus
    writers = [writer(bus.path, f"w{n}", count=50, lines=n * 2) for n in range(8)]
    let_go(*writers)
    posted = [told(each) for each in writers]
    found = bus.read()
    assert [len(some) for some in posted] == [50] * 8
    assert sorted(ids(found)) == sorted(each for some in posted for each in some)
    assert len(set(ids(found))) == 400
    for n in range(8):
        mine = [body for body in texts(found) if body.startswith(f"w{n} ")]
        assert mine == ["\n".join([f"w{n} {k}"] + ["---", "x" * 60] * n) for k in range(50)]
    assert ids(found) == sorted(ids(found))  # given under the lock: unless the clock is set back, in file order


def test_threads_lose_nothing_and_share_no_id(tmp_path: Path) -> None:
    def work(n: int) -> list[str]:
        bus = FileMessageBus(tmp_path / f"{n % 2}.md")
        return [bus.post("INFO", f"{n} {k}") for k in range(50)]

    with ThreadPoolExecutor(6) as pool:
        posted = [each for some in pool.map(work, range(6)) for each in some]
    assert len(set(posted)) == 300
    assert sorted(posted) == sorted(
        ids(FileMessageBus(tmp_path / "0.md").read() + FileMessageBus(tmp_path / "1.md").read())
    )


def test_ids_of_the_same_nanosecond_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time_ns", lambda: 1_770_285_600_123_456_789)
    one, two = (FileMessageBus(tmp_path / name).post("INFO", "x") for name in "ab")
    assert one != two
    assert one.startswith("MSG-20260205-100000-123456789-PID")


def test_a_killed_writer_takes_no_message_with_it_that_it_told_of(bus: FileMessageBus) -> None:  # §3 messagebus
    for round_ in range(4):
        victim, survivor = writer(bus.path, "victim", count=10_000, lines=400), writer(bus.path, "survivor", count=20)
        let_go(victim, survivor)
        assert victim.stdout
        heard = [victim.stdout.readline().strip() for _ in range(3 + 5 * round_)]
        victim.send_signal(signal.SIGKILL)
        heard += told(victim)
        others = told(survivor)
        assert victim.returncode == -signal.SIGKILL
        assert len(others) == 20
        bus.post("INFO", "after")
        found = bus.read()
        assert set(heard) | set(others) <= set(ids(found))
        assert all(body.count("\n") == 400 for body in texts(found) if body.startswith("victim"))


def test_the_lock_is_waited_for(bus: FileMessageBus) -> None:
    bus.post("INFO", "first")
    with bus.path.open() as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(bus.post, "INFO", "second")
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.1)
            fcntl.flock(holder, fcntl.LOCK_UN)
            waiting.result(timeout=60)
    assert texts(bus.read()) == ["first", "second"]


def test_a_lock_never_given_back_is_an_error_and_readers_do_not_care(
    bus: FileMessageBus, monkeypatch: pytest.MonkeyPatch
) -> None:  # §3 messagebus
    pauses: list[float] = []
    bus.post("INFO", "first")
    with bus.path.open() as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        monkeypatch.setattr("time.sleep", pauses.append)
        with pytest.raises(Busy, match="locked by another process"):
            FileMessageBus(bus.path, lock_seconds=0.001).post("INFO", "second")
        assert texts(bus.read()) == ["first"]
    assert [pause for pause in pauses if pause >= bus_files.LOCK_BACKOFF_SECONDS] == [0.1, 0.2]  # three tries


# -- crashes --------------------------------------------------------------------------------------
def test_a_torn_tail_is_not_read_and_the_next_post_repairs_it(bus: FileMessageBus) -> None:  # FACTS §6
    bus.post("INFO", "one\n\n---\n")
    whole = bus.path.read_bytes()
    bus.post("INFO", "torn\n\nin two")
    full = bus.path.read_bytes()
    for length in range(len(whole), len(full)):
        bus.path.write_bytes(full[:length])
        assert texts(bus.read()) == ["one\n\n---\n"]
        bus.post("INFO", "next")
        assert texts(bus.read()) == ["one\n\n---\n", "next"]


def test_a_torn_tail_larger_than_the_window_is_repaired(bus: FileMessageBus) -> None:
    bus.post("INFO", "one")
    bus.post("INFO", "x\n" * 50_000)
    os.truncate(bus.path, 60_000)
    bus.post("INFO", "two")
    assert texts(bus.read()) == ["one", "two"]
    assert bus.path.stat().st_size < 1000


def test_a_full_disk_leaves_the_bus_as_it_was(bus: FileMessageBus) -> None:  # FACTS §6
    bus.post("INFO", "one")
    before = bus.path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        for room in (1, 100):
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + room, limits[1]))
            with pytest.raises(BusUnusable, match="cannot write"):
                bus.post("INFO", "two\n" * 100)
            assert bus.path.read_bytes() == before
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    bus.post("INFO", "three")
    assert texts(bus.read()) == ["one", "three"]


def test_what_agents_write_by_hand_is_read_between_our_own(bus: FileMessageBus) -> None:  # 003-13
    bus.path.write_text("[2026-02-01 10:00:00] FACT: by hand")
    bus.post("INFO", "ours")
    with bus.path.open("a") as file:
        file.write("---\ntype: wait_without_restart\n---\nfor you")
    bus.post("INFO", "ours again")
    assert [(m.type, m.body) for m in bus.read()] == [
        ("FACT", "by hand"),
        ("INFO", "ours"),
        ("wait_without_restart", "for you"),
        ("INFO", "ours again"),
    ]


# -- large files ----------------------------------------------------------------------------------
def test_a_large_file_is_set_aside_and_still_read(tmp_path: Path) -> None:  # §3-13
    bus = FileMessageBus(tmp_path / TASK_BUS_FILE, rotate_at=1000)
    posted = [bus.post("INFO", f"message {n}") for n in range(40)]
    assert bus.path.stat().st_size < 1500
    assert (tmp_path / f"{TASK_BUS_FILE}.000001.archived").stat().st_size >= 1000
    assert len(list(tmp_path.iterdir())) > 5
    assert ids(bus.read()) == posted
    assert ids(bus.read(since=posted[3])) == posted[4:]
    assert ids(bus.read(last=15)) == posted[-15:]
    assert [each.msg_id for each in bus.follow(after(0), since=posted[10])] == posted[11:]


def test_between_setting_aside_and_the_next_post_the_bus_is_not_empty(bus: FileMessageBus) -> None:  # §3-13
    bus.post("INFO", "one")
    with bus_files.lock_bus_file(bus.path, 1) as fd:
        bus_files.archive_bus_file(fd, bus.path)
        assert not bus.path.exists()
        assert texts(bus.read()) == ["one"]
        bus.post("INFO", "two")  # whoever waited for the old file takes the new one
    assert texts(bus.read()) == ["one", "two"]


def test_what_is_set_aside_while_a_reader_opens_it_is_read_once(
    bus: FileMessageBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    bus.post("INFO", "one")
    listdir = os.listdir

    def late(folder: Path) -> list[str]:
        if not listdir(folder)[1:]:
            with bus_files.lock_bus_file(bus.path, 1) as fd:
                monkeypatch.setattr("os.listdir", listdir)
                bus_files.archive_bus_file(fd, bus.path)
            bus.post("INFO", "two")
        return listdir(folder)

    monkeypatch.setattr("os.listdir", late)
    assert texts(bus.read()) == ["one"]
    assert texts(bus.read()) == ["one", "two"]


def test_a_reader_never_sees_less_than_before_while_writers_rotate(tmp_path: Path) -> None:  # §3-13
    path = tmp_path / TASK_BUS_FILE
    writers = [writer(path, f"w{n}", count=60, rotate_at=2000) for n in range(3)]
    let_go(*writers)
    seen: list[str] = []
    while any(each.poll() is None for each in writers):
        now = ids(FileMessageBus(path).read())
        assert now[: len(seen)] == seen
        seen = now
    posted = sorted(each for some in map(told, writers) for each in some)
    assert len(posted) == 180
    assert sorted(ids(FileMessageBus(path).read())) == posted


# -- following ------------------------------------------------------------------------------------
def test_a_follower_sees_everything_once_and_in_order(tmp_path: Path) -> None:
    path = tmp_path / TASK_BUS_FILE
    ended = threading.Event()
    writers = [writer(path, f"w{n}", count=40, lines=2 * n, rotate_at=4000) for n in range(3)]
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(lambda: list(FileMessageBus(path).follow(ended.is_set, poll=0.001)))
        let_go(*writers)
        posted = [each for some in map(told, writers) for each in some]
        ended.set()
        seen = following.result(timeout=60)
    assert len(posted) == 120
    assert ids(seen) == ids(FileMessageBus(path).read())
    assert sorted(ids(seen)) == sorted(posted)


def test_a_follower_waits_for_the_whole_of_a_message(bus: FileMessageBus) -> None:
    bus.post("INFO", "one")
    whole = bus.path.read_bytes()
    bus.post("INFO", "two\nlines")
    full = bus.path.read_bytes()
    bus.path.write_bytes(whole)
    sizes = iter(range(len(whole), len(full) + 1))

    def grow() -> bool:
        size = next(sizes, None)
        if size is not None:
            with bus.path.open("r+b") as file:
                file.write(full[:size])
        return size is None

    assert texts(list(bus.follow(grow, poll=0))) == ["one", "two\nlines"]


def test_a_follower_of_a_torn_bus_goes_on_after_the_repair(bus: FileMessageBus) -> None:
    bus.post("INFO", "one")
    bus.post("INFO", "two\nlines")
    os.truncate(bus.path, bus.path.stat().st_size - 2)
    follower = bus.follow(never, poll=0)
    assert next(follower).body == "one"
    bus.post("INFO", "three")
    assert next(follower).body == "three"


def test_a_follower_may_be_first(bus: FileMessageBus) -> None:
    coming = iter(["", "", "one", "", "two"])

    def post() -> bool:
        body = next(coming, None)
        if body:
            bus.post("INFO", body)
        return body is None

    assert texts(list(bus.follow(post, poll=0))) == ["one", "two"]


def test_a_follower_survives_a_bus_that_is_replaced(bus: FileMessageBus, tmp_path: Path) -> None:
    bus.post("INFO", "one")
    bus.post("INFO", "two")
    follower = bus.follow(never, poll=0)
    assert [next(follower).body, next(follower).body] == ["one", "two"]
    copy = tmp_path / "copy"
    copy.write_bytes(bus.path.read_bytes())  # as an editor saves
    copy.rename(bus.path)
    bus.post("INFO", "three")
    assert next(follower).body == "three"
    bus.path.unlink()
    bus.post("INFO", "four")
    assert next(follower).body == "four"
    os.truncate(bus.path, 0)
    bus.post("INFO", "5")
    assert next(follower).body == "5"
