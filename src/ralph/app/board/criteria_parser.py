"""Completion criteria as someone wrote them: gaps filled in, and all that is wrong with them, by place."""

import re
from collections.abc import Mapping

from ralph.core.tasks.criteria import drop_verification
from ralph.core.tasks.task_reading import MappingReader
from ralph.model.spec import AGENT_DEFAULTS, ROLES, CompletionCriteria, Role, TaskCompletionSpec, VerificationMethod

VERIFICATION_METHODS = tuple(method.value for method in VerificationMethod)
_ACCEPTANCE_CONFIG = {"check_for": "{{acceptance_criteria}}"}
_METHOD_BY_OPTION = {
    "command": "external",
    "stages": "multi_stage",
    "check_for": "semantic",
    "negative_patterns": "semantic",
}

_QUOTED_KEY = re.compile(r"`(?:\$\.)?(\w+)")  # by msgspec: `key`, or `$.key.inner`


def parse_completion(found: MappingReader, title: str) -> TaskCompletionSpec | None:
    """What "done" means; None when that cannot be made out (the problems tell why)."""
    found.expect_keys("outcome", "acceptance_criteria", *ROLES, "may_change_nothing")
    outcome = found.read_text("outcome", required="say in one sentence what will be true: `--outcome`, or `outcome:`")
    acceptance = found.read_texts("acceptance_criteria")
    if not acceptance and not found.has_problem("acceptance_criteria"):
        hint = "name what has to be true: `--acceptance`, repeated, or `acceptance_criteria:`"
        found.add_problem("needs at least one acceptance criterion", "acceptance_criteria", hint=hint)
    own = {
        role: _parse_criteria(inner, role, title) for role in ROLES if (inner := found.read_mapping(role)) is not None
    }
    may_change_nothing = found.read_switch("may_change_nothing")
    if found.problems:
        return None
    return TaskCompletionSpec(outcome, acceptance, **own, may_change_nothing=may_change_nothing)


def _parse_criteria(found: MappingReader, role: Role, title: str) -> CompletionCriteria:
    """One agent's part; what is not said is the agent's default. The methods themselves say what they need."""
    found.expect_keys("promise", "description", "verification_method", "verification_config", "max_iterations")
    given = found.read_mapping("verification_config")
    if given is not None:
        given.expect_json()
    method, config = _parse_method(found, {} if given is None else given.raw)
    criteria = CompletionCriteria(
        found.read_text("promise") or AGENT_DEFAULTS[role].promise,
        found.read_text("description") or f"Complete {role} stage for: {title}",
        verification_method=method,
        verification_config=config,
        max_iterations=found.read_number("max_iterations", at_least=1),
    )
    from ralph.app.pipeline.verification import find_criteria_problems

    for problem in find_criteria_problems(drop_verification(criteria)):
        found.add_problem(problem, "promise", hint=f"for example {AGENT_DEFAULTS[role].promise}")
    if not any(map(found.has_problem, ("promise", "verification_method", "verification_config"))):
        for problem in find_criteria_problems(criteria):
            found.add_problem(
                problem, "verification_config", *_locate_option(problem, config), hint=_describe_needs(role, method)
            )
    return criteria


def _parse_method(found: MappingReader, config: Mapping[str, object]) -> tuple[VerificationMethod, dict[str, object]]:
    """By its name, a template's or a gate's; without one, what the options are for; else the acceptance criteria."""
    name = found.read_text("verification_method") or next(
        (_METHOD_BY_OPTION[key] for key in config if key in _METHOD_BY_OPTION), "semantic"
    )
    if name == "semantic" and not config.keys() & _METHOD_BY_OPTION.keys():
        config = {**config, **_ACCEPTANCE_CONFIG}
    if name in VERIFICATION_METHODS:
        return VerificationMethod(name), dict(config)
    from ralph.app.registry import list_extensions
    from ralph.verifiers.templates import TEMPLATES, resolve_method

    if name not in TEMPLATES and name not in list_extensions("verifiers"):
        hint = "`ralph verify templates` lists templates"
        found.add_problem(
            f"no verification method {name!r}; there are {', '.join(VERIFICATION_METHODS)}",
            "verification_method",
            hint=hint,
        )
    method, config = resolve_method(name, config)
    return method, dict(config)


def _locate_option(problem: str, config: Mapping[str, object]) -> tuple[str | int, ...]:
    """Which of the options a method complains of: the stage or the key it names, if it does."""
    stages = config.get("stages")
    for index, stage in enumerate(stages if isinstance(stages, list) else ()):
        if isinstance(stage, dict) and problem.startswith(f"stage '{stage.get('name', 'unnamed')}':"):
            return "stages", index
    return next(((key,) for key in _QUOTED_KEY.findall(problem) if key in config), ())


def _describe_needs(role: Role, method: VerificationMethod) -> str:
    match method:
        case VerificationMethod.EXTERNAL:
            return f"`--{role}-verify-cmd CMD`, or `verification_config: {{command: …}}`"
        case VerificationMethod.MULTI_STAGE:
            return f"`--{role}-verify-config JSON`, or `verification_config: {{stages: [{{name: …, method: …}}]}}`"
        case _:
            return f"`--{role}-verify-config JSON`, or `verification_config:`"
