"""Which completion criteria hold for a task's agent, and whether its promise was made."""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.answer import unwrap_claim
from ralph.core.claims import extract_promise, extract_promise_loosely
from ralph.model.spec import PROMISE_ALIASES, AgentDefaults, CompletionCriteria, Task, VerificationMethod

_ACCEPTANCE_PLACEHOLDER = re.compile(r"\{\{\s*acceptance_criteria\s*\}\}")


class ApplicableCriteria(Struct, frozen=True):
    """The criteria that hold, and what the user should know about them."""

    criteria: CompletionCriteria
    warning: str = ""


def resolve_criteria(task: Task, agent: str, defaults: AgentDefaults, *, by_words: bool = False) -> ApplicableCriteria:
    """The task's own for that agent; else the agent's defaults; a default method that has nothing to work with gives
    way to the acceptance criteria, and without any of these to what the task is called. `by_words`: nobody judges, so
    it gives way to the promise alone."""
    spec = task.completion_spec
    if spec and (own := spec.get_criteria_for_agent(agent)):
        return ApplicableCriteria(own)
    acceptance = spec.acceptance_criteria if spec else () if by_words else list_judged_criteria(task)
    method, config = _choose_default_method(defaults, acceptance)
    description = f"Complete {agent} stage for: {task.title}"
    warning = "" if spec else f"{task.id} says nothing about completion; {agent} is verified by {method.value}"
    return ApplicableCriteria(CompletionCriteria(defaults.promise, description, method, config), warning)


def list_judged_criteria(task: Task) -> list[str]:
    """What is to be true of the work: the acceptance criteria; of a task without any, what it asks for."""
    spec = task.completion_spec
    if spec and spec.acceptance_criteria:
        return spec.acceptance_criteria
    wanted = spec.outcome if spec else " ".join(task.description.split())
    return [f"{task.title}: {wanted}" if wanted else task.title]


def resolve_max_iterations(criteria: CompletionCriteria, defaults: AgentDefaults) -> int:
    """How many runs the agent has: the criteria's own limit, else its default."""
    return criteria.max_iterations or defaults.max_iterations


def drop_verification(criteria: CompletionCriteria) -> CompletionCriteria:
    """The same criteria with the promise alone deciding (`verify_promises: false`)."""
    return replace(criteria, verification_method=VerificationMethod.STRING_MATCH, verification_config={})


def list_accepted_promises(promise: str) -> tuple[str, ...]:
    """Every spelling that counts as this promise, older aliases included."""
    return (promise, *PROMISE_ALIASES.get(promise, ()))


def is_promise_made(promise: str, output: str) -> bool:
    """Whether the last line of the agent's final message is this promise: the strict rule."""
    return extract_promise(unwrap_claim(output)) in list_accepted_promises(promise)


def has_promise(output: str, loose: bool) -> bool:
    """Whether the message promises anything, which is then verified: a wrong promise fails with its reason."""
    return bool(extract_promise_loosely(output) if loose else extract_promise(output))


def expand_acceptance_criteria(wanted: str | Sequence[str], acceptance_criteria: Sequence[str]) -> tuple[str, ...]:
    """The list with the task's acceptance criteria in place of `{{acceptance_criteria}}`. Where there are none it
    stays, and nothing will be found to meet it."""
    items = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    if not acceptance_criteria:
        return items
    listed = "; ".join(acceptance_criteria)
    found: list[str] = []
    for item in items:
        whole = _ACCEPTANCE_PLACEHOLDER.fullmatch(item.strip())
        found += acceptance_criteria if whole else (_ACCEPTANCE_PLACEHOLDER.sub(lambda _: listed, item),)
    return tuple(found)


def _choose_default_method(
    defaults: AgentDefaults, acceptance_criteria: Sequence[str]
) -> tuple[VerificationMethod, Mapping[str, object]]:
    method = defaults.verification_method
    if method is VerificationMethod.STRING_MATCH or defaults.verification_config:
        return method, defaults.verification_config
    if acceptance_criteria:
        return VerificationMethod.SEMANTIC, {"check_for": [*acceptance_criteria]}
    return VerificationMethod.STRING_MATCH, {}
