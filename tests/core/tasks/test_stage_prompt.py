"""What an agent of the pipeline reads."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ralph.core.claims import extract_promise
from ralph.core.tasks.changes import extract_changes
from ralph.core.tasks.stage_prompt import StageBrief, render_loop_prompt, render_single_pass_prompt
from ralph.model.spec import (
    ROLES,
    CompletionCriteria,
    Task,
    TaskCompletionSpec,
    VerificationAttempt,
    VerificationMethod,
)

CRITERIA = CompletionCriteria("AUTH_IMPLEMENTED", "Code is there and committed", VerificationMethod.EXTERNAL)
SPEC = TaskCompletionSpec("All endpoints require tokens", ["Login returns JWT", "401 for invalid tokens"])
TASK = Task("TASK-001", "auth", "Implement user authentication", "With tokens.", completion_spec=SPEC)


def brief(**more: Any) -> StageBrief:
    given: dict[str, Any] = {
        "task": TASK,
        "agent": "coder",
        "criteria": CRITERIA,
        "iteration": 3,
        "limit": 15,
        "specification": "# Auth\nUse tokens.",
        **more,
    }
    return StageBrief(**given)


def attempt(iteration: int, reason: str, detail: str = "") -> VerificationAttempt:
    return VerificationAttempt(
        iteration=iteration,
        promise_found=True,
        verified=False,
        reason=reason,
        timestamp="2026-01-01T00:00:00Z",
        detail=detail,
    )


def test_the_prompt_of_the_specification_to_the_letter() -> None:  # 000-04, 000-05, 002-22
    assert render_loop_prompt(brief()) == (
        """\
## Task Information
- **Task ID**: TASK-001
- **Title**: Implement user authentication
- **Stage**: Implementation
- **Ralph Iteration**: 3/15

## Task Description
With tokens.

## Specification
# Auth
Use tokens.

## Completion Requirements

When you have GENUINELY completed this stage:

1. Ensure all requirements from the specification are implemented
2. Commit your changes with a descriptive message
3. Verify your implementation works correctly

Then output:

<promise>AUTH_IMPLEMENTED</promise>

IMPORTANT:
- Only output the promise when ALL requirements are met
- The promise must be completely and unequivocally TRUE
- Do NOT output a false promise to exit early
- If blocked, explain what's preventing completion

Your work will be verified. False promises will be detected.

## Ralph Loop Status
- **Iteration**: 3/15
- **Agent**: coder

## Task Outcome (What "Done" Means)
All endpoints require tokens

## Acceptance Criteria
- [ ] Login returns JWT
- [ ] 401 for invalid tokens

## Your Completion Requirements

When you have GENUINELY completed this stage:

**Success Criteria for coder:**
Code is there and committed

**To signal completion, output:**
```
<promise>AUTH_IMPLEMENTED</promise>
```
(alone on the last line of your final message, outside any code fence)

**CRITICAL:**
- Only output the promise when ALL acceptance criteria are truly met
- Your completion will be verified using: external
- False promises will be detected and the loop will continue
- If blocked, explain what's preventing completion

The loop will continue until genuine completion or iteration 15.
"""
    )


def test_a_single_pass_has_the_suffix_to_the_letter() -> None:  # 000-04, 000-06
    text = render_single_pass_prompt(brief())
    assert text.endswith(
        """\
## Completion Requirements

When you have GENUINELY completed this stage, output:

<promise>AUTH_IMPLEMENTED</promise>

IMPORTANT:
- Only output the promise when ALL requirements are met
- The promise must be completely and unequivocally TRUE
- Do NOT output a false promise to exit early
- If blocked, explain what's preventing completion

Your work will be verified. False promises will be detected.
"""
    )
    assert "Iteration" not in text
    assert "loop will continue" not in text


def test_a_single_pass_is_told_the_outcome_and_the_criteria_like_any_other() -> None:  # C33
    def find_meaning(prompt: str) -> str:
        return prompt[prompt.index("## Task Outcome") :].partition("\n\n## ")[0]

    single, loop = render_single_pass_prompt(brief()), render_loop_prompt(brief())
    assert find_meaning(single) == find_meaning(loop)
    assert "\n\n## Acceptance Criteria\n- [ ] Login returns JWT\n- [ ] 401 for invalid tokens\n\n" in single
    assert "## Ralph Loop Status" not in single


def test_a_task_without_spec_is_to_be_completed() -> None:  # 002-22
    text = render_loop_prompt(brief(task=Task("T-1", "s", "t"), specification=""))
    assert '## Task Outcome (What "Done" Means)\nComplete the assigned task.\n' in text
    assert "## Acceptance Criteria" not in text
    assert "## Specification" not in text


@pytest.mark.parametrize("agent", ["coder", "reviewer", "tester", "qa"])
def test_an_agent_that_cannot_commit_is_not_told_to(agent: str) -> None:  # issue 12
    told = render_loop_prompt(brief(agent=agent, can_commit=False, criteria=replace(CRITERIA, description="It works")))
    assert "1. " in told
    assert "3. " in told
    orders = [line for line in told.splitlines() if "ommit" in line]
    assert orders == ([] if agent == "reviewer" else [line for line in orders if "committed for you" in line])


@pytest.mark.parametrize(
    ("agent", "title"),
    [("coder", "Implementation"), ("reviewer", "Code Review"), ("tester", "Testing"), ("qa", "QA"), ("poet", "poet")],
)
def test_each_stage_has_its_title(agent: str, title: str) -> None:  # 000-05
    assert f"- **Stage**: {title}\n" in render_loop_prompt(brief(agent=agent))
    assert f"- **Agent**: {agent}\n" in render_loop_prompt(brief(agent=agent))


@pytest.mark.parametrize("agent", ROLES)
@pytest.mark.parametrize("prompt", [render_loop_prompt, render_single_pass_prompt])
def test_all_but_the_coder_may_send_it_back(agent: str, prompt: Any) -> None:
    assert ("<changes>\nwhat must change" in prompt(brief(agent=agent))) is (agent != "coder")


def test_the_last_three_reasons_are_told() -> None:
    attempts = [attempt(number, f"Reason {number}\nin two lines") for number in range(1, 6)]
    text = render_loop_prompt(brief(attempts=attempts))
    assert [number for number in range(1, 6) if f"- Iteration {number}: Reason {number}\n  in two lines" in text] == [
        3,
        4,
        5,
    ]


def test_only_the_last_verification_is_quoted_and_only_its_end() -> None:
    attempts = [attempt(1, "r", "older words"), attempt(2, "r", "first line\n" + "x" * 5000 + "\nlast line")]
    text = render_loop_prompt(brief(attempts=attempts))
    assert "older words" not in text
    assert "first line" not in text
    assert "\n    last line\n" in text


def test_requested_changes_are_told() -> None:
    assert "## Changes Requested\nRename it.\n" in render_loop_prompt(brief(changes="Rename it."))
    assert "## Changes Requested" not in render_loop_prompt(brief())


def test_words_that_are_looked_for_are_named() -> None:  # 002-11, 002-22
    config = {"check_for": ["{{acceptance_criteria}}", "no secrets"]}
    stages = {
        "stages": [
            {"method": "semantic", "config": config},
            {"method": "external", "config": {"check_for": ["unread"]}},
            {"method": "semantic"},
            "nonsense",
        ]
    }
    checks: list[tuple[VerificationMethod, Any]] = [
        (VerificationMethod.SEMANTIC, config),
        (VerificationMethod.MULTI_STAGE, stages),
    ]
    for method, given_config in checks:
        text = render_loop_prompt(brief(criteria=CompletionCriteria("P", "d", method, given_config), by_words=True))
        assert "very words, how it is met:\n- Login returns JWT\n- 401 for invalid tokens\n- no secrets\n\n" in text
        assert f"- Your completion will be verified using: {method.value}\n" in text


@pytest.mark.parametrize("render", [render_loop_prompt, render_single_pass_prompt])
def test_an_agent_is_told_how_it_will_be_judged(render: Callable[[StageBrief], str]) -> None:  # 002-30
    config = {"check_for": ["no secrets"], "negative_patterns": ["hardcoded"]}
    criteria = CompletionCriteria("P", "d", VerificationMethod.SEMANTIC, config)
    text = render(brief(criteria=criteria, commands=["make test"], is_verified=True))
    for words in (
        "These commands must succeed in your work tree:\n- `make test`\n",
        "A judge reads your changes, not your praise of them, and rules on each of these:\n- no secrets\n",
        "These words in your final message count against you:\n- `hardcoded`\n",
        "A final message that contradicts its promise is void",
        "A work tree that equals the target is no work",
    ):
        assert words in text
    assert "equals the target" not in render(brief(agent="qa", is_verified=True))


@given(st.text(), st.text(), st.sampled_from([*ROLES, "poet"]))
def test_a_prompt_that_is_repeated_as_an_answer_is_no_claim(title: str, text: str, agent: str) -> None:  # C1
    task = Task("T", "s", title, text, completion_spec=TaskCompletionSpec(text, [text]))
    for prompt in (render_loop_prompt, render_single_pass_prompt):
        echo = prompt(brief(task=task, agent=agent, specification=text))
        assert extract_promise(echo) is None
        assert extract_changes(echo) is None
