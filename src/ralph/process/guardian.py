"""The guardian: one small process a loop that starts children on request and proves them gone.

It runs as `python -I -S`, single-threaded; its stdin is the control socket, and that is also its life line: end of
file means the harness died, and then everything below us is ended. We are a subreaper, so whatever loses its
parent becomes our child, and "nothing left" is what the kernel says (waitpid: ECHILD), never what a scan saw.

A request is `length:u32` and fields joined by NUL, which neither an argument nor the environment can contain:
    cleanup, number of arguments, *arguments, *environment           to run once the next child and all it left are
                                                                     gone, also when the harness is
    spawn, folder, number of arguments, *arguments, *environment     with stdin, stdout and stderr as SCM_RIGHTS
    stop, seconds of grace between TERM and KILL                     everything below us
    keep                                                             with the reading end of the next child's output
                                                                     and its log as SCM_RIGHTS: what is still unread
                                                                     when the harness dies is put into the log
    heard                                                            all of it was read
    hold                                                             from now on, leave it to `sweep` to end the rest
    sweep, *pids                                                     end what a child left behind, but not these, nor
                                                                     a loop of ralph's own that is about to start
A reply is a line: `failed ERRNO`, `exited CODE`, `empty` (once after each spawn). There is no `started`: it would
wake the harness just when the child wants the core.
Only C modules are imported: socket, signal, enum and typing would double the time to start.
"""

import _signal  # type: ignore[import-not-found]  # the C half of signal has no stub
import _socket
import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

STRAGGLER_GRACE_SECONDS = 0.4  # between TERM and KILL for what a child left behind
CLEANUP_SECONDS = 20.0  # for what ends a container: a service that does not answer holds nobody up for longer
STANDARD_STREAM_COUNT = 3
KEPT_COUNT = 2  # where output is read, where it is put
PR_SET_CHILD_SUBREAPER = 36
PF_FORKNOEXEC = 0x40  # of the kernel: forked, but still the program of its parent
EXEC_POLL_SECONDS = 0.02
MAX_EXEC_POLLS = 25  # what has not become another program by then never will
CLOSE_ON_EXEC: int = getattr(_socket, "MSG_CMSG_CLOEXEC", 0)
RESTORED_SIGNALS = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGPIPE, _signal.SIGXFSZ, _signal.SIGCHLD)


IS_LINUX = sys.platform.startswith("linux")
LOOP_COMMANDS = (b"run", b"supervise", b"execute", b"story")
SHORT_OPTIONS = (b"-v", b"--version", b"-h", b"--help")  # any other option in the place of a command is `ralph run`


def become_subreaper() -> bool:
    """Have orphans below us become our children. Only Linux can; elsewhere stopping is best effort."""
    if not IS_LINUX:
        return False
    import ctypes

    return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def list_children(pid: int) -> list[int]:
    """Direct children of all its threads, those that ended unwaited-for included."""
    return list_children_by_proc(pid) if IS_LINUX else list_children_by_ps(pid)


def list_children_by_ps(pid: int) -> list[int]:
    """As a snapshot of all processes shows them, where there is no /proc."""
    heard, says = os.pipe()
    onto = [(os.POSIX_SPAWN_DUP2, says, 1)]
    lister = os.posix_spawn("/bin/ps", ["ps", "-axo", "pid=,ppid="], {}, file_actions=onto)
    os.close(says)
    with open(heard, "rb") as listing:
        rows = [line.split() for line in listing.read().splitlines()]
    try:
        os.waitpid(lister, 0)
    except ChildProcessError:
        pass
    return [int(row[0]) for row in rows if len(row) == 2 and int(row[1]) == pid and int(row[0]) != lister]


def list_children_by_proc(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb", buffering=0) as listing:
                found += map(int, listing.read().split())
    except OSError:
        pass  # it ended while we looked
    return found


def list_descendants(pid: int, spared: "Container[int]" = ()) -> list[int]:
    """Everything below, parents before children; what is spared is left out with all below it."""
    found = [child for child in list_children(pid) if child not in spared]
    for child in found:
        found += [below for below in list_children(child) if below not in spared]
    return found


def read_words(pid: int) -> list[bytes]:
    """Its command line; empty when it is gone, or between two programs."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as file:
            return file.read().split(b"\0")[:-1]
    except OSError:
        return []


def is_loop(pid: int) -> bool:
    """Whether it is a loop of ralph's own, or what will become one: `setsid` and its like carry the words, and so does
    what they fork. So a loop is known from the moment it is spawned; it tells of itself only later."""
    words = read_words(pid)
    return any(
        word.rpartition(b"/")[2] in (b"ralph", b"specflow")
        and (verb in LOOP_COMMANDS or (verb[:1] == b"-" and verb not in SHORT_OPTIONS))
        for word, verb in zip(words, words[1:])  # noqa: B905, RUF007  # without itertools
    )


def is_sandbox(pid: int) -> bool:
    """Whether it only waits for the command it holds, and ends by itself when that does."""
    try:
        with open(f"/proc/{pid}/comm", "rb") as file:
            return file.read() == b"bwrap\n"
    except OSError:
        return False


def has_yet_to_exec(pid: int) -> bool:
    """Whether it was forked and is still the program of its parent, handlers of signals included."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            state, _, _, _, _, _, flags, *_ = file.read().rpartition(b")")[2].split()
    except (OSError, ValueError):
        return False  # gone
    return state not in (b"Z", b"X") and bool(int(flags) & PF_FORKNOEXEC)


def send_signal(pid: int, number: int) -> None:
    """To one process. Whether it worked is for the proof to say: it may be gone, or not ours to signal."""
    try:
        os.kill(pid, number)
    except OSError:
        pass


def end_children(nothing_left: "Callable[[], bool]", spared: "Container[int]" = ()) -> None:
    """KILL direct children until none is left. Only they: their pids cannot be reused before we waited for them, and
    what hides deeper or keeps forking surfaces as a direct child when its parent dies."""
    rounds, me = 0, os.getpid()
    while not nothing_left():
        for pid in list_children(me):
            if pid not in spared:
                send_signal(pid, _signal.SIGKILL)
        rounds += 1
        time.sleep(0 if rounds < 200 else 0.001 if rounds < 2000 else 0.05)


class Guardian:
    """The state of one guardian process."""

    def __init__(self, control: "_socket.socket", orphan_grace: float) -> None:
        self.control = control
        self.orphan_grace = orphan_grace  # for the whole tree, when the harness died
        self.received = bytearray()
        self.streams: list[int] = []
        self.kept: list[int] = []
        self.running: set[int] = set()  # what we started and has not ended
        self.groups: set[int] = set()  # of all we started since we were last empty
        self.occupied = False  # something was started since we last said "empty"
        self.kill_at: float | None = None
        self.signalled: set[int] = set()  # who was asked to end
        self.exec_polls = 0  # how often we looked for orphans that are about to become another program
        self.looks_again = False  # there are some
        self.orphaned = False
        self.waits_for_sweep = False  # the harness says what of a child's remains is to be spared
        self.is_sweep_due = True  # it has said so
        self.spared: set[int] = set()  # changed in place: who ends others looks at it all the time
        self.spares_loops = False
        self.cleanup: list[bytes] = []  # what ends the remains of a child that are none of our processes
        self.cleans_up = False  # it is running, and nobody stops it
        self.news: list[str] = []

    def serve(self) -> None:
        """Until the harness is gone and nothing is left."""
        woken, wakes = os.pipe()
        os.set_blocking(woken, False)
        os.set_blocking(wakes, False)
        _signal.signal(_signal.SIGCHLD, _ignore_signal)
        _signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(woken, select.POLLIN)
        while self.occupied or not self.orphaned:
            ready = {fd for fd, _ in poll.poll(self.find_poll_milliseconds())}
            if woken in ready:
                os.read(woken, 4096)
            if 0 in ready and not self.receive():
                poll.unregister(self.control)
                self.orphaned = True
                self.save_unread()
                self.spare_nothing()
                self.occupied = self.occupied or not self.reap_children()  # what was spared goes too
                self.terminate(self.orphan_grace)
            self.settle()
            self.report()

    def find_poll_milliseconds(self) -> float | None:
        if self.kill_at is None:
            return None
        seconds = max(0.0, self.kill_at - time.monotonic())
        return min(seconds, EXEC_POLL_SECONDS if self.looks_again else seconds) * 1000

    def receive(self) -> bool:
        """Take what has come; false at the end of the life line."""
        space = _socket.CMSG_SPACE(4 * STANDARD_STREAM_COUNT)
        try:
            data, ancillary, _, _ = self.control.recvmsg(1 << 16, space, CLOSE_ON_EXEC)
        except ConnectionError:
            return False
        for _, _, fds in ancillary:
            self.streams += [int.from_bytes(fds[at : at + 4], sys.byteorder) for at in range(0, len(fds), 4)]
        self.received += data
        while len(self.received) >= 4 and len(self.received) >= (end := 4 + int.from_bytes(self.received[:4], "big")):
            kind, *fields = bytes(self.received[4:end]).split(b"\0")
            del self.received[:end]
            if kind == b"spawn":
                self.spawn(fields)
            elif kind == b"cleanup":
                self.cleanup = fields
            elif kind == b"stop":
                self.spare_nothing()
                self.terminate(float(fields[0]))
            elif kind == b"hold":
                self.waits_for_sweep = True
            elif kind == b"keep":
                self.drop_kept()
                self.kept, self.streams = self.streams[:KEPT_COUNT], self.streams[KEPT_COUNT:]
            elif kind == b"heard":
                self.drop_kept()
            else:
                self.spare_nothing()
                self.spared.update(map(int, filter(None, fields)))
                self.spares_loops = True
        return bool(data)

    def spawn(self, fields: list[bytes]) -> None:
        """Start a child in a session of its own."""
        folder, count, words = fields[0], int(fields[1]), fields[2:]
        argv, environment = words[:count], dict(pair.split(b"=", 1) for pair in words[count:])
        streams, self.streams = self.streams[:STANDARD_STREAM_COUNT], self.streams[STANDARD_STREAM_COUNT:]
        onto = [(os.POSIX_SPAWN_DUP2, fd, target) for target, fd in enumerate(streams)]
        if not self.occupied:
            self.kill_at = None  # a stop that came too late for the last child is not meant for this one
        try:
            os.chdir(folder)
            pid = os.posix_spawn(
                argv[0], argv, environment, file_actions=onto, setsid=True, setsigmask=(), setsigdef=RESTORED_SIGNALS
            )
        except OSError as error:
            self.cleanup = []
            self.news.append(f"failed {error.errno}")
        else:
            self.running.add(pid)
            self.groups.add(pid)
            self.occupied = True
            self.is_sweep_due, self.spares_loops = not self.waits_for_sweep, False
        finally:
            os.chdir("/")
            for fd in streams:
                os.close(fd)

    def save_unread(self) -> None:
        """What an agent reported and the harness had no time to read. Whoever prints more sees that nobody reads."""
        if len(self.kept) == KEPT_COUNT:
            unread, log = self.kept
            os.set_blocking(unread, False)
            try:
                while data := os.read(unread, 1 << 16):
                    os.write(log, data)
            except OSError:
                pass  # that was all of it, or the disk is full
        self.drop_kept()

    def drop_kept(self) -> None:
        for fd in self.kept:
            os.close(fd)
        self.kept = []

    def start_cleanup(self) -> bool:
        """Whether there was something to run, and it runs."""
        fields, self.cleanup = self.cleanup, []
        if not fields:
            return False
        count, words = int(fields[0]), fields[1:]
        argv, environment = words[:count], dict(pair.split(b"=", 1) for pair in words[count:])
        nowhere = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(STANDARD_STREAM_COUNT)]
        try:
            os.posix_spawn(
                argv[0], argv, environment, file_actions=nowhere, setsid=True, setsigmask=(), setsigdef=RESTORED_SIGNALS
            )
        except OSError:
            return False  # the program is gone, and with it the way to what is left
        self.kill_at = time.monotonic() + CLEANUP_SECONDS
        self.cleans_up = True
        return True

    def terminate(self, grace: float) -> None:
        """TERM to all, the deepest first: who loses its parent in between would slip out of the walk."""
        if self.cleans_up:
            return
        self.kill_at = time.monotonic() + grace
        self.signalled.clear()
        self.exec_polls, self.looks_again = 0, False
        self.spare_loops()
        self.ask_to_end(reversed(list_descendants(os.getpid(), self.spared)))
        if not IS_LINUX:
            self.signal_groups(_signal.SIGTERM)

    def ask_to_end(self, pids: "Iterable[int]") -> None:
        for pid in pids:
            # What is between two programs may be a loop in a moment. bubblewrap takes all that is in it along, at once.
            if (not self.spares_loops or read_words(pid)) and not is_sandbox(pid):
                send_signal(pid, _signal.SIGTERM)
                self.signalled.add(pid)

    def terminate_orphans(self) -> None:
        """The same for what was forked while we walked, once its parent is gone. What a parent that lives starts to
        put things in order is left to it. One that has yet to become its own program would take the signal for its
        parent's handler and forget it: it is asked a moment later."""
        known = self.signalled | self.running | self.spared
        orphans = [pid for pid in list_children(os.getpid()) if pid not in known]
        self.exec_polls += 1
        unready = {pid for pid in orphans if has_yet_to_exec(pid)} if self.exec_polls <= MAX_EXEC_POLLS else set()
        self.looks_again = bool(unready)
        self.ask_to_end(pid for pid in orphans if pid not in unready)

    def spare_nothing(self) -> None:
        self.spared.clear()
        self.is_sweep_due, self.spares_loops = True, False

    def spare_loops(self) -> None:
        """Loops that agents have begun to start, also those that came up since the harness looked."""
        if self.spares_loops:
            self.spared.update([pid for pid in list_descendants(os.getpid(), self.spared) if is_loop(pid)])

    def signal_groups(self, number: int) -> None:
        """Where orphans do not come to us, those that stayed in their child's group are still found."""
        for pid in self.groups:
            try:
                os.killpg(pid, number)
            except OSError:
                pass  # nobody of it is left

    def reap_children(self) -> bool:
        """Collect what has ended. True when the kernel says that no child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if pid == 0:
                return False
            if pid in self.running:
                self.running.remove(pid)
                self.news.append(f"exited {os.waitstatus_to_exitcode(status)}")

    def reap_unspared(self) -> bool:
        """As `reap_children`; where something is spared the kernel cannot say so, and we look twice."""
        if self.reap_children():
            return True
        self.spare_loops()
        me = os.getpid()
        return bool(self.spared) and all(self.spared.issuperset(list_children(me)) for _ in range(2))

    def settle(self) -> None:
        """End what a finished child left behind, KILL what outlived its grace, say when all is gone."""
        empty = self.reap_unspared()
        if not empty and not self.running and self.kill_at is None and self.is_sweep_due:
            self.terminate(STRAGGLER_GRACE_SECONDS)
        elif not empty and self.kill_at is not None and not self.cleans_up:
            self.terminate_orphans()
        if not empty and self.kill_at is not None and time.monotonic() >= self.kill_at:
            self.report()
            if not IS_LINUX:
                self.signal_groups(_signal.SIGKILL)
            end_children(self.reap_unspared, self.spared)
            empty = True
        if empty:
            self.kill_at = None
            self.cleans_up = False
            self.groups.clear()
            if self.occupied and not self.start_cleanup():
                self.occupied = False
                self.news.append("empty")

    def report(self) -> None:
        """Tell the harness what is new."""
        if self.news:
            try:
                self.control.sendall(("\n".join(self.news) + "\n").encode())
            except OSError:
                pass  # it is gone; receive() will see that
            self.news.clear()


def _ignore_signal(number: int, frame: object) -> None:
    """A handler, so that the signal wakes the poll."""


def main() -> None:
    for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
        _signal.signal(number, _signal.SIG_IGN)  # only the control socket commands us
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # posix_spawn closes nothing: what our user's shell left open ends here
    become_subreaper()
    os.chdir("/")
    Guardian(_socket.socket(fileno=0), float(sys.argv[2])).serve()
    os._exit(0)  # the harness waits for this
