"""The filter for system calls, run here as the kernel would."""

import struct

import pytest

from ralph.sandboxes._seccomp import build_filter

ALLOW, EPERM, ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def judge(machine: str, number: int, *arguments: int, architecture: int | None = None, **named: int) -> int:
    """What the program says of a call."""
    arch = ARCHITECTURES[machine] if architecture is None else architecture
    given = [*arguments, 0, 0, 0, 0][:4] if arguments else [named.get("first", 0), named.get("second", 0), 0, 0]
    data = struct.pack("<IIQQQQQ", number, arch, 0, *given)
    program: list[tuple[int, int, int, int]] = [*struct.iter_unpack("<HBBI", build_filter(machine))]
    at, value = 0, 0
    while True:
        code, yes, no, operand = program[at]
        at += 1
        match code:
            case 0x20:
                [value] = struct.unpack_from("<I", data, operand)
            case 0x06:
                return operand
            case 0x15:
                at += yes if value == operand else no
            case 0x45:
                at += yes if value & operand else no
            case 0x35:
                at += yes if value >= operand else no


@pytest.mark.parametrize(
    ("machine", "calls"),
    [
        ("x86_64", {"read": 0, "mount": 165, "clone": 56, "ioctl": 16, "socket": 41}),
        ("aarch64", {"read": 63, "mount": 40, "clone": 220, "ioctl": 29, "socket": 198}),
    ],
)
def test_calls_that_open_ways_out_are_refused_and_all_others_allowed(machine: str, calls: dict[str, int]) -> None:
    assert judge(machine, calls["read"]) == ALLOW
    assert judge(machine, calls["mount"]) == EPERM
    assert judge(machine, 435) == ENOSYS  # clone3
    assert judge(machine, calls["clone"], first=0x01200011) == ALLOW  # fork
    assert judge(machine, calls["clone"], first=0x10000000) == EPERM  # a user namespace
    assert judge(machine, calls["ioctl"], second=0x5401) == ALLOW
    assert judge(machine, calls["ioctl"], second=0x5412) == EPERM
    assert [judge(machine, calls["socket"], first=family) for family in (1, 2, 10, 16)] == [ALLOW] * 4
    assert judge(machine, calls["socket"], first=17) == EPERM
    assert judge(machine, calls["read"], architecture=0x40000003) == ENOSYS  # a program of another kind


@pytest.mark.parametrize(
    ("machine", "fchmod", "fchmodat", "mknodat", "openat"), [("x86_64", 91, 268, 259, 257), ("aarch64", 52, 53, 33, 56)]
)
def test_no_file_gets_the_rights_of_its_owner_for_others(
    machine: str, fchmod: int, fchmodat: int, mknodat: int, openat: int
) -> None:
    for mode, answer in ((0o4755, EPERM), (0o104755, EPERM), (0o755, ALLOW), (0o2775, ALLOW)):
        assert judge(machine, fchmod, 3, mode) == answer
        assert judge(machine, fchmodat, 3, 0, mode) == answer
        assert judge(machine, 452, 3, 0, mode) == answer  # fchmodat2
        assert judge(machine, mknodat, 3, 0, mode) == answer
        assert judge(machine, openat, 3, 0, 0o101, mode) == answer
        assert judge(machine, openat, 3, 0, 0o20200002, mode) == answer  # O_TMPFILE, which can be linked later
        assert judge(machine, openat, 3, 0, 0, mode) == ALLOW  # it makes nothing: that is no mode
    assert judge(machine, 437, 3, 0, 0, 24) == ENOSYS  # openat2 hides its mode


def test_the_old_calls_of_intel_machines_are_known_too() -> None:
    assert [judge("x86_64", number, 0, 0o4755) for number in (90, 85, 133)] == [EPERM] * 3  # chmod, creat, mknod
    assert (judge("x86_64", 2, 0, 0o101, 0o4755), judge("x86_64", 2, 0, 0o101, 0o755)) == (EPERM, ALLOW)


def test_a_machine_nobody_knows_has_no_filter() -> None:
    assert build_filter("riscv64") == b""
