"""Bounded logs, whole lines, excerpts."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.process.output import BoundedLog, Excerpt, LineSplitter


def logged(path: Path, blocks: list[bytes], head: int = 10, tail: int = 10) -> bytes:
    log = BoundedLog(str(path), head, tail)
    for block in blocks:
        log.write(block)
    log.close()
    assert list(path.parent.iterdir()) == [path]
    return path.read_bytes()


@pytest.mark.parametrize(
    ("blocks", "kept"),
    [
        ([], b""),
        ([b"0123456789"], b"0123456789"),
        ([b"0123456789", b"abc"], b"0123456789abc"),
        ([b"0123456789abcdefghij"], b"0123456789abcdefghij"),
        ([b"0123456789abcdefghijK"], b"0123456789\n... [1 bytes cut] ...\nbcdefghijK"),
        ([b"01234567", b"89abcdef", b"x" * 100, b"END"], b"0123456789\n... [99 bytes cut] ...\nxxxxxxxEND"),
    ],
)
def test_a_log_keeps_head_and_tail_and_marks_the_cut(tmp_path: Path, blocks: list[bytes], kept: bytes) -> None:
    assert logged(tmp_path / "log", blocks) == kept


@given(st.lists(st.binary(max_size=30), max_size=12))
def test_a_log_is_head_and_tail_of_everything(blocks: list[bytes]) -> None:
    import tempfile

    whole = b"".join(blocks)
    with tempfile.TemporaryDirectory() as folder:
        kept = logged(Path(folder) / "log", blocks, 8, 7)
    assert kept == whole if len(whole) <= 15 else kept.startswith(whole[:8]) and kept.endswith(whole[-7:])


def test_a_full_disk_costs_the_log_not_the_run() -> None:
    log = BoundedLog("/dev/full")
    log.write(b"data")
    log.write(b"more")
    assert log.failure == "No space left on device"
    log.close()


def test_a_log_makes_its_folder_again_and_does_without_when_it_cannot(tmp_path: Path) -> None:
    assert logged(tmp_path / "gone" / "log", [b"data"]) == b"data"
    lost = BoundedLog(str(tmp_path / "all" / "gone" / "log"))
    lost.write(b"data")
    lost.close()
    assert not lost.is_there
    assert (lost.failure, (tmp_path / "all").exists()) == ("No such file or directory", False)


@given(st.binary(max_size=200), st.lists(st.integers(1, 40), max_size=20))
def test_lines_come_whole_whatever_the_blocks(data: bytes, sizes: list[int]) -> None:
    lines, got, at = LineSplitter(), b"", 0
    for size in [*sizes, len(data)]:
        block = bytes(lines.feed(data[at : at + size]))
        assert not block or block.endswith(b"\n")
        got += block
        at += size
    assert got + bytes(lines.finish()) == data


def test_a_line_over_the_limit_is_dropped_and_its_neighbours_are_not() -> None:
    lines = LineSplitter(100)
    blocks = [b"a\n", b"x" * 90, b"y" * 20, b"z\nb\nc", b"d\n", b"w" * 101]
    got = b"".join(bytes(lines.feed(block)) for block in blocks) + bytes(lines.finish())
    assert got == b"a\nb\ncd\n"
    assert lines.oversize_sizes == [112, 101]


@pytest.mark.parametrize(
    ("blocks", "text"),
    [
        ([b"short"], "short"),
        ([b"01234", b"56789"], "0123456789"),
        ([b"0123456789" * 10, b"END"], "01234\n... [93 bytes cut] ...\n89END"),
        ([b"\xff\xfe ok"], "\ufffd\ufffd ok"),
    ],
)
def test_an_excerpt_keeps_both_ends(blocks: list[bytes], text: str) -> None:
    excerpt = Excerpt(5, 5)
    for block in blocks:
        excerpt.write(block)
    assert excerpt.text() == text


def test_a_log_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "log").symlink_to(tmp_path / "precious")
    log = BoundedLog(str(tmp_path / "log"))
    log.write(b"output")
    log.close()
    assert (tmp_path / "precious").read_text() == "mine"
    assert (tmp_path / "log").read_bytes() == b"output"
    assert log.is_there
