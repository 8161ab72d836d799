"""Text from a file or from standard input."""

import os
import subprocess
from pathlib import Path

import pytest

from ralph.faces.cli.options.text_file import TextFile
from ralph.model.errors import UsageError
from support.workshop import RALPH_ARGV, ProjectFixture

LATIN = "erste Zeile\nschön".encode("latin-1")  # the ö is byte 4 of line 2


def test_a_byte_order_mark_is_dropped_and_lines_end_in_one_way(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n")
    assert TextFile(str(tmp_path / "text")).read_text() == "one\ntwo\nthree\n"


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    for name in (str(tmp_path / "gone"), str(tmp_path)):
        with pytest.raises(UsageError, match="cannot read") as refused:
            TextFile(name).read_text()
        assert repr(name) in refused.value.message


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (b"\xff\xfea\x00", "line 1, byte 1 is 0xff"),
        (LATIN, "line 2, byte 4 is 0xf6"),
        ("é\né".encode() + b"\xe9", "line 2, byte 3 is 0xe9"),
        (b"\xef\xbb\xbfone\r\n\xe9", "line 2, byte 1 is 0xe9"),
    ],
)
def test_what_is_not_utf_8_is_refused_with_line_and_byte(tmp_path: Path, data: bytes, where: str) -> None:
    (tmp_path / "text").write_bytes(data)
    with pytest.raises(UsageError, match=f"text' is not UTF-8: {where}"):
        TextFile(str(tmp_path / "text")).read_text()


@pytest.mark.parametrize(
    "words",
    [
        ["run", "-f", "P.md"],
        ["run", "-f", "-"],
        ["run", "-f", "/dev/stdin"],
        ["run", "-p", LATIN],
        ["run", "-f", "P.md", "--dry-run"],
        ["supervise", "task", "--", "claude"],
        ["spec", "create", "auth", "--file", "P.md"],
        ["spec", "create", "auth", "--file", "-"],
        ["task", "import", "P.md"],
        ["verify", "TASK-001", "--message", "P.md"],
        ["bus", "post", "--bus", "BUS.md", "-"],
        ["bus", "post", "--bus", "BUS.md", LATIN],
    ],
    ids=str,
)
def test_every_command_refuses_it_before_anything_starts(workshop: ProjectFixture, words: list[str | bytes]) -> None:
    (workshop.repo / "P.md").write_bytes(LATIN)
    (workshop.repo / "task").mkdir()
    (workshop.repo / "task/TASK.md").write_bytes(LATIN)
    before = sorted(os.listdir(workshop.repo))
    done = subprocess.run(
        [*RALPH_ARGV, *words],
        cwd=workshop.repo,
        env=workshop.environment,
        input=LATIN,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert b"is not UTF-8: line 2, byte 4 is 0xf6" in done.stderr
    assert (workshop.calls, sorted(os.listdir(workshop.repo))) == (0, before)


def test_a_byte_order_mark_never_reaches_the_agent(workshop: ProjectFixture) -> None:
    (workshop.repo / "P.md").write_bytes("\ufeffdo it\n".encode())
    assert workshop.ralph("run", "--no-tell-completion", "-f", "P.md").returncode == 0
    assert workshop.ralph("run", "--no-tell-completion", "-f", "-", stdin="\ufeffdo it\n").returncode == 0
    assert (workshop.prompt(1), workshop.prompt(2)) == ("do it\n", "do it\n")
