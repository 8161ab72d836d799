"""Completion criteria as someone wrote them: gaps filled in, and all that is wrong with them, by place."""

import re
from collections.abc import Mapping

from ralph.core.tasks.criteria import believed
from ralph.core.tasks.task_reading import Found
from ralph.model.spec import DEFAULTS, ROLES, CompletionCriteria, Role, TaskCompletionSpec, VerificationMethod

METHODS = tuple(method.value for method in VerificationMethod)
_ACCEPTANCE = {"check_for": "{{acceptance_criteria}}"}
_SIGNS = {"command": "external", "stages": "multi_stage", "check_for": "semantic", "negative_patterns": "semantic"}

_NAMED = re.compile(r"`(?:\$\.)?(\w+)")  # by msgspec: `key`, or `$.key.inner`


def read_completion(found: Found, title: str) -> TaskCompletionSpec | None:
    """What "done" means; None when that cannot be made out (the problems tell why)."""
    found.expect_keys("outcome", "acceptance_criteria", *ROLES)
    outcome = found.text("outcome", required="say in one sentence what will be true: `--outcome`, or `outcome:`")
    acceptance = found.texts("acceptance_criteria")
    if not acceptance and not found.complained_of("acceptance_criteria"):
        hint = "name what has to be true: `--acceptance`, repeated, or `acceptance_criteria:`"
        found.complain("needs at least one acceptance criterion", "acceptance_criteria", hint=hint)
    own = {role: _read_criteria(inner, role, title) for role in ROLES if (inner := found.inner(role)) is not None}
    return None if found.problems else TaskCompletionSpec(outcome, acceptance, **own)


def _read_criteria(found: Found, role: Role, title: str) -> CompletionCriteria:
    """One agent's part; what is not said is the agent's default. The methods themselves say what they need."""
    found.expect_keys("promise", "description", "verification_method", "verification_config", "max_iterations")
    given = found.inner("verification_config")
    if given is not None:
        given.expect_json()
    method, config = _method(found, {} if given is None else given.raw)
    criteria = CompletionCriteria(
        found.text("promise") or DEFAULTS[role].promise,
        found.text("description") or f"Complete {role} stage for: {title}",
        method,
        config,
        found.number("max_iterations", at_least=1),
    )
    from ralph.app.pipeline.verification import problems

    for problem in problems(believed(criteria)):
        found.complain(problem, "promise", hint=f"for example {DEFAULTS[role].promise}")
    if not any(map(found.complained_of, ("promise", "verification_method", "verification_config"))):
        for problem in problems(criteria):
            found.complain(problem, "verification_config", *_where(problem, config), hint=_needed(role, method))
    return criteria


def _method(found: Found, config: Mapping[str, object]) -> tuple[VerificationMethod, dict[str, object]]:
    """By its name, a template's or a gate's; without one, what the options are for; else the acceptance criteria."""
    name = found.text("verification_method") or next((_SIGNS[key] for key in config if key in _SIGNS), "semantic")
    if name == "semantic" and not config.keys() & _SIGNS.keys():
        config = {**config, **_ACCEPTANCE}
    if name in METHODS:
        return VerificationMethod(name), dict(config)
    from ralph.app.registry import names
    from ralph.verifiers.templates import TEMPLATES, resolved

    if name not in TEMPLATES and name not in names("verifiers"):
        hint = "`ralph verify templates` lists templates"
        found.complain(
            f"no verification method {name!r}; there are {', '.join(METHODS)}", "verification_method", hint=hint
        )
    method, config = resolved(name, config)
    return method, dict(config)


def _where(problem: str, config: Mapping[str, object]) -> tuple[str | int, ...]:
    """Which of the options a method complains of: the stage or the key it names, if it does."""
    stages = config.get("stages")
    for index, stage in enumerate(stages if isinstance(stages, list) else ()):
        if isinstance(stage, dict) and problem.startswith(f"stage '{stage.get('name', 'unnamed')}':"):
            return "stages", index
    return next(((key,) for key in _NAMED.findall(problem) if key in config), ())


def _needed(role: Role, method: VerificationMethod) -> str:
    match method:
        case VerificationMethod.EXTERNAL:
            return f"`--{role}-verify-cmd CMD`, or `verification_config: {{command: …}}`"
        case VerificationMethod.MULTI_STAGE:
            return f"`--{role}-verify-config JSON`, or `verification_config: {{stages: [{{name: …, method: …}}]}}`"
        case _:
            return f"`--{role}-verify-config JSON`, or `verification_config:`"
