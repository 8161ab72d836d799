"""Verification put together: the promise first, then the method its criteria name."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from msgspec import to_builtins
from msgspec.structs import replace

from ralph.app import registry
from ralph.model.errors import ConfigError, UnknownExtension
from ralph.model.ports import Processes
from ralph.model.spec import CompletionCriteria, VerificationMethod
from ralph.model.verdict import AskJudge, Claim, Verdict, Verifier, VerifierConfig, VerifierTools
from ralph.verifiers import contradictions, external, multi_stage, semantic, templates
from ralph.verifiers._memory import IterationMemory
from ralph.verifiers._options import parse_options
from ralph.verifiers.string_match import StringMatchVerifier

MESSAGE_ONLY_METHODS = (
    *multi_stage.SKIPPED_METHODS,
    semantic.SEMANTIC_METHOD,
    contradictions.CONTRADICTIONS_METHOD,
)  # methods that look at a message only


class CriteriaVerifier:
    """Implements the port `ClaimVerifier`. What is found for one claim is not remembered for the next."""

    def __init__(self, processes: Callable[[], AbstractContextManager[Processes]], judge: AskJudge | None) -> None:
        self._open_processes, self._judge = processes, judge

    def verify(self, claim: Claim, criteria: CompletionCriteria) -> Verdict:
        return verify_claim(claim, criteria, build_tools(self._open_processes, self._judge))


def verify_claim(claim: Claim, criteria: CompletionCriteria, tools: VerifierTools) -> Verdict:
    """Run the method of the criteria on a claim. Unless matching is loose, none runs before the promise itself was
    made."""
    claim = replace(claim, promise=criteria.promise)
    if not claim.loose and not (promised := StringMatchVerifier().verify(claim)).verified:
        return promised
    began = time.monotonic()
    verdict = _run_method(claim, criteria, tools)
    return replace(verdict, seconds=verdict.seconds or time.monotonic() - began)


def build_tools(
    processes: Callable[[], AbstractContextManager[Processes]], judge: AskJudge | None = None
) -> VerifierTools:
    """The tools of one iteration; what is cached in them is forgotten with it."""
    return VerifierTools(processes=processes, memory=IterationMemory(), build=load_verifier, judge=judge)


def load_verifier(name: str, config: VerifierConfig, tools: VerifierTools) -> Verifier | None:
    """The verifier of that name: a template's, a built-in one, or an entry point's; None where there is none.
    ConfigError: bad options."""
    name, config = templates.apply_template(name, config)
    try:
        module = registry.load_extension("verifiers", name)
    except UnknownExtension:
        return None
    if not getattr(module, "VERIFIES", ""):
        return None  # a gate of another kind
    verifier: Verifier = module.build(config, tools)
    return verifier


def select_file_criteria(criteria: CompletionCriteria) -> CompletionCriteria | None:
    """The part of the criteria that looks at files, for a merged tree whose agent is gone; None where all of it looks
    at words."""
    if criteria.verification_method is not VerificationMethod.MULTI_STAGE:
        return criteria if criteria.verification_method is VerificationMethod.EXTERNAL else None
    options = parse_options(multi_stage.MULTI_STAGE_METHOD, multi_stage.MultiStageOptions, criteria.verification_config)
    stages = [to_builtins(stage) for stage in options.stages if _looks_at_files(stage)]
    config = {**criteria.verification_config, "stages": stages}
    return replace(criteria, verification_config=config) if stages else None


def is_judge_needed(criteria: CompletionCriteria) -> bool:
    """Whether these criteria ask a judge, where one is configured."""
    if criteria.verification_method is not VerificationMethod.MULTI_STAGE:
        return criteria.verification_method is VerificationMethod.SEMANTIC
    stages = parse_options(
        multi_stage.MULTI_STAGE_METHOD, multi_stage.MultiStageOptions, criteria.verification_config
    ).stages
    return any(templates.apply_template(stage.method, stage.config)[0] == semantic.SEMANTIC_METHOD for stage in stages)


def list_criteria_commands(criteria: CompletionCriteria) -> list[str]:
    """The commands that will judge the work, in their order: its agents may run them, too."""
    method, config = templates.apply_template(_method_name(criteria), criteria.verification_config)
    if method == multi_stage.MULTI_STAGE_METHOD:
        options = parse_options(method, multi_stage.MultiStageOptions, config)
        applied = [templates.apply_template(stage.method, stage.config) for stage in options.stages]
    else:
        applied = [(method, config)]
    found = [options.get("command") for name, options in applied if name == external.EXTERNAL_METHOD]
    return [command for command in found if isinstance(command, str) and command.strip()]


def find_criteria_problems(criteria: CompletionCriteria) -> tuple[str, ...]:
    """What is wrong with criteria, found before an agent works for them."""
    return tuple(_iter_problems(criteria))


def _looks_at_files(stage: multi_stage.VerificationStage) -> bool:
    return templates.apply_template(stage.method, stage.config)[0] not in MESSAGE_ONLY_METHODS


def _run_method(claim: Claim, criteria: CompletionCriteria, tools: VerifierTools) -> Verdict:
    name = _method_name(criteria)
    try:
        verifier = load_verifier(name, criteria.verification_config, tools)
    except ConfigError as error:
        return Verdict(method=name, verified=False, reason=error.message)
    if verifier is None:
        return Verdict(method=name, verified=False, reason=_unknown_method_message(name, criteria.verification_config))
    return verifier.verify(claim)


def _method_name(criteria: CompletionCriteria) -> str:
    """Callers of the Python API may name a template or a gate of their own instead of one of the four."""
    wanted: object = criteria.verification_method
    return wanted.value if isinstance(wanted, VerificationMethod) else str(wanted)


def _iter_problems(criteria: CompletionCriteria) -> Iterator[str]:
    promise = criteria.promise
    if not promise.strip() or promise != promise.strip() or len(promise.splitlines()) > 1:
        yield f"the promise must be one line of text without blanks around it, not {promise!r}"
    if "<promise>" in promise.lower() or "</promise>" in promise.lower():
        yield f"the promise is the text inside the tag, without the tag, not {promise!r}"
    if criteria.max_iterations is not None and criteria.max_iterations < 1:
        yield f"max_iterations must be at least 1, not {criteria.max_iterations}"
    yield from _method_problems(_method_name(criteria), criteria.verification_config)


def _method_problems(name: str, config: VerifierConfig) -> Iterator[str]:
    try:
        if load_verifier(name, config, build_tools(_refuse_processes)) is None:
            yield _unknown_method_message(name, config)
        elif name == multi_stage.MULTI_STAGE_METHOD:
            for stage in parse_options(name, multi_stage.MultiStageOptions, config).stages:
                nested = ["a stage cannot be multi_stage itself: it would be skipped"]
                found = nested if stage.method == name else _method_problems(stage.method, stage.config)
                yield from (f"stage '{stage.name}': {problem}" for problem in found)
    except ConfigError as error:
        yield error.message


def _unknown_method_message(name: str, config: VerifierConfig) -> str:
    return f"Unknown verification method: {templates.apply_template(name, config)[0]}"


def _refuse_processes() -> AbstractContextManager[Processes]:
    raise AssertionError("looking at options starts no process")
