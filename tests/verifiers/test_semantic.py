"""A judge decides, or a heuristic."""

import errno
import json
from typing import Any

import pytest

from ralph.model.errors import ConfigError, DiskError
from ralph.model.verdict import JudgeAnswer, Verdict
from ralph.verifiers.semantic import NO_JUDGE_REASON, build
from support.claimed import PROMISE, ScriptedJudge, make_claim, make_tools

WANTED = ["no hardcoded secrets", "proper error handling"]
YES = JudgeAnswer(text="VERIFIED: All criteria appear to be met", cost_usd=0.002)


def reply(*met: bool) -> JudgeAnswer:
    entries = [{"number": n, "met": m} for n, m in enumerate(met, 1)]
    return JudgeAnswer(text=json.dumps({"criteria": entries}), cost_usd=0.002)


def verdict(
    output: str, judge: ScriptedJudge | None = None, more: dict[str, Any] | None = None, **config: Any
) -> Verdict:
    """Without a judge, words were chosen."""
    said = f"{output}\n<promise>{PROMISE}</promise>"
    return build(config, make_tools(judge, words=judge is None)).verify(make_claim(output=said, **(more or {})))


def test_negative_patterns_come_first() -> None:  # 002-06
    judge = ScriptedJudge(YES)
    found = verdict("There is a todo left.", judge, check_for=WANTED, negative_patterns=["FIXME", "TODO"])
    assert (found.verified, found.reason) == (False, "Found negative pattern: TODO")
    assert judge.asked == []


@pytest.mark.parametrize(
    ("output", "config", "verified", "reason"),
    [
        ("No hardcoded SECRETS; proper error handling", {"check_for": WANTED}, True, "All criteria appear met"),
        ("no hardcoded secrets", {"check_for": WANTED}, False, "Criterion not evident: proper error handling"),
        ("", {"check_for": WANTED}, False, "Criterion not evident: no hardcoded secrets"),
        ("anything", {}, True, "All criteria appear met"),
        ("anything", {"negative_patterns": ["TODO"]}, True, "All criteria appear met"),
        ("it is green", {"check_for": "green"}, True, "All criteria appear met"),
    ],
)
def test_where_words_were_chosen_they_must_be_there(
    output: str, config: dict[str, Any], verified: bool, reason: str
) -> None:  # 002-07
    found = verdict(output, **config)
    assert (found.method, found.verified, found.reason) == ("semantic", verified, reason)
    assert found.by_words is (verified and "check_for" in config)


def test_where_nobody_judges_repeating_the_criteria_proves_nothing() -> None:
    found = build({"check_for": WANTED}, make_tools()).verify(make_claim(output=" ".join(WANTED)))
    assert (found.verified, found.reason) == (False, NO_JUDGE_REASON)


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ("There is a hardcoded key.", True),
        ("no hardcoded secrets: read every file", False),  # the criterion's own words
        ("Proper   error\nhandling, no hardcoded\nsecrets.", False),
        ("no hardcoded secrets, but one hardcoded key", True),
        ("Nothing is hardcoded.", False),  # it says that it is not so
        ("I found no hardcoded values. One is hardcoded after all.", True),
        ("I have not removed the hardcoded key.", True),
    ],
)
def test_negative_patterns_are_looked_for_outside_the_criterias_own_words(output: str, found: bool) -> None:
    """Seed 002's own example has `hardcoded` for a pattern and "no hardcoded secrets" for a criterion."""
    judged = verdict(output, ScriptedJudge(YES), check_for=WANTED, negative_patterns=["hardcoded"])
    assert judged.verified is not found


def test_the_tasks_acceptance_criteria_are_put_in() -> None:  # 002-11
    accepted = {"acceptance_criteria": ("Login works",)}
    config: Any = {"check_for": "{{acceptance_criteria}}"}
    assert verdict("I say: login works", None, accepted, **config).verified
    assert verdict("Nothing.", None, accepted, **config).reason == "Criterion not evident: Login works"
    assert verdict("Nothing.", **config).reason == "Criterion not evident: {{acceptance_criteria}}"


def test_the_judge_is_asked_with_all_that_is_known() -> None:  # 002-06, 002-07
    judge = ScriptedJudge(reply(True, True))
    more = {"outcome": "Safe logins", "diff": lambda: "+ raise AuthError"}
    found = verdict("I did it.", judge, more, check_for=WANTED)
    assert (found.verified, found.reason) == (True, "VERIFIED: All criteria appear to be met")
    assert (found.cost_usd, found.notes, found.judge, found.by_words) == (0.002, (), "judge", False)
    (prompt, model), *others = judge.asked
    assert (model, others) == ("", [])  # whichever the judge's settings say
    for words in (
        "1. no hardcoded secrets",
        "2. proper error handling",
        "Safe logins",
        "+ raise AuthError",
        "I did it.",
    ):
        assert words in prompt


def test_another_model_may_judge() -> None:  # 002-06
    judge = ScriptedJudge(YES)
    verdict("x", judge, check_for=WANTED, model="opus")
    assert judge.asked[0][1] == "opus"


def test_the_judge_says_no() -> None:  # 002-07
    assert verdict("x", ScriptedJudge(reply(True, False)), check_for=WANTED).reason == (
        "NOT_VERIFIED: proper error handling: not met"
    )
    found = verdict("x", ScriptedJudge(JudgeAnswer(text="NOT_VERIFIED: nothing was changed")), check_for=WANTED)
    assert (found.verified, found.reason) == (False, "NOT_VERIFIED: nothing was changed")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (JudgeAnswer(problem="no such agent"), "no such agent"),
        (
            JudgeAnswer(text="I would rather not say.", cost_usd=0.01),
            "its answer is not a verdict: 'I would rather not say.'",
        ),
        (JudgeAnswer(text=""), "its answer is not a verdict: ''"),
        (RuntimeError("boom"), "RuntimeError: boom"),
    ],
)
def test_any_trouble_with_the_judge_leaves_it_to_the_promise(
    answer: JudgeAnswer | Exception, problem: str
) -> None:  # 002-24
    found = verdict("x", ScriptedJudge(answer), check_for=WANTED)
    assert (found.method, found.verified, found.reason) == ("semantic", True, "Promise found in output")
    assert found.notes == (f"semantic verification failed, string_match instead for this iteration: {problem}",)
    unsaid = build({"check_for": WANTED}, make_tools(ScriptedJudge(answer))).verify(make_claim(output="no promise"))
    assert (unsaid.verified, unsaid.reason) == (False, f"Promise '{PROMISE}' not found in output")


def test_a_judge_that_fails_is_asked_again() -> None:
    judge = ScriptedJudge(JudgeAnswer(problem="down", cost_usd=0.5), reply(True, False))
    found = verdict("x", judge, check_for=WANTED)
    assert (found.verified, found.cost_usd, found.judge) == (False, 0.502, "judge")
    assert found.notes == ("the judge failed and was retried: down",)
    assert len(judge.asked) == 2


def test_without_a_judges_word_the_last_stage_is_not_passed() -> None:
    found = verdict("x", ScriptedJudge(JudgeAnswer(problem="down")), {"agent": "qa"}, check_for=WANTED)
    assert (found.verified, found.reason) == (False, "The judge failed 2 times: down")


def test_the_judge_is_back_at_the_next_iteration() -> None:  # 002-24
    judge = ScriptedJudge(RuntimeError("boom"), RuntimeError("boom"), reply(True, False))
    gate = build({"check_for": WANTED}, make_tools(judge))
    assert gate.verify(make_claim(tree="t")).by_words
    assert not gate.verify(make_claim(tree="t")).verified  # and trouble was not remembered


def test_an_interrupted_judge_is_neither_yes_nor_no() -> None:
    found = verdict("x", ScriptedJudge(None), check_for=WANTED)
    assert (found.verified, found.interrupted) == (False, True)


def test_the_diff_is_not_asked_for_without_need() -> None:
    def never() -> str:
        raise AssertionError("nobody reads it")

    assert verdict("x", ScriptedJudge(YES), {"diff": never}).verified  # nothing to check for
    assert verdict(WANTED[0], None, {"diff": never}, check_for=WANTED[:1]).verified


def test_the_same_message_on_the_same_tree_is_judged_once() -> None:  # 002-26
    judge = ScriptedJudge(reply(True, True))
    gate = build({"check_for": WANTED}, make_tools(judge))
    assert not gate.verify(make_claim(tree="t")).cached
    assert gate.verify(make_claim(tree="t")).cached
    assert not gate.verify(make_claim(tree="u")).cached
    assert not gate.verify(make_claim(tree="t", output="other words")).cached
    assert len(judge.asked) == 3


def test_options_that_make_no_sense_are_named() -> None:
    with pytest.raises(ConfigError, match="negative_patterns"):
        build({"negative_patterns": "TODO"}, make_tools())


def test_loose_matching_is_the_first_versions() -> None:
    broken = make_tools(ScriptedJudge(JudgeAnswer(problem="down")))
    assert build({"check_for": WANTED}, broken).verify(make_claim(output=f"so {PROMISE.lower()}", loose=True)).verified


@pytest.mark.parametrize("error", [DiskError("no room"), OSError(errno.ENOSPC, "No space left on device")])
def test_on_a_full_disk_nobody_passes_by_words(error: Exception) -> None:
    with pytest.raises(DiskError, match=r"no room|No space"):
        verdict("x", ScriptedJudge(error), check_for=WANTED)
