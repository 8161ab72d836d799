"""Which system calls nobody in a sandbox needs, as a program for the kernel (classic BPF).

What is refused answers "not permitted"; clone3 and openat2, whose flags cannot be looked at, answer "not there", and
libraries then use clone and openat. Programs of another architecture than the machine's own are refused altogether.
"""

import struct
from collections.abc import Iterator

from msgspec import Struct

_LOAD, _JUMP_EQ, _JUMP_SET, _JUMP_GE, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _REFUSE, _ABSENT = 0x7FFF0000, 0x00050001, 0x00050026  # SECCOMP_RET_ERRNO with EPERM, ENOSYS
_NUMBER, _ARCHITECTURE = 0, 4
_FIRST_ARGUMENT, _SECOND_ARGUMENT, _THIRD_ARGUMENT, _FOURTH_ARGUMENT = 16, 24, 32, 40
_FOREIGN_ABI = 0x40000000  # x32
_NEW_NAMESPACES = 0x7E020080  # the CLONE_NEW… flags
_TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: typing into the terminal of others
_SETUID_BITS = 0o4000  # such a file left in the work tree is a way in for every other user of the machine
_OPEN_CREATES = 0x400040  # O_CREAT, O_TMPFILE: without one of them there is no mode to look at
_CLOSED_SOCKETS = (15, 17, 31, 38, 40)  # AF_KEY, AF_PACKET, AF_BLUETOOTH, AF_ALG, AF_VSOCK


class _Machine(Struct, frozen=True, kw_only=True):
    architecture: int  # as the kernel names it
    clone: int
    ioctl: int
    socket: int
    modes: tuple[tuple[int, int], ...]  # calls that give a file its mode, and where that is among their arguments
    opens: tuple[tuple[int, int, int], ...]  # the same for those that may make one, after where their flags are
    refused: tuple[int, ...]


_ON_BOTH = (
    *range(425, 434),
    442,
)  # io_uring_*, open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr
_MACHINES = {
    "x86_64": _Machine(
        architecture=0xC000003E,
        clone=56,
        ioctl=16,
        socket=41,
        modes=(  # chmod, fchmod, creat, mknod, fchmodat, mknodat
            *((number, _SECOND_ARGUMENT) for number in (90, 91, 85, 133)),
            *((number, _THIRD_ARGUMENT) for number in (268, 259)),
        ),
        opens=((2, _SECOND_ARGUMENT, _THIRD_ARGUMENT), (257, _THIRD_ARGUMENT, _FOURTH_ARGUMENT)),
        refused=(
            *(155, 161, 165, 166, 272, 308),  # pivot_root, chroot, mount, umount2, unshare, setns
            *(175, 176, 313, 246, 320, 169),  # init_module, delete_module, finit_module, kexec_*, reboot
            *(163, 164, 227, 305, 167, 168, 179),  # acct, settimeofday, clock_*time, swapon, swapoff, quotactl
            *(170, 171, 172, 173, 103, 153, 212),  # set*name, iopl, ioperm, syslog, vhangup, lookup_dcookie
            *(248, 249, 250, 298, 300, 304, 321, 323),  # keys, perf, fanotify, open_by_handle_at, bpf, userfaultfd
            *_ON_BOTH,
        ),
    ),
    "aarch64": _Machine(
        architecture=0xC00000B7,
        clone=220,
        ioctl=29,
        socket=198,
        modes=((52, _SECOND_ARGUMENT), (53, _THIRD_ARGUMENT), (33, _THIRD_ARGUMENT)),
        opens=((56, _THIRD_ARGUMENT, _FOURTH_ARGUMENT),),
        refused=(
            *(41, 51, 40, 39, 97, 268),
            *(105, 106, 273, 104, 294, 142),
            *(89, 170, 112, 266, 224, 225, 60),
            *(161, 162, 116, 58, 18),
            *(217, 218, 219, 241, 262, 265, 280, 282),
            *_ON_BOTH,
        ),
    ),
}
_CLONE3, _OPENAT2, _FCHMODAT2 = 435, 437, 452  # everywhere


def build_filter(machine: str) -> bytes:
    """The program for this kind of machine; empty where it is not known."""
    known = _MACHINES.get(machine)
    return b"" if known is None else b"".join(_list_instructions(known))


def _list_instructions(machine: _Machine) -> Iterator[bytes]:
    yield _encode(_LOAD, _ARCHITECTURE)
    yield _encode(_JUMP_EQ, machine.architecture, yes=1)
    yield _encode(_RETURN, _ABSENT)
    yield _encode(_LOAD, _NUMBER)
    yield _encode(_JUMP_GE, _FOREIGN_ABI, no=1)
    yield _encode(_RETURN, _ABSENT)
    for number in machine.refused:
        yield from _answer(number, _REFUSE)
    yield from _answer(_CLONE3, _ABSENT)
    yield from _answer(_OPENAT2, _ABSENT)
    yield from _look_at(machine.clone, _FIRST_ARGUMENT, (_NEW_NAMESPACES,), jump=_JUMP_SET)
    yield from _look_at(machine.ioctl, _SECOND_ARGUMENT, _TERMINAL_INPUT)
    yield from _look_at(machine.socket, _FIRST_ARGUMENT, _CLOSED_SOCKETS)
    for number, mode in (*machine.modes, (_FCHMODAT2, _THIRD_ARGUMENT)):
        yield from _look_at(number, mode, (_SETUID_BITS,), jump=_JUMP_SET)
    for number, flags, mode in machine.opens:
        yield _encode(_JUMP_EQ, number, no=6)
        yield _encode(_LOAD, flags)
        yield _encode(_JUMP_SET, _OPEN_CREATES, no=3)
        yield _encode(_LOAD, mode)
        yield _encode(_JUMP_SET, _SETUID_BITS, no=1)
        yield _encode(_RETURN, _REFUSE)
        yield _encode(_RETURN, _ALLOW)
    yield _encode(_RETURN, _ALLOW)


def _answer(number: int, answer: int) -> Iterator[bytes]:
    yield _encode(_JUMP_EQ, number, no=1)
    yield _encode(_RETURN, answer)


def _look_at(number: int, argument: int, values: tuple[int, ...], jump: int = _JUMP_EQ) -> Iterator[bytes]:
    """Refuse this call where the low half of an argument is one of the values."""
    yield _encode(_JUMP_EQ, number, no=2 * len(values) + 2)
    yield _encode(_LOAD, argument)
    for value in values:
        yield _encode(jump, value, no=1)
        yield _encode(_RETURN, _REFUSE)
    yield _encode(_RETURN, _ALLOW)


def _encode(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("<HBBI", code, yes, no, value)
