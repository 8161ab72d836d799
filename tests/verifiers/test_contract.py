"""What every verification method guarantees. A new file in ralph/verifiers that verifies is found and held to it."""

import importlib
import inspect
import pkgutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ralph.verifiers
from ralph.model.errors import ConfigError
from ralph.model.spec import VerificationMethod
from ralph.model.verdict import Claim, JudgeAnswer, Verdict
from support.claimed import PROMISE, PROMISE_OUTPUT, ScriptedJudge, make_claim, make_tools

MODULES = [importlib.import_module(f"ralph.verifiers.{m.name}") for m in pkgutil.iter_modules(ralph.verifiers.__path__)]
METHODS = {m.__name__.rpartition(".")[2]: m for m in MODULES if getattr(m, "VERIFIES", "")}
CONFIGS: dict[str, dict[str, Any]] = {  # the least a method needs
    "external": {"command": "true"},
    "multi_stage": {"stages": [{"method": "external", "config": {"command": "true"}}]},
    "files_exist": {"paths": ["."]},
    "http_health": {"url": "http://127.0.0.1:9/", "timeout": 1},
}
OUTPUTS = [
    "",
    PROMISE_OUTPUT,
    PROMISE,
    "<promise></promise>",
    "\0\ud800",
    "x" * 100_000,
    "<promise>" * 50,
    "```\n" + PROMISE_OUTPUT,
]

each_method = pytest.mark.parametrize("name", METHODS)


def built(name: str, judge: ScriptedJudge | None = None) -> Any:
    return METHODS[name].build(CONFIGS.get(name, {}), make_tools(judge))


def test_the_four_methods_of_a_task_are_all_here() -> None:  # 002-01
    assert {*METHODS} >= {method.value for method in VerificationMethod}


@each_method
def test_it_says_what_it_verifies_and_is_called_as_its_file(name: str) -> None:
    assert len(METHODS[name].VERIFIES) > 10
    assert name in [value for key, value in vars(METHODS[name]).items() if key.endswith("_METHOD")]


@each_method
def test_it_is_built_from_options_and_tools(name: str) -> None:
    assert [*inspect.signature(METHODS[name].build).parameters] == ["config", "tools"]


@each_method
@pytest.mark.parametrize("output", OUTPUTS, ids=range(len(OUTPUTS)))
@pytest.mark.parametrize("loose", [False, True])
def test_any_claim_gets_a_verdict_with_a_reason(tmp_path: Path, name: str, output: str, loose: bool) -> None:
    found = built(name).verify(make_claim(tmp_path, output, loose=loose, tree="t"))
    assert isinstance(found, Verdict)
    assert found.method == name
    assert found.reason
    assert not found.interrupted


@each_method
@pytest.mark.parametrize(
    "answer", [JudgeAnswer(text="VERIFIED"), JudgeAnswer(), JudgeAnswer(problem="down"), OSError("gone"), None]
)
def test_no_judge_is_too_bad(tmp_path: Path, name: str, answer: JudgeAnswer | Exception | None) -> None:
    assert built(name, ScriptedJudge(answer)).verify(make_claim(tmp_path)).reason


@each_method
def test_a_worktree_that_is_gone_verifies_nothing_that_looks_at_it(tmp_path: Path, name: str) -> None:
    found = built(name).verify(make_claim(tmp_path / "gone"))
    assert not found.verified or name in ("string_match", "semantic", "contradictions")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
KEYS = st.sampled_from(
    "command timeout working_dir success_exit_code output_contains stages require_all parallel check_for"
    " negative_patterns model paths url status x".split()
)


@each_method
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(config=st.dictionaries(KEYS, VALUES, max_size=4))
def test_options_are_taken_or_refused_with_one_line(name: str, config: dict[str, Any]) -> None:
    assert len(refusal(name, config).splitlines()) <= 1


def refusal(name: str, config: dict[str, Any]) -> str:
    try:
        METHODS[name].build(config, make_tools())
    except ConfigError as error:
        return error.message
    return ""


def test_a_claim_is_not_changed_by_looking_at_it(tmp_path: Path) -> None:
    before = make_claim(tmp_path)
    for name in METHODS:
        built(name).verify(before)
    assert isinstance(before, Claim)
    assert before == make_claim(tmp_path)
