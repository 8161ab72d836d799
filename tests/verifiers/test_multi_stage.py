"""Several verifications."""

import json
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ralph.model.errors import ConfigError
from ralph.model.verdict import JudgeAnswer, Verdict
from ralph.process.supervisor import Supervisor
from ralph.verifiers.multi_stage import build
from support.claimed import ScriptedJudge, make_claim, make_tools
from support.quiet_inbox import QuietInbox


def run(name: str, command: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "method": "external", "config": {"command": command}, **more}


def verdict(folder: Path, *stages: dict[str, Any], judge: ScriptedJudge | None = None, **config: Any) -> Verdict:
    return build({"stages": [*stages], **config}, make_tools(judge)).verify(make_claim(folder, tree="t"))


def test_all_stages_pass(tmp_path: Path) -> None:  # 002-10
    todos = {"name": "no_todos", "method": "semantic", "config": {"negative_patterns": ["TODO"]}, "required": True}
    found = verdict(tmp_path, run("tests", "true"), todos, run("lint", "true", required=False))
    assert (found.method, found.verified, found.reason) == ("multi_stage", True, "All 3 verification stages passed")
    assert [(stage.name, stage.verified) for stage in found.stages] == [
        ("tests", True),
        ("no_todos", True),
        ("lint", True),
    ]


def test_the_first_required_failure_ends_it(tmp_path: Path) -> None:  # 002-10
    found = verdict(tmp_path, run("one", "echo one >> ran"), run("two", "exit 2"), run("three", "echo three >> ran"))
    assert (found.verified, found.reason) == (False, "Stage 'two' failed: Command exited with 2, expected 0")
    assert (tmp_path / "ran").read_text() == "one\n"


def test_each_stage_keeps_what_it_prints_and_failures_come_first(tmp_path: Path) -> None:  # issue 12
    claim = make_claim(tmp_path, tree="t", log_prefix=str(tmp_path / "v"))
    stages = [run("unit tests", "echo one"), run("lint", "echo two; exit 1", required=False)]
    logs = build({"stages": stages}, make_tools()).verify(claim).list_logs()
    assert [Path(log).name for log in logs] == ["v_lint_echo_two_exit_1.log", "v_unit_tests_echo_one.log"]
    assert [Path(log).read_text() for log in logs] == ["two\n", "one\n"]


def test_failures_are_collected_where_not_all_are_required(tmp_path: Path) -> None:  # 002-10
    stages = run("a", "exit 1"), run("b", "echo b >> ran"), run("c", "exit 3"), run("d", "exit 4", required=False)
    found = verdict(tmp_path, *stages, require_all=False)
    assert (found.verified, found.reason) == (
        False,
        "Failed stages: a: Command exited with 1, expected 0; c: Command exited with 3, expected 0",
    )
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("require_all", [True, False])
def test_an_optional_failure_is_a_warning(tmp_path: Path, require_all: bool) -> None:  # 002-10
    found = verdict(tmp_path, run("coverage", "exit 1", required=False), run("t", "true"), require_all=require_all)
    assert (found.verified, found.reason) == (True, "All 2 verification stages passed")
    assert found.notes == ("Stage 'coverage' failed, which is optional: Command exited with 1, expected 0",)


def test_a_stage_without_a_method_is_the_promise_and_that_was_looked_at(tmp_path: Path) -> None:  # 002-10
    found = verdict(tmp_path, {}, {"name": "again", "method": "multi_stage"})
    assert found.reason == "All 2 verification stages passed"
    assert [(stage.name, stage.method, stage.reason) for stage in found.stages] == [
        ("unnamed", "string_match", "Skipped"),
        ("again", "multi_stage", "Skipped"),
    ]


def test_no_stages_verify_nothing() -> None:  # C16
    configs: list[dict[str, Any]] = [{}, {"stages": []}, {"stages": [], "require_all": False}]
    for config in configs:
        with pytest.raises(ConfigError, match="No stages specified for multi_stage verification"):
            build(config, make_tools())


@pytest.mark.parametrize(
    ("stage", "reason"),
    [
        ({"method": "external"}, "No command specified for external verification"),
        ({"method": "external", "config": {"command": 1}}, "Invalid external verification config: "),
        ({"method": "divination"}, "Unknown verification method: divination"),
        ({"method": "external", "config": {"template": "pytes"}}, "Unknown verification method: pytes"),
        ({"method": "shell"}, "Unknown verification method: shell"),  # a gate, but of another kind
        ({"method": "templates"}, "Unknown verification method: templates"),
        ({"method": "../../etc"}, "Unknown verification method: ../../etc"),
    ],
)
def test_a_stage_that_cannot_be_built_fails(tmp_path: Path, stage: dict[str, Any], reason: str) -> None:  # 002-12
    found = verdict(tmp_path, {"name": "odd", **stage})
    assert not found.verified
    assert found.reason.startswith(f"Stage 'odd' failed: {reason}")
    assert verdict(tmp_path, {"name": "odd", "required": False, **stage}).verified


def test_a_stage_may_be_a_template(tmp_path: Path) -> None:  # 002-26
    (tmp_path / "a").touch()
    by_method = {"name": "files", "method": "files-exist", "config": {"paths": ["a"]}}
    by_option = {"name": "files", "method": "external", "config": {"template": "files-exist", "paths": ["a", "b"]}}
    assert verdict(tmp_path, by_method).verified
    assert verdict(tmp_path, by_option).reason == "Stage 'files' failed: Missing files: b"


def test_acceptance_criteria_reach_a_stage(tmp_path: Path) -> None:  # 002-11
    stage = {"name": "criteria", "method": "semantic", "config": {"check_for": "{{acceptance_criteria}}"}}
    claim = make_claim(tmp_path, acceptance_criteria=("Login works",))
    found = build({"stages": [stage]}, make_tools(words=True)).verify(claim)
    assert found.reason == "Stage 'criteria' failed: Criterion not evident: Login works"


def test_independent_commands_run_at_the_same_time(tmp_path: Path) -> None:  # 002-26
    meet = "touch {me}; for i in $(seq 500); do test -e {other} && exit 0; sleep 0.01; done; exit 1"
    stages = run("a", meet.format(me="a", other="b")), run("b", meet.format(me="b", other="a"))
    assert verdict(tmp_path, *stages, parallel=True).verified
    for name in "ab":
        (tmp_path / name).unlink()
    assert verdict(tmp_path, *(stage | {"parallel": True} for stage in stages)).verified


def test_without_a_wish_nothing_runs_at_the_same_time(tmp_path: Path) -> None:  # 002-10
    alone = "test ! -e busy || exit 1; touch busy; sleep 0.2; rm busy"
    assert verdict(tmp_path, *(run(name, alone) for name in "abc")).verified
    assert verdict(tmp_path, *(run(name, alone, parallel=False) for name in "abc"), parallel=True).verified


def test_the_first_failure_by_order_is_told_not_by_time(tmp_path: Path) -> None:  # 002-26
    judge = ScriptedJudge(JudgeAnswer(text="VERIFIED"))
    asks = {"name": "judged", "method": "semantic", "config": {"check_for": ["x"]}}
    stages = run("slow", "sleep 0.3; exit 1"), run("fast", "exit 2"), asks
    found = verdict(tmp_path, *stages, parallel=True, judge=judge)
    assert found.reason == "Stage 'slow' failed: Command exited with 1, expected 0"
    assert [stage.name for stage in found.stages] == ["slow", "fast"]
    assert judge.asked == []  # no money is spent on what has failed already


def test_the_same_command_on_the_same_tree_runs_once(tmp_path: Path) -> None:  # 002-26
    found = verdict(tmp_path, run("one", "echo x >> ran"), run("two", "echo x >> ran"))
    assert found.verified
    assert [stage.cached for stage in found.stages] == [False, True]
    assert (tmp_path / "ran").read_text() == "x\n"


def test_costs_notes_and_digests_add_up(tmp_path: Path) -> None:
    judge = ScriptedJudge(JudgeAnswer(text="VERIFIED", cost_usd=0.25), JudgeAnswer(text="gibberish", cost_usd=0.5))
    first, second = (
        {"name": name, "method": "semantic", "config": {"check_for": [name]}} for name in ("first", "second")
    )
    found = verdict(tmp_path, first, second, run("tests", "echo a"), judge=judge)
    assert (found.verified, found.cost_usd) == (True, 1.25)
    assert (found.judge, found.by_words) == ("judge", False)
    assert found.notes[0].startswith("second: semantic verification failed, string_match instead")
    assert found.digest != verdict(tmp_path, run("tests", "echo b")).digest
    assert len(found.digest) == 64


def test_a_judge_reads_what_the_stages_before_it_printed(tmp_path: Path) -> None:
    judge = ScriptedJudge(JudgeAnswer(text="VERIFIED"))
    told = {"name": "told", "method": "semantic", "config": {"check_for": ["it works"]}}
    assert verdict(tmp_path, run("tests", "echo 12 passed"), told, judge=judge).verified
    assert "$ echo 12 passed\n12 passed\n(passed)" in judge.asked[0][0]


def test_words_alone_are_words_however_many(tmp_path: Path) -> None:
    told = {"name": "told", "method": "semantic", "config": {"check_for": ["promise"]}}
    words = build({"stages": [told]}, make_tools(words=True))
    assert words.verify(make_claim(tmp_path)).by_words
    both = build({"stages": [told, run("tests", "true")]}, make_tools(words=True))
    assert not both.verify(make_claim(tmp_path)).by_words


def test_what_a_failed_stage_printed_is_kept(tmp_path: Path) -> None:
    assert verdict(tmp_path, run("a", "echo fine"), run("b", "echo broken; exit 1")).detail == "broken"


def test_an_interruption_ends_it_and_is_no_answer(tmp_path: Path) -> None:
    inbox = QuietInbox()
    inbox.stop_after = 0.2
    stopping = replace(make_tools(), processes=lambda: closing(Supervisor(inbox)))
    stages = [run("long", "sleep 30", required=False), run("next", "touch ran")]
    began = time.monotonic()
    found = build({"stages": stages, "require_all": False}, stopping).verify(make_claim(tmp_path))
    assert (found.verified, found.interrupted) == (False, True)
    assert time.monotonic() - began < 10
    assert not (tmp_path / "ran").exists()
    inbox.close()


def test_the_example_of_the_specification(tmp_path: Path) -> None:  # 002-10
    config = json.loads(
        """{"stages": [
            {"name": "tests_pass", "method": "external", "config": {"command": "true", "success_exit_code": 0}, "required": true},
            {"name": "no_todos", "method": "semantic", "config": {"negative_patterns": ["TODO", "FIXME"]}, "required": true},
            {"name": "coverage_check", "method": "external", "config": {"command": "false"}, "required": false}],
        "require_all": true}"""  # noqa: E501  # as it is written there
    )
    assert build(config, make_tools()).verify(make_claim(tmp_path)).verified
