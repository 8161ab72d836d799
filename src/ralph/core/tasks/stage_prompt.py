"""What an agent of the pipeline reads: the task, where its loop stands, what done means, what went wrong so far."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ralph.core.tasks.criteria import expand_acceptance_criteria
from ralph.model.ports import BranchSides
from ralph.model.spec import CompletionCriteria, Task, VerificationAttempt, VerificationMethod

MAX_LISTED_ATTEMPTS = 3  # how many of the latest are told
MAX_VERIFICATION_DETAIL_CHARS = 3000  # characters of what the last verification printed
_MAX_LISTED_WORDS = 20  # words a semantic check looks for

STAGE_TITLES: Mapping[str, str] = {
    "coder": "Implementation",
    "reviewer": "Code Review",
    "tester": "Testing",
    "qa": "QA",
}
_STEPS: Mapping[str, tuple[str, str, str]] = {
    "coder": (
        "Ensure all requirements from the specification are implemented",
        "Commit your changes with a descriptive message",
        "Verify your implementation works correctly",
    ),
    "reviewer": (
        "Read every change made for this task and hold it against the specification",
        "Look for faults, missing requirements, missing tests and security problems",
        "Decide: approve it, or say what must change",
    ),
    "tester": (
        "Ensure every requirement and acceptance criterion is covered by a test",
        "Run all the tests and commit those you added with a descriptive message",
        "Verify that the tests pass, and would fail if the work were wrong",
    ),
    "qa": (
        "Ensure every acceptance criterion is met, by trying it out",
        "Ensure all work for this task is committed and all tests pass",
        "Verify that nothing that worked before is broken",
    ),
}

_STEPS_WITHOUT_COMMIT: Mapping[str, str] = {  # the second step of an agent that cannot commit
    "coder": "Leave your changes in the working tree: they are committed for you",
    "tester": "Run all the tests; those you added are committed for you",
    "qa": "Ensure all tests pass; what is not committed yet is committed for you",
}

_PROMISE_RULES = """\
IMPORTANT:
- Only output the promise when ALL requirements are met
- The promise must be completely and unequivocally TRUE
- Do NOT output a false promise to exit early
- If blocked, explain what's preventing completion

Your work will be verified. False promises will be detected."""

_ONE_RUN_REQUIREMENTS = """\
## Completion Requirements

When you have GENUINELY completed this stage, output:

<promise>{promise}</promise>

"""

_LOOP_REQUIREMENTS = """\
## Completion Requirements

When you have GENUINELY completed this stage:

{steps}

Then output:

<promise>{promise}</promise>

"""

_STATUS = """\
## Ralph Loop Status
- **Iteration**: {iteration}/{limit}
- **Agent**: {agent}"""

_OUTCOME = """\
## Task Outcome (What "Done" Means)
{outcome}"""

_OWN_REQUIREMENTS = """\
## Your Completion Requirements

When you have GENUINELY completed this stage:

**Success Criteria for {agent}:**
{description}

**To signal completion, output:**
```
<promise>{promise}</promise>
```
(alone on the last line of your final message, outside any code fence)

**CRITICAL:**
- Only output the promise when ALL acceptance criteria are truly met
- Your completion will be verified using: {method}
- False promises will be detected and the loop will continue
- If blocked, explain what's preventing completion"""

_SEND_BACK = """\
**If you find faults the coder must repair**, do not output the promise. End your final message with what must change:
```
<changes>
what must change, where, and why
</changes>
```
(outside any code fence) The task then goes back to the coder with that text."""


_CONTRADICTION_RULE = (
    "A final message that contradicts its promise is void: an open TODO:, work not yet implemented, tests that fail."
)
_REGRESSION_RULE = (
    "A command that succeeds without your work proves only that nothing broke. Then add a test that fails without your"
    " work and passes with it: it is run on both."
)
_CHANGE_RULE = "A work tree that equals the target is no work: change what the task asks for."


_CONFLICT = """\
## Merge conflict

The work of {task} is done and verified, and cannot be merged into `{target}` yet. {notes}

- Merge `{target}` into the branch you are on, `{branch}`, resolve the conflicts and commit the merge.
- Keep what both sides are for. What `{target}` does must still work, and so must this task.
- What you leave is looked at again before it lands."""


class StageBrief(Struct, frozen=True, kw_only=True):
    """All that one agent run of a stage is told."""

    task: Task
    agent: str
    criteria: CompletionCriteria
    iteration: int
    limit: int
    specification: str = ""
    attempts: Sequence[VerificationAttempt] = ()
    changes: str = ""  # what a later stage wants changed
    can_commit: bool = True
    commands: Sequence[str] = ()  # that verify its promise
    by_words: bool = False  # nobody judges: its message has to name the criteria
    is_verified: bool = False  # what contradicts its promise counts against it
    notes: Sequence[str] = ()  # sections about this work tree, ready to be read


def render_loop_prompt(brief: StageBrief) -> str:
    """The prompt of one iteration of a Ralph loop."""
    parts = [
        _render_header(brief, f"\n- **Ralph Iteration**: {brief.iteration}/{brief.limit}"),
        *_render_specification(brief),
        _LOOP_REQUIREMENTS.format(steps=_render_steps(brief), promise=brief.criteria.promise) + _PROMISE_RULES,
        _STATUS.format(iteration=brief.iteration, limit=brief.limit, agent=brief.agent),
        _render_outcome(brief),
        *_render_acceptance(brief),
        *_render_requested_changes(brief),
        *_render_attempts(brief.attempts),
        *brief.notes,
        *_render_own_requirements(brief),
        f"The loop will continue until genuine completion or iteration {brief.limit}.",
    ]
    return "\n\n".join(parts) + "\n"


def render_single_pass_prompt(brief: StageBrief) -> str:
    """The prompt of an agent whose loop is switched off."""
    parts = [
        _render_header(brief, ""),
        *_render_specification(brief),
        _render_outcome(brief),
        *_render_acceptance(brief),
        *_render_requested_changes(brief),
        *brief.notes,
        *_render_judgement(brief),
        _ONE_RUN_REQUIREMENTS.format(promise=brief.criteria.promise) + _PROMISE_RULES,
        *([] if brief.agent == "coder" else [_SEND_BACK]),
    ]
    return "\n\n".join(parts) + "\n"


def render_conflict_prompt(task: Task, notes: str, sides: BranchSides) -> str:
    """For the run that is to make the branch mergeable."""
    spec = task.completion_spec
    parts = [
        _CONFLICT.format(task=task.id, target=sides.target, branch=sides.branch, notes=notes),
        f"## Task\n{task.id}: {task.title}",
        *([_OUTCOME.format(outcome=spec.outcome)] if spec else []),
        *_render_criteria(task),
        _render_list(f"Commits of `{sides.branch}`:", sides.ours),
        _render_list(f"Commits of `{sides.target}` that it does not have yet:", sides.theirs),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _render_header(brief: StageBrief, more: str) -> str:
    task = brief.task
    stage = STAGE_TITLES.get(brief.agent, brief.agent)
    return f"## Task Information\n- **Task ID**: {task.id}\n- **Title**: {task.title}\n- **Stage**: {stage}{more}"


def _render_specification(brief: StageBrief) -> list[str]:
    described = [f"## Task Description\n{text}"] if (text := brief.task.description.strip()) else []
    specified = [f"## Specification\n{text}"] if (text := brief.specification.strip()) else []
    return described + specified


def _render_steps(brief: StageBrief) -> str:
    first, second, third = _STEPS.get(brief.agent, _STEPS["coder"])
    if not brief.can_commit:
        second = _STEPS_WITHOUT_COMMIT.get(brief.agent, second)
    return f"1. {first}\n2. {second}\n3. {third}"


def _render_outcome(brief: StageBrief) -> str:
    spec = brief.task.completion_spec
    return _OUTCOME.format(outcome=spec.outcome if spec else "Complete the assigned task.")


def _render_acceptance(brief: StageBrief) -> list[str]:
    return _render_criteria(brief.task)


def _render_criteria(task: Task) -> list[str]:
    listed = "\n".join(f"- [ ] {criterion}" for criterion in _acceptance_criteria(task))
    return [f"## Acceptance Criteria\n{listed}"] if listed else []


def _render_requested_changes(brief: StageBrief) -> list[str]:
    return [f"## Changes Requested\n{text}"] if (text := brief.changes.strip()) else []


def _render_attempts(attempts: Sequence[VerificationAttempt]) -> list[str]:
    """The reasons of the last attempts, and what the very last verification printed."""
    if not attempts:
        return []
    lines = [f"- Iteration {a.iteration}: {_indent(a.reason, '  ')}" for a in attempts[-MAX_LISTED_ATTEMPTS:]]
    detail = attempts[-1].detail.strip()
    if detail:
        lines += [
            "",
            "The last verification printed:",
            "",
            "    " + _indent(detail[-MAX_VERIFICATION_DETAIL_CHARS:], "    "),
        ]
    return ["\n".join(["## Previous Attempts", "These did not count as done. Repair the cause first.", *lines])]


def _render_own_requirements(brief: StageBrief) -> list[str]:
    criteria = brief.criteria
    text = _OWN_REQUIREMENTS.format(
        agent=brief.agent,
        description=criteria.description,
        promise=criteria.promise,
        method=criteria.verification_method.value,
    )
    return [text, *_render_judgement(brief), *([] if brief.agent == "coder" else [_SEND_BACK])]


def _render_judgement(brief: StageBrief) -> list[str]:
    """How its work will be judged: the commands, who rules on which criteria, the words that count against it."""
    words = list_expected_words(brief.criteria, _acceptance_criteria(brief.task))[:_MAX_LISTED_WORDS]
    who = (
        "In your final message, say of each of these, in these very words, how it is met:"
        if brief.by_words
        else "A judge reads your changes, not your praise of them, and rules on each of these:"
    )
    negative = list_negative_patterns(brief.criteria)
    parts = [
        _render_list("These commands must succeed in your work tree:", [f"`{each}`" for each in brief.commands]),
        _REGRESSION_RULE if brief.commands and brief.agent == "coder" else "",
        _render_list(who, words),
        _render_list("These words in your final message count against you:", [f"`{each}`" for each in negative]),
        _CONTRADICTION_RULE if brief.is_verified else "",
        _CHANGE_RULE if brief.is_verified and brief.agent == "coder" and not _may_change_nothing(brief.task) else "",
    ]
    listed = "\n\n".join(part for part in parts if part)
    return [f"## How Your Work Is Judged\n{listed}"] if listed else []


def _render_list(head: str, items: Sequence[str]) -> str:
    return "\n".join([head, *(f"- {item}" for item in items)]) if items else ""


def _may_change_nothing(task: Task) -> bool:
    return task.completion_spec is not None and task.completion_spec.may_change_nothing


def list_negative_patterns(criteria: CompletionCriteria) -> list[str]:
    """The words that semantic checks, stages included, hold against a message."""
    found: list[str] = []
    for method, config in _flatten_checks(criteria.verification_method.value, criteria.verification_config):
        patterns = config.get("negative_patterns") if method == VerificationMethod.SEMANTIC.value else None
        found += [str(each) for each in patterns] if isinstance(patterns, list | tuple) else []
    return list(dict.fromkeys(found))


def list_expected_words(criteria: CompletionCriteria, acceptance_criteria: Sequence[str]) -> list[str]:
    """What semantic checks, stages included, will look for."""
    found: list[str] = []
    for method, config in _flatten_checks(criteria.verification_method.value, criteria.verification_config):
        wanted = config.get("check_for") if method == VerificationMethod.SEMANTIC.value else None
        if isinstance(wanted, str | list | tuple):
            found += expand_acceptance_criteria(wanted, acceptance_criteria)
    return list(dict.fromkeys(found))


def _flatten_checks(method: str, config: Mapping[str, object]) -> list[tuple[object, Mapping[str, object]]]:
    stages = config.get("stages") if method == VerificationMethod.MULTI_STAGE.value else None
    if not isinstance(stages, list | tuple):
        return [(method, config)]
    maps = [stage for stage in stages if isinstance(stage, Mapping)]
    return [(stage.get("method"), inner) for stage in maps if isinstance(inner := stage.get("config"), Mapping)]


def _acceptance_criteria(task: Task) -> Sequence[str]:
    return task.completion_spec.acceptance_criteria if task.completion_spec else ()


def _indent(text: str, margin: str) -> str:
    return text.strip().replace("\n", f"\n{margin}")
