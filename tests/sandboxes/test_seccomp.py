"""The filter for system calls, run here as the kernel would."""

import struct

import pytest

from ralph.sandboxes._seccomp import build_filter

ALLOW, EPERM, ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def judge(machine: str, number: int, *, first: int = 0, second: int = 0, architecture: int | None = None) -> int:
    """What the program says of a call."""
    arch = ARCHITECTURES[machine] if architecture is None else architecture
    data = struct.pack("<IIQQQ", number, arch, 0, first, second)
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


def test_a_machine_nobody_knows_has_no_filter() -> None:
    assert build_filter("riscv64") == b""
