"""The promise first, then the method its criteria name."""

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.app import registry
from ralph.app.pipeline.verification import (
    find_criteria_problems,
    is_judge_needed,
    select_file_criteria,
    verify_claim,
)
from ralph.model.spec import CompletionCriteria, VerificationMethod
from support.claimed import PROMISE, make_claim, make_tools

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
