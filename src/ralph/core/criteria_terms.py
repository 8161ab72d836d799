"""Completion criteria as someone wrote them: gaps filled in, and all that is wrong with them, by place."""

from collections.abc import Mapping
from difflib import get_close_matches

from ralph.core.task_reading import Found, kind_of
from ralph.model.board import Problem
from ralph.model.spec import DEFAULTS, ROLES, CompletionCriteria, Role, TaskCompletionSpec, VerificationMethod

ACCEPTANCE = "{{acceptance_criteria}}"
METHODS = tuple(method.value for method in VerificationMethod)
_STAGE = ("name", "method", "config", "required")
_CONFIG: Mapping[str, tuple[str, ...]] = {  # the keys of verification_config; gates may know more
    "string_match": (),
    "semantic": ("check_for", "negative_patterns", "model"),
    "external": (
        *("command", "success_exit_code", "output_contains", "output_not_contains", "timeout", "working_dir"),
        "template",
    ),
    "multi_stage": ("stages", "require_all"),
}


def read_completion(found: Found, title: str) -> TaskCompletionSpec | None:
    """What "done" means; None when that cannot be made out (the problems tell why)."""
    found.expect_keys("outcome", "acceptance_criteria", *ROLES)
    outcome = found.text("outcome", required="say in one sentence what will be true: `--outcome`, `outcome:`")
    criteria = found.texts("acceptance_criteria")
    if not criteria and not found.complained_of("acceptance_criteria"):
        found.complain(
            "needs at least one acceptance criterion", "acceptance_criteria", hint="`--acceptance`, repeated"
        )
    own = {role: read_criteria(inner, role, title) for role in ROLES if (inner := found.inner(role)) is not None}
    return None if found.problems else TaskCompletionSpec(outcome, criteria, **own)


def read_criteria(found: Found, role: Role, title: str) -> CompletionCriteria:
    """One agent's part; what is not said is the agent's default."""
    found.expect_keys("promise", "description", "verification_method", "verification_config", "max_iterations")
    promise = found.text("promise") or DEFAULTS[role].promise
    if "\n" in promise or "<" in promise:
        found.complain(f"the promise {promise!r} has to be one line without tags", "promise")
    config = found.inner("verification_config")
    config = found.empty("verification_config") if config is None else config
    method = found.choice("verification_method", METHODS) or _suggested(config.raw)
    most = found.number("max_iterations", at_least=1)
    return CompletionCriteria(
        promise,
        found.text("description") or f"Complete {role} stage for: {title}",
        VerificationMethod(method),
        read_config(config, method),
        most,
    )


def read_config(found: Found, method: str) -> dict[str, object]:
    """What a method works with; a semantic one without anything to look for looks for the acceptance criteria."""
    found.expect_json()
    for key in found.raw:
        if key not in _CONFIG[method] and (near := get_close_matches(key, _CONFIG[method], 1, 0.8)):
            found.complain(f"unknown key {key!r}; did you mean {near[0]!r}?", key)
    match method:
        case "external":
            _read_external(found)
        case "semantic":
            found.texts("check_for")
            found.texts("negative_patterns")
            found.text("model")
        case "multi_stage":
            _read_stages(found)
    if method == "semantic" and not found.raw.keys() & {"check_for", "negative_patterns"}:
        return {**found.raw, "check_for": ACCEPTANCE}
    return dict(found.raw)


def _read_external(found: Found) -> None:
    if not found.text("command") and not found.text("template") and not found.complained_of("command"):
        hint = "give the command: `--AGENT-verify-cmd`, `verification_config: {command: …}`"
        found.complain("external verification needs a command", "command", hint=hint)
    found.number("success_exit_code")
    found.number("timeout", at_least=1, whole=False)
    found.text("output_contains")
    found.text("output_not_contains")
    folder = found.text("working_dir")
    if folder.startswith("/") or ".." in folder.split("/"):
        found.complain(f"working_dir {folder!r} leads out of the work tree", "working_dir")


def _read_stages(found: Found) -> None:
    stages = found.raw.get("stages")
    found.flag("require_all")
    if not isinstance(stages, list) or not stages:
        what = "nothing" if stages is None or stages == [] else kind_of(stages)
        hint = '`--AGENT-verify-config \'{"stages": [{"name": …, "method": …, "config": …}]}\'`'
        found.complain(f"multi_stage verification needs a list of stages, got {what}", "stages", hint=hint)
        return
    for index in range(len(stages)):
        stage = found.item("stages", index)
        if stage is None:
            continue
        stage.expect_near_keys(_STAGE)
        stage.text("name")
        stage.flag("required")
        method = stage.choice("method", METHODS) or "string_match"
        config = stage.inner("config")
        read_config(stage.empty("config") if config is None else config, method)


def _suggested(config: Mapping[str, object]) -> str:
    """The method that what is given is for."""
    return next((method for method in METHODS if config.keys() & {*_CONFIG[method]}), "semantic")
