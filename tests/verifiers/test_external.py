"""A command decides."""

import hashlib
import time
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ralph.model.errors import ConfigError
from ralph.model.verdict import Verdict
from ralph.process.supervisor import Supervisor
from ralph.verifiers.external import ExternalOptions, _Search, build
from support.claimed import make_claim, make_tools
from support.processes import find_processes_with
from support.quiet_inbox import QuietInbox


def verdict(folder: Path, command: str, **config: Any) -> Verdict:
    return build({"command": command, **config}, make_tools()).verify(make_claim(folder))


@pytest.mark.parametrize(
    ("command", "config", "verified", "reason"),
    [
        ("true", {}, True, "External verification passed"),
        ("exit 3", {}, False, "Command exited with 3, expected 0"),
        ("exit 3", {"success_exit_code": 3}, True, "External verification passed"),
        ("true", {"success_exit_code": 3}, False, "Command exited with 0, expected 3"),
        ("echo 200", {"output_contains": "200"}, True, "External verification passed"),
        ("echo 200 >&2", {"output_contains": "200"}, True, "External verification passed"),
        ("echo 404", {"output_contains": "200"}, False, "Output doesn't contain: 200"),
        ("echo 1 FAILED", {"output_not_contains": "FAILED"}, False, "Output contains forbidden: FAILED"),
        ("echo 1 FAILED >&2", {"output_not_contains": "FAILED"}, False, "Output contains forbidden: FAILED"),
        ("echo fine", {"output_not_contains": "FAILED"}, True, "External verification passed"),
        ("echo FAILED; exit 1", {"output_not_contains": "FAILED"}, False, "Command exited with 1, expected 0"),
        ("echo x", {"output_contains": "", "output_not_contains": ""}, True, "External verification passed"),
        ("no-such-program --at-all", {}, False, "Command exited with 127, expected 0"),
        ("sleep 30", {"timeout": 0.3}, False, "Command timed out after 0.3s"),
        ("kill -KILL $$", {}, False, "Command exited with -9, expected 0"),
    ],
)
def test_every_end_has_its_reason(
    tmp_path: Path, command: str, config: dict[str, Any], verified: bool, reason: str
) -> None:  # 002-08, 002-09
    found = verdict(tmp_path, command, **config)
    assert (found.method, found.verified, found.reason) == ("external", verified, reason)


def test_all_it_prints_is_kept_where_the_claim_says(tmp_path: Path) -> None:  # issue 12
    claim = make_claim(tmp_path, log_prefix=str(tmp_path / "verification_002_coder"))
    found = build({"command": "seq 20000; echo no >&2; exit 1"}, make_tools()).verify(claim)
    assert found.log == str(tmp_path / "verification_002_coder_seq_20000_echo_no_2_exit_1.log")
    kept = Path(found.log).read_text().split()
    assert (len(kept), set(kept)) == (20001, {*map(str, range(1, 20001)), "no"})
    assert verdict(tmp_path, "true").log == ""


def test_no_value_of_a_secret_variable_is_kept_of_what_it_prints(tmp_path: Path) -> None:  # 001-26
    claim = make_claim(tmp_path)
    claim = replace(claim, environment={**claim.environment, "DEPLOY_KEY": "open-sesame-now"})
    found = build({"command": "echo saw $DEPLOY_KEY; exit 1"}, make_tools()).verify(claim)
    assert "saw ***" in found.detail
    assert "open-sesame" not in found.detail


def test_a_time_limit_leaves_nothing_behind(tmp_path: Path) -> None:  # 002-09
    token = uuid.uuid4().hex
    found = verdict(tmp_path, f"setsid sh -c 'sleep 30; :' {token} & sleep 30", timeout=1)
    assert found.reason == "Command timed out after 1s"
    assert found.seconds < 10
    assert not find_processes_with(token)


@pytest.mark.parametrize("config", [{}, {"command": ""}, {"command": " \n"}])
def test_no_command_is_a_failure_of_its_own(config: dict[str, Any]) -> None:  # 002-08
    with pytest.raises(ConfigError, match=r"^No command specified for external verification$"):
        build(config, make_tools())


def test_the_defaults() -> None:  # 002-08
    assert ExternalOptions(command="x") == ExternalOptions(
        command="x", success_exit_code=0, output_contains=None, output_not_contains=None, timeout=300, working_dir="."
    )


@pytest.mark.parametrize(
    "config",
    [{"timeout": "soon"}, {"timeout": 0}, {"success_exit_code": "0"}, {"comand": "x"}, {"output_contains": 200}],
)
def test_options_that_make_no_sense_are_named(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"external verification config: .*{next(iter(config))}"):
        build({"command": "true", **config}, make_tools())


def test_a_command_that_cannot_run_says_why_and_is_noted(tmp_path: Path) -> None:  # 002-09, 002-24
    found = verdict(tmp_path, "/bin/true " + "x" * 300_000)
    assert (found.verified, found.reason) == (False, "Command failed: Argument list too long")
    assert found.notes[0].endswith("could not be run: Argument list too long")


def test_a_command_with_a_nul_is_refused() -> None:
    with pytest.raises(ConfigError, match="NUL"):
        build({"command": "a\0b"}, make_tools())


def test_it_runs_in_the_worktree(tmp_path: Path) -> None:  # 002-08
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "jwt.py").touch()
    assert verdict(tmp_path, "test -f src/jwt.py && test ! -f jwt.py").verified
    assert verdict(tmp_path, "test -f jwt.py", working_dir="src").verified
    assert verdict(tmp_path, "test -f jwt.py", working_dir="src/../src/.").verified
    assert verdict(tmp_path, "test -f jwt.py", working_dir=str(tmp_path / "src")).verified


@pytest.mark.parametrize("way_out", ["..", "src/../..", "./../tree"])
def test_a_way_out_that_can_be_read_is_refused_at_once(way_out: str) -> None:  # 002-08, 002-13
    with pytest.raises(ConfigError, match=f"working_dir '{way_out}' is outside the worktree"):
        build({"command": "true", "working_dir": way_out}, make_tools())


@pytest.mark.parametrize("way_out", ["/", "link", "src/../link/..", "inner"])
def test_it_never_leaves_the_worktree(tmp_path: Path, way_out: str) -> None:
    tree = tmp_path / "tree"
    (tree / "src").mkdir(parents=True)
    (tree / "link").symlink_to("/")
    (tree / "inner").symlink_to("../tree-next-door")
    (tmp_path / "tree-next-door").mkdir()
    found = verdict(tree, f"touch {tmp_path}/ran", working_dir=way_out)
    assert (found.verified, found.reason) == (False, f"Command failed: working_dir {way_out!r} is outside the worktree")
    assert not (tmp_path / "ran").exists()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert verdict(tmp_path, "true", working_dir="gone").reason == (
        "Command failed: working_dir 'gone' is not a folder of the worktree"
    )


def test_words_are_found_in_a_flood(tmp_path: Path) -> None:
    flood = "head -c 3000000 /dev/zero; printf FAI; head -c 0 /dev/zero; printf LED; head -c 3000000 /dev/zero"
    found = verdict(tmp_path, flood, output_not_contains="FAILED")
    assert found.reason == "Output contains forbidden: FAILED"
    assert len(found.detail) < 20_000


def test_one_stream_does_not_tear_the_words_of_the_other(tmp_path: Path) -> None:
    torn = "printf FAI; sleep 0.1; echo noise >&2; sleep 0.1; printf LED"
    assert not verdict(tmp_path, torn, output_not_contains="FAILED").verified


@given(st.text(min_size=1, max_size=4), st.lists(st.text(max_size=6), max_size=6))
def test_words_are_found_wherever_blocks_are_cut(words: str, blocks: list[str]) -> None:
    data = "".join(blocks).encode()
    for size in (1, 2, 3, 5, 100):
        search = _Search(words)
        for at in range(0, len(data), size):
            search.feed(data[at : at + size])
        assert search.found is (words.encode() in data)


def test_what_it_printed_is_kept_and_its_digest_is_always_the_same(tmp_path: Path) -> None:
    first, second = (verdict(tmp_path, "echo out; echo err >&2; exit 1") for _ in range(2))
    assert first.detail == "out\nerr"
    assert first.digest == second.digest
    streams = (hashlib.sha256(text).digest() for text in (b"out\n", b"err\n"))
    assert first.digest == hashlib.sha256(b"".join(streams)).hexdigest()
    assert first.digest != verdict(tmp_path, "echo other; echo err >&2; exit 1").digest


def test_the_same_tree_is_looked_at_once(tmp_path: Path) -> None:  # 002-26
    with_memory = make_tools()

    def ask(tree: str, command: str = "echo x >> ran; exit 1", folder: Path = tmp_path) -> Verdict:
        return build({"command": command}, with_memory).verify(make_claim(folder, tree=tree))

    first, again = ask("t1"), ask("t1")
    assert (again.reason, again.digest, again.cached) == (first.reason, first.digest, True)
    assert not first.cached
    assert not ask("t2").cached
    assert not ask("t1", "echo x >> ran; exit 1 # differently").cached
    other = tmp_path / "other"
    other.mkdir()
    assert not ask("t1", folder=other).cached
    assert not ask("").cached  # who knows what the tree is
    assert not ask("").cached
    assert (tmp_path / "ran").read_text() == "x\n" * 5


def test_what_the_machine_was_too_slow_for_is_tried_again(tmp_path: Path) -> None:  # 002-26
    with_memory = make_tools()
    gate = build({"command": "test -e ready || sleep 30", "timeout": 0.3}, with_memory)
    assert gate.verify(make_claim(tmp_path, tree="t")).reason == "Command timed out after 0.3s"
    (tmp_path / "ready").touch()
    assert gate.verify(make_claim(tmp_path, tree="t")).verified


def test_an_interrupted_command_is_neither_yes_nor_no(tmp_path: Path) -> None:
    inbox = QuietInbox()
    inbox.stop_after = 0.2
    stopping = replace(make_tools(), processes=lambda: closing(Supervisor(inbox)))
    began = time.monotonic()
    found = build({"command": "sleep 30", "success_exit_code": -15}, stopping).verify(make_claim(tmp_path, tree="t"))
    assert (found.verified, found.interrupted) == (False, True)
    assert time.monotonic() - began < 10
    inbox.close()
