"""What got weaker between two settings: checks, what an agent may do, what bounds it."""

from collections.abc import Iterator, Sequence

from ralph.config.schema import AgentSettings, Guardrail, Settings, Specflow
from ralph.core.text.quantities import format_money
from ralph.core.text.secrets import redact

_PERMISSION_ORDER = ("edits", "checks", "all")
_PROOF_ORDER = ("strict", "warn", "off")
_DEFAULT_PERMISSION = "checks"


def find_weakenings(before: Settings, after: Settings) -> tuple[str, ...]:
    """One sentence each; empty where `after` asks for as much as `before`. What asks for more is none."""
    return (
        *_compare_guardrails(before.guardrails, after.guardrails),
        *_compare_supervise(before, after),
        *_compare_proofs(before, after),
        *_compare_claims(before, after),
        *_compare_agents(before.agent, after.agent),
        *_compare_sandbox(before, after),
        *_compare_limits(before, after),
        *_compare_scm(before, after),
        *_compare_specflow(before.specflow, after.specflow),
    )


def _compare_guardrails(before: Sequence[Guardrail], after: Sequence[Guardrail]) -> Iterator[str]:
    """By what they run; a hint, a place in the prompt or more time make none weaker."""
    left = [_identify_guardrail(guardrail) for guardrail in after]
    for guardrail in before:
        if (essence := _identify_guardrail(guardrail)) in left:
            left.remove(essence)
        else:
            yield f"guardrail removed or changed: {redact(guardrail.label)}"


def _identify_guardrail(guardrail: Guardrail) -> tuple[object, ...]:
    return guardrail.kind, guardrail.command, sorted(guardrail.options.items(), key=lambda item: item[0])


def _compare_supervise(before: Settings, after: Settings) -> Iterator[str]:
    for check in before.supervise.checks:
        if check not in after.supervise.checks:
            yield f"supervise check removed or changed: {redact(check)}"


def _compare_proofs(before: Settings, after: Settings) -> Iterator[str]:
    if _PROOF_ORDER.index(after.proofs) > _PROOF_ORDER.index(before.proofs):
        yield f"proofs: {after.proofs} (was {before.proofs})"
    if gone := [pattern for pattern in before.protected if pattern not in after.protected]:
        yield f"no longer protected: {', '.join(gone)}"
    if before.snapshots and not after.snapshots:
        yield "snapshots: false"


def _compare_claims(before: Settings, after: Settings) -> Iterator[str]:
    if added := [signal for signal in after.until if signal not in before.until]:
        yield f"completion is also claimed by {', '.join(added)}"
    if before.completion_response != after.completion_response:
        yield f"completionResponse: {after.completion_response} (was {before.completion_response})"


def _compare_agents(before: AgentSettings, after: AgentSettings) -> Iterator[str]:
    then, now = before.permissions or _DEFAULT_PERMISSION, after.permissions or _DEFAULT_PERMISSION
    if _PERMISSION_ORDER.index(now) > _PERMISSION_ORDER.index(then):
        yield f"agent.permissions: {now} (was {then})"
    if added := [command for command in after.allow if command not in before.allow]:
        yield f"the agent may also run: {', '.join(map(redact, added))}"
    for label in ("command", "flags", "adapter"):
        if getattr(before, label) != getattr(after, label):
            yield f"agent.{label} changed"
    if before.guard and not after.guard:
        yield "agent.guard: off (was on)"
    if added := sorted({*after.pass_environment, *after.environment} - {*before.pass_environment, *before.environment}):
        yield f"the agent gets other variables: {', '.join(added)}"
    if any(after.environment.get(name, value) != value for name, value in before.environment.items()):
        yield "the values of the agent's variables changed"


def _compare_sandbox(before: Settings, after: Settings) -> Iterator[str]:
    """Another kind counts as weaker: which of two holds more depends on the machine."""
    then, now = before.sandbox, after.sandbox
    if now.kind != then.kind and (now.kind == "none" or then.kind not in (None, "none")):
        yield f"sandbox: {now.kind or 'not set'} (was {then.kind or 'not set'})"
    if now.network != then.network and now.network != "none":
        yield "sandbox.network changed"
    if added := [path for path in now.mounts if path not in then.mounts]:
        yield f"the sandbox also holds: {', '.join(added)}"
    if gone := [pattern for pattern in then.protected if pattern not in now.protected]:
        yield f"no longer protected in the sandbox: {', '.join(gone)}"
    if after.setup and after.setup != before.setup:
        yield f"setup runs: {redact(after.setup)}"


def _compare_limits(before: Settings, after: Settings) -> Iterator[str]:
    if after.maximum_iterations > before.maximum_iterations:
        yield f"maximumIterations: {after.maximum_iterations} (was {before.maximum_iterations})"
    if _is_looser(before.budget_usd, after.budget_usd):
        yield f"budgetUsd: {format_money(after.budget_usd, 'no limit')} (was {format_money(before.budget_usd)})"
    if _is_looser(before.max_time_seconds, after.max_time_seconds):
        yield f"maxTimeSeconds: {after.max_time_seconds or 'no limit'} (was {before.max_time_seconds})"


def _is_looser(before: float | None, after: float | None) -> bool:
    return before is not None and (after is None or after > before)


def _compare_scm(before: Settings, after: Settings) -> Iterator[str]:
    then, now = before.scm, after.scm
    if now is not None and (then is None or (then.command, then.tasks) != (now.command, now.tasks)):
        yield f"scm runs {now.command}: {', '.join(now.tasks)}"


def _compare_specflow(before: Specflow, after: Specflow) -> Iterator[str]:
    for name in ("enabled", "verify_promises"):
        if getattr(before, name) and not getattr(after, name):
            yield f"{name}: false"
    for name in ("default_verification", "promise_match", "judge"):
        if getattr(before, name) != getattr(after, name):
            yield f"{name} changed"
    if _is_looser(before.task_budget_usd, after.task_budget_usd):
        yield "task_budget_usd raised"
    for role in ("coder", "reviewer", "tester", "qa"):
        then, now = getattr(before, role), getattr(after, role)
        if (then.enabled, then.completion_promise, then.agent) != (now.enabled, now.completion_promise, now.agent):
            yield f"{role} changed"
