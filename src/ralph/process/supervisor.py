"""The harness's side of the guardian: start a child, pump its output, know how it ended and that it is gone."""

import _socket
import fcntl
import os
import select
import sys
import time
from array import array
from collections.abc import Callable, Iterable
from contextlib import suppress
from errno import EBADF, EPIPE

from msgspec.structs import replace

from ralph.model.command import GUARDIAN_KILLED, Command, CommandExit
from ralph.model.errors import MachineError
from ralph.model.ports import Inbox
from ralph.process.child_state import ChildState, OutputSink
from ralph.process.guardian import become_subreaper, end_children, list_children
from ralph.process.spawner import GuardianHandle, start_guardian

PIPE_BUFFER_BYTES = 1 << 20
RESERVED_HEAP_BYTES = 4 << 20
STOP_GRACE_SECONDS = 5.0
GUARDIAN_TRIES = 3  # killed so often as it starts, it will be killed again


class GuardianLost(Exception):
    """The guardian died. What it had started came to us and has been ended."""


class Supervisor:
    """Runs one command at a time through its guardian; a new guardian takes the place of a lost one."""

    def __init__(
        self,
        inbox: Inbox,
        guardian: GuardianHandle | None = None,
        *,
        on_tick: Callable[[], object] = int,
        spared: Callable[[], Iterable[int]] | None = None,
        sibling_guardians: set[int] | None = None,
        is_pause_wanted: Callable[[], bool] = bool,
    ) -> None:
        """`sibling_guardians`: those of all loops in this process, shared between them; `is_pause_wanted`: whether a
        command that is pausable has to end; asked often."""
        self._is_pause_wanted = is_pause_wanted
        self._sibling_guardians = set() if sibling_guardians is None else sibling_guardians
        # Freed at once: from now on glibc keeps so much, or each block's pages would be made anew.
        bytes(RESERVED_HEAP_BYTES)
        self._guardian, self._control = guardian or start_guardian()
        self._sibling_guardians.add(self._guardian)
        self._inbox = inbox
        self._on_tick = on_tick  # while a child runs, at least every INBOX_POLL_SECONDS
        self._spared = spared  # which processes may outlive the child that started them
        self._partial_reply = b""
        self._is_subreaper = False
        if spared:
            try:
                self._send([b"hold"])
            except GuardianLost:  # killed while it started: nothing of ours was lost
                self._restart_guardian()

    @property
    def guardian_pid(self) -> int:
        """For the run record: who holds this loop's children."""
        return self._guardian

    def run(self, command: Command, on_output: OutputSink, on_error: OutputSink) -> CommandExit:
        """Start the command, hand on what it prints, return once it and all it started are gone."""
        began = time.monotonic()
        if self._find_grace(command) is not None:  # what came before it was cut short
            by = self._inbox.poll_interruption()
            return CommandExit(code=-1, seconds=0.0, ending="stopped", stopped_by=by)
        out, err = self._spawn_surely(command)
        watch = ChildState(command, began, {out: on_output} if err is None else {out: on_output, err: on_error})
        try:
            self._pump_output(watch)
        except GuardianLost:
            self._restart_guardian()
            self._clean_up_after(command)
            return CommandExit(code=-9, seconds=time.monotonic() - began, ending="exited", error=GUARDIAN_KILLED)
        finally:
            watch.close_pipes()
        self._end_keeping(command)
        return CommandExit(
            code=watch.code,
            seconds=time.monotonic() - began,
            ending=watch.ending,
            error=watch.error,
            stopped_by=self._inbox.poll_interruption() if watch.ending == "stopped" else "",
            pipes_held=watch.held,
            stopped_after=None if watch.stopping_at is None else watch.stopping_at - began,
        )

    def close(self) -> None:
        """End the guardian. Nothing is running: run() never leaves anything."""
        self._control.close()
        with suppress(ChildProcessError):  # lost, and no other could be started
            os.waitpid(self._guardian, 0)
        self._sibling_guardians.discard(self._guardian)

    def _restart_guardian(self) -> None:
        for _ in range(GUARDIAN_TRIES):
            self._guardian, self._control = start_guardian()
            self._sibling_guardians.add(self._guardian)
            try:
                if self._spared:
                    self._send([b"hold"])
                return
            except GuardianLost:
                continue
        raise _describe_lost_guardians()

    def _spawn_surely(self, command: Command) -> tuple[int, int | None]:
        """A guardian that was killed before, between two commands, has lost nothing of this one."""
        for _ in range(GUARDIAN_TRIES):
            try:
                return self._spawn(command)
            except GuardianLost:
                self._restart_guardian()
        raise _describe_lost_guardians()

    def _clean_up_after(self, command: Command) -> None:
        """What the lost guardian would have run. A child that does nothing comes first: nobody stops what follows."""
        if not command.cleanup:
            return
        nothing = replace(command, argv=("/bin/sh", "-c", ":"), cwd="/", stdin=b"")
        out, err = self._spawn_surely(nothing)
        watch = ChildState(nothing, time.monotonic(), {fd: len for fd in (out, err) if fd is not None})
        try:
            self._pump_output(watch)
        except GuardianLost:  # again: the next start sweeps
            self._restart_guardian()
        finally:
            watch.close_pipes()

    def _pump_output(self, watch: ChildState) -> None:
        control, inbox = self._control.fileno(), self._inbox.fileno()
        poll = watch.poll
        poll.register(control, select.POLLIN)
        if inbox is not None:
            poll.register(inbox, select.POLLIN)
        self._adopt_orphans()
        while watch.sinks or not watch.empty:
            for fd, _ in poll.poll(watch.compute_poll_seconds() * 1000):
                if fd in watch.sinks:
                    watch.read(fd)
                elif fd == control:
                    for word, *values in self._receive_replies():
                        watch.apply_reply(word, values)
                        if word == "exited" and self._spared:
                            self._send([b"sweep", *(b"%d" % pid for pid in self._spared())])
            self._stop_if_due(watch)
            watch.drop_held_pipes()
            self._on_tick()

    def _stop_if_due(self, watch: ChildState) -> None:
        """By the user's wish, by a time limit, or because the reader has enough."""
        grace = self._find_grace(watch.command)
        if grace is not None and watch.mark_stopping("stopped"):
            self._send([b"stop", str(grace).encode()])
        elif (ending := watch.find_passed_limit()) and watch.mark_stopping(ending):
            self._send([b"stop", str(STOP_GRACE_SECONDS).encode()])

    def _find_grace(self, command: Command) -> float | None:
        """Seconds for a command that is to end now; None: it may go on."""
        grace = None if command.finishes else self._inbox.poll_stop_grace()
        is_paused = grace is None and command.pausable and self._is_pause_wanted()
        return STOP_GRACE_SECONDS if is_paused else grace

    def _adopt_orphans(self) -> None:
        """Become a subreaper, so that losing the guardian loses no child; done while the first child starts."""
        if not self._is_subreaper:
            self._is_subreaper = become_subreaper() or True

    def _spawn(self, command: Command) -> tuple[int, int | None]:
        environment = [os.fsencode(f"{name}={value}") for name, value in command.environment.items()]
        if command.cleanup:
            self._send([b"cleanup", b"%d" % len(command.cleanup), *map(os.fsencode, command.cleanup), *environment])
        stdin = _open_stdin(command.stdin)
        out, out_child = os.pipe()
        err, err_child = (None, out_child) if command.merged else os.pipe()
        if sys.platform == "linux":
            try:
                fcntl.fcntl(out, fcntl.F_SETPIPE_SZ, PIPE_BUFFER_BYTES)
            except OSError:
                pass  # the user's pipe quota is used up: slower, not wrong
        fields = [b"spawn", os.fsencode(command.cwd), b"%d" % len(command.argv), *map(os.fsencode, command.argv)]
        fields += environment
        try:
            if command.log_fd is not None:
                self._send([b"keep"], (out, command.log_fd))
            self._send(fields, (stdin, out_child, err_child))
        except GuardianLost:
            for fd in {out, out if err is None else err}:
                os.close(fd)
            raise
        finally:
            for fd in {stdin, out_child, err_child}:
                os.close(fd)
        return out, err

    def _end_keeping(self, command: Command) -> None:
        """All it printed is in its log; whoever of its remains still writes shall see that nobody reads."""
        if command.log_fd is not None:
            with suppress(GuardianLost):  # the next command starts another
                self._send([b"heard"])

    def _send(self, fields: list[bytes], fds: tuple[int, ...] = ()) -> None:
        body = b"\0".join(fields)
        message = len(body).to_bytes(4, "big") + body
        ancillary = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array("i", fds))] if fds else []
        try:
            sent = self._control.sendmsg([message], ancillary)
            self._control.sendall(message[sent:])
        except OSError as error:
            if error.errno not in (EPIPE, EBADF) and not isinstance(error, ConnectionError):
                raise
            self._handle_lost_guardian()

    def _receive_replies(self) -> list[list[str]]:
        try:
            data = self._control.recv(1 << 12)
        except ConnectionError:
            data = b""
        if not data:
            self._handle_lost_guardian()
        *lines, self._partial_reply = (self._partial_reply + data).split(b"\n")
        return [line.decode().split() for line in lines]

    def _handle_lost_guardian(self) -> None:
        """Its children are ours now: end them all, then say so. The guardians of other loops are none of them."""
        self._control.close()
        self._partial_reply = b""
        self._sibling_guardians.discard(self._guardian)
        end_children(lambda: _reap_children(self._sibling_guardians), self._sibling_guardians)
        raise GuardianLost


def _describe_lost_guardians() -> MachineError:
    return MachineError(
        "ralph's guardian process is killed whenever it starts",
        "look for a limit on memory or processes (`ulimit -a`, the container's), then start again",
    )


def _open_stdin(data: bytes) -> int:
    """A descriptor to read `data` from: a file, so that nobody has to write while others wait."""
    if not data:
        return os.open(os.devnull, os.O_RDONLY)
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("stdin")
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _reap_children(guardians: set[int]) -> bool:
    """Whether no child but these is left. With other loops about, only what is listed can be waited for."""
    if guardians:
        others = [pid for pid in list_children(os.getpid()) if pid not in guardians]
        for pid in others:
            _reap_process(pid)
        return not others  # whoever was reaped may have left children to us: look again
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return False
        except ChildProcessError:
            return True


def _reap_process(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass  # another loop's own
