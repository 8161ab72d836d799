"""The promise first, then the method its criteria name."""

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ralph.app import registry
from ralph.app.pipeline.verification import (
    NOTHING_CHANGED_REASON,
    REGRESSION_REASON,
    CriteriaVerifier,
    find_criteria_problems,
    is_judge_needed,
    select_file_criteria,
    verify_claim,
)
from ralph.model.spec import CompletionCriteria, VerificationMethod
from ralph.model.verdict import JudgeAnswer, Verdict
from support.claimed import PROMISE, ScriptedJudge, make_claim, make_tools, open_supervisor

EXTERNAL = VerificationMethod.EXTERNAL
LOOSELY = f"I will say <promise>{PROMISE}</promise> soon"
PLUGIN = """
from ralph.model.verdict import Verdict
VERIFIES = "that the moon is full"
def build(config, tools):
    class Moon:
        def verify(self, claim):
            return Verdict(method="moon", verified=config.get("full", False), reason="Moon looked at")
    return Moon()
"""


def criteria(method: VerificationMethod = EXTERNAL, promise: str = PROMISE, **config: Any) -> CompletionCriteria:
    return CompletionCriteria(promise, "d", method, config)


def test_a_made_promise_and_a_passed_command_verify(tmp_path: Path) -> None:
    found = verify_claim(make_claim(tmp_path), criteria(command="touch ran"), make_tools())
    assert (found.method, found.verified, found.reason) == ("external", True, "External verification passed")
    assert (tmp_path / "ran").exists()
    assert found.seconds > 0


@pytest.mark.parametrize(
    "said",
    [
        "<promise>WRONG_PROMISE</promise>",
        f"<promise>{PROMISE.lower()}</promise>",
        LOOSELY,
        f"```\nprint\n<promise>{PROMISE}</promise>\n```",
        PROMISE,
        "",
    ],
)
@pytest.mark.parametrize("method", VerificationMethod)
def test_without_the_very_promise_no_method_is_asked(
    tmp_path: Path, said: str, method: VerificationMethod
) -> None:  # C2
    run = {"command": "touch ran"}
    configs: dict[VerificationMethod, dict[str, Any]] = {
        EXTERNAL: run,
        VerificationMethod.MULTI_STAGE: {"stages": [{"method": "external", "config": run}]},
    }
    found = verify_claim(make_claim(tmp_path, said), criteria(method, **configs.get(method, {})), make_tools())
    assert (found.verified, found.reason) == (False, f"Promise '{PROMISE}' not found in output")
    assert not (tmp_path / "ran").exists()


def test_loose_matching_compares_only_where_the_specification_did(tmp_path: Path) -> None:  # C2
    wrong = make_claim(tmp_path, "<promise>SOMETHING_ELSE</promise>", loose=True)
    assert verify_claim(wrong, criteria(command="true"), make_tools()).verified
    matched = verify_claim(wrong, criteria(VerificationMethod.STRING_MATCH), make_tools())
    assert matched.reason == f"Promise '{PROMISE}' not found in output"
    anywhere = make_claim(tmp_path, LOOSELY.lower(), loose=True)
    assert verify_claim(anywhere, criteria(VerificationMethod.STRING_MATCH), make_tools()).verified


def test_the_promise_asked_for_is_the_criterias(tmp_path: Path) -> None:
    other = criteria(VerificationMethod.STRING_MATCH, "OTHER")
    assert not verify_claim(make_claim(tmp_path), other, make_tools()).verified


@given(st.text(), st.sampled_from(VerificationMethod))
def test_no_text_without_the_promise_is_ever_verified(said: str, method: VerificationMethod) -> None:  # C1, C2
    assert not verify_claim(make_claim(output=said), criteria(method, command="true"), make_tools()).verified


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (criteria(), "No command specified for external verification"),
        (criteria(VerificationMethod.MULTI_STAGE), "No stages specified for multi_stage verification"),
        (CompletionCriteria(PROMISE, "d", "divination"), "Unknown verification method: divination"),  # type: ignore[arg-type]
        (CompletionCriteria(PROMISE, "d", "shell"), "Unknown verification method: shell"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_verified_is_not(wanted: CompletionCriteria, reason: str) -> None:  # 002-08, 002-12, C16
    found = verify_claim(make_claim(), wanted, make_tools())
    assert (found.verified, found.reason) == (False, reason)


def test_users_bring_methods_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # 002-26
    (tmp_path / "moon_gate.py").write_text(PLUGIN)
    info = tmp_path / "moon-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: moon\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[ralph.gates]\nmoon = moon_gate\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "moon" in registry.list_extensions("verifiers")
    for full in (True, False):
        stage = {"name": "night", "method": "moon", "config": {"full": full}}
        wanted = criteria(VerificationMethod.MULTI_STAGE, stages=[stage])
        assert find_criteria_problems(wanted) == ()
        assert verify_claim(make_claim(tmp_path), wanted, make_tools()).verified is full
    by_template = criteria(template="moon", full=True)
    assert verify_claim(make_claim(tmp_path), by_template, make_tools()).reason == "Moon looked at"
    del sys.modules["moon_gate"]


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (criteria(command="true"), ()),
        (criteria(template="pytest"), ()),
        (criteria(VerificationMethod.STRING_MATCH), ()),
        (criteria(), ("No command specified for external verification",)),
        (criteria(template="pytes"), ("Unknown verification method: pytes",)),
        (
            criteria(
                VerificationMethod.MULTI_STAGE,
                stages=[
                    {"name": "a", "method": "external"},
                    {"name": "b", "method": "divination"},
                    {"name": "c", "method": "multi_stage"},
                    {"name": "d"},
                ],
            ),
            (
                "stage 'a': No command specified for external verification",
                "stage 'b': Unknown verification method: divination",
                "stage 'c': a stage cannot be multi_stage itself: it would be skipped",
            ),
        ),
        (criteria(VerificationMethod.MULTI_STAGE), ("No stages specified for multi_stage verification",)),
        (
            CompletionCriteria(
                " P\n", "d", verification_method=EXTERNAL, verification_config={"command": "x"}, max_iterations=0
            ),
            (
                "the promise must be one line of text without blanks around it, not ' P\\n'",
                "max_iterations must be at least 1, not 0",
            ),
        ),
        (
            CompletionCriteria("<promise>P</promise>", "d", VerificationMethod.STRING_MATCH),
            ("the promise is the text inside the tag, without the tag, not '<promise>P</promise>'",),
        ),
    ],
)
def test_problems_are_told_before_anything_runs(wanted: CompletionCriteria, told: tuple[str, ...]) -> None:  # 002-13
    assert find_criteria_problems(wanted) == told


def several(*methods: str) -> CompletionCriteria:
    stages = [
        {"name": name, "method": name, "config": {"command": "true"} if name == "external" else {}} for name in methods
    ]
    return criteria(VerificationMethod.MULTI_STAGE, stages=stages, require_all=False)


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        (criteria(command="true"), ["external"]),
        (several("external", "semantic", "ruff", "contradictions", "string_match"), ["external", "ruff"]),
        (several("semantic", "no-todos"), []),
        (criteria(VerificationMethod.SEMANTIC), []),
        (criteria(VerificationMethod.STRING_MATCH), []),
    ],
)
def test_what_looks_at_files_can_be_asked_again_without_a_message(asked: CompletionCriteria, left: list[str]) -> None:
    found = select_file_criteria(asked)
    if found is None:
        assert left == []
    elif found.verification_method is EXTERNAL:
        assert found == asked
    else:
        config: Any = found.verification_config
        assert ([stage["method"] for stage in config["stages"]], config["require_all"]) == (left, False)
        assert find_criteria_problems(found) == ()


@pytest.mark.parametrize(
    ("asked", "judged"),
    [
        (criteria(VerificationMethod.SEMANTIC), True),
        (several("external", "acceptance"), True),
        (several("external"), False),
        (criteria(command="true"), False),
    ],
)
def test_whether_a_judge_is_needed(asked: CompletionCriteria, judged: bool) -> None:  # 002-07
    assert is_judge_needed(asked) is judged


# -- what a promise says against itself ------------------------------------------------------------
def test_a_promise_that_contradicts_itself_is_not_even_checked(tmp_path: Path) -> None:  # 000-25, C30
    said = f"Committed, but two tests fail.\n<promise>{PROMISE}</promise>"
    claim = make_claim(tmp_path, said, contradictable=True)
    found = verify_claim(claim, criteria(command="touch ran"), make_tools())
    assert (found.verified, found.reason) == (False, "Output contains contradictions to promise: 'tests fail'")
    assert not (tmp_path / "ran").exists()
    believed = make_claim(tmp_path, said)  # verify_promises is off
    assert verify_claim(believed, criteria(command="true"), make_tools()).verified


def test_the_sign_of_a_stage_is_needed_where_nothing_else_shows_it(tmp_path: Path) -> None:  # 000-25, C30
    claim = make_claim(tmp_path, f"It is there.\n<promise>{PROMISE}</promise>", contradictable=True)
    assert verify_claim(claim, criteria(command="true"), make_tools()).reason == "No commit detected in coder output"
    assert verify_claim(replace(claim, has_sign=True), criteria(command="true"), make_tools()).verified


def test_whoever_changed_nothing_has_done_nothing(tmp_path: Path) -> None:
    found = verify_claim(make_claim(tmp_path, has_done_nothing=True), criteria(command="true"), make_tools())
    assert (found.verified, found.reason) == (False, NOTHING_CHANGED_REASON)


# -- what a green verdict proves --------------------------------------------------------------------
GREEN = Verdict(method="external", verified=True, reason="fine")
RED = Verdict(method="external", verified=False, reason="no")


class ScriptedBase:
    """The tree the work began with: how checks do there, alone and with the new tests."""

    def __init__(self, before: Verdict, with_new_tests: Verdict | None = None) -> None:
        self._before, self._with_new_tests = before, with_new_tests

    def check(self, criteria: CompletionCriteria) -> Verdict:
        return self._before

    def check_with_new_tests(self, criteria: CompletionCriteria) -> Verdict | None:
        return self._with_new_tests


def weigh(
    folder: Path,
    wanted: CompletionCriteria,
    base: ScriptedBase | None = None,
    *,
    judge: ScriptedJudge | None = None,
    words: bool = False,
) -> Verdict:
    judges = {"coder": judge} if judge else {}
    verifier = CriteriaVerifier(open_supervisor, judges, words=words, base=base)
    return verifier.verify(make_claim(folder, acceptance_criteria=("it adds",)), wanted)


def test_a_check_that_was_red_before_is_proof(tmp_path: Path) -> None:
    judge = ScriptedJudge(JudgeAnswer(text="VERIFIED"))
    found = weigh(tmp_path, criteria(command="true"), ScriptedBase(RED), judge=judge)
    assert (found.verified, found.red_before, found.by_words, judge.asked) == (True, True, False, [])


def test_a_check_that_was_green_before_needs_the_judge(tmp_path: Path) -> None:
    judge = ScriptedJudge(
        JudgeAnswer(text="VERIFIED", cost_usd=0.5, judge="claude haiku"), JudgeAnswer(text="NOT_VERIFIED: no add")
    )
    wanted = criteria(command="echo 12 passed")
    found = weigh(tmp_path, wanted, ScriptedBase(GREEN), judge=judge)
    assert (found.verified, found.red_before, found.judge, found.cost_usd) == (True, False, "claude haiku", 0.5)
    assert "1. it adds" in judge.asked[0][0]
    assert "$ echo 12 passed\n12 passed\n(passed)" in judge.asked[0][0]
    kinds = [(look.kind, look.passed, look.red_before) for look in found.list_evidence("coder")]
    assert kinds == [("command", True, False), ("judge", True, None)]
    found = weigh(tmp_path, wanted, ScriptedBase(GREEN), judge=judge)
    assert (found.verified, found.reason) == (False, f"NOT_VERIFIED: no add. {REGRESSION_REASON}")


def test_or_a_new_test_that_fails_without_the_work(tmp_path: Path) -> None:
    judge = ScriptedJudge(JudgeAnswer(text="VERIFIED"))
    found = weigh(tmp_path, criteria(command="true"), ScriptedBase(GREEN, RED), judge=judge)
    assert (found.verified, found.red_before, judge.asked) == (True, True, [])
    assert not weigh(tmp_path, criteria(command="true"), ScriptedBase(GREEN, GREEN)).verified


def test_without_either_it_proves_only_that_nothing_broke(tmp_path: Path) -> None:
    found = weigh(tmp_path, criteria(command="true"), ScriptedBase(GREEN))
    assert (found.verified, found.reason) == (False, REGRESSION_REASON)
    by_words = weigh(tmp_path, criteria(command="true"), ScriptedBase(GREEN), words=True)
    assert (by_words.verified, by_words.by_words, by_words.red_before) == (True, True, False)


def test_an_interrupted_look_at_the_base_is_no_answer(tmp_path: Path) -> None:
    stopped = Verdict(method="external", verified=False, reason="stopped", interrupted=True)
    assert weigh(tmp_path, criteria(command="true"), ScriptedBase(stopped)).interrupted


@pytest.mark.parametrize(
    "wanted",
    [
        criteria(VerificationMethod.SEMANTIC, negative_patterns=["TODO"]),
        criteria(VerificationMethod.MULTI_STAGE, stages=[{"method": "contradictions"}]),
        criteria(VerificationMethod.MULTI_STAGE, stages=[{"method": "string_match"}]),
    ],
)
def test_words_that_nobody_chose_are_judged_as_well(tmp_path: Path, wanted: CompletionCriteria) -> None:
    assert not weigh(tmp_path, wanted).verified
    judge = ScriptedJudge(JudgeAnswer(text="VERIFIED"))
    found = weigh(tmp_path, wanted, judge=judge)
    assert (found.verified, found.by_words, len(judge.asked)) == (True, False, 1)
    chosen = weigh(tmp_path, wanted, words=True)
    assert (chosen.verified, chosen.by_words) == (True, True)


def test_a_task_may_choose_its_promise_alone(tmp_path: Path) -> None:  # 002-05, C29
    found = weigh(tmp_path, criteria(VerificationMethod.STRING_MATCH))
    assert (found.verified, found.by_words) == (True, True)


def test_what_a_judge_approved_is_not_weighed_again(tmp_path: Path) -> None:
    judge = ScriptedJudge(JudgeAnswer(text="VERIFIED"))
    stages = [{"method": "external", "config": {"command": "true"}}, {"method": "acceptance"}]
    found = weigh(tmp_path, criteria(VerificationMethod.MULTI_STAGE, stages=stages), ScriptedBase(GREEN), judge=judge)
    assert (found.verified, len(judge.asked)) == (True, 1)
