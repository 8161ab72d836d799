"""Verification put together: the promise first, then the method its criteria name."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from msgspec import to_builtins
from msgspec.structs import replace

from ralph.app import registry
from ralph.model.errors import ConfigError, UnknownExtension
from ralph.model.ports import Processes
from ralph.model.spec import CompletionCriteria, VerificationAttempt, VerificationMethod
from ralph.model.verdict import Claim, Config, Judge, Tools, Verdict, Verifier
from ralph.verifiers import contradictions, multi_stage, semantic, templates
from ralph.verifiers._memory import IterationMemory
from ralph.verifiers._options import parsed
from ralph.verifiers.string_match import StringMatch

WORDS = (*multi_stage.SKIPPED, semantic.NAME, contradictions.NAME)  # methods that look at a message only


def verdict_on(claim: Claim, criteria: CompletionCriteria, tools: Tools) -> Verdict:
    """Whether the claim holds. Unless matching is loose, no method is asked before the promise itself was made."""
    claim = replace(claim, promise=criteria.promise)
    if not claim.loose and not (said := StringMatch().verify(claim)).verified:
        return said
    began = time.monotonic()
    verdict = _verdict(claim, criteria, tools)
    return replace(verdict, seconds=verdict.seconds or time.monotonic() - began)


def tools_of(processes: Callable[[], AbstractContextManager[Processes]], judge: Judge | None = None) -> Tools:
    """For one iteration: what is found in it is remembered no longer."""
    return Tools(processes, IterationMemory(), method, judge)


def method(name: str, config: Config, tools: Tools) -> Verifier | None:
    """The verification of that name: a template's, ours, or the user's own by entry point. ConfigError: bad options."""
    name, config = templates.applied(name, config)
    try:
        module = registry.load("verifiers", name)
    except UnknownExtension:
        return None
    if not getattr(module, "VERIFIES", ""):
        return None  # a gate of another kind
    verifier: Verifier = module.build(config, tools)
    return verifier


def of_files(criteria: CompletionCriteria) -> CompletionCriteria | None:
    """As much of it as looks at files, for a tree whose agent has spoken long ago; None: it looks at words only."""
    if criteria.verification_method is not VerificationMethod.MULTI_STAGE:
        return criteria if criteria.verification_method is VerificationMethod.EXTERNAL else None
    options = parsed(multi_stage.NAME, multi_stage.Options, criteria.verification_config)
    stages = [to_builtins(stage) for stage in options.stages if _looks_at_files(stage)]
    config = {**criteria.verification_config, "stages": stages}
    return replace(criteria, verification_config=config) if stages else None


def judges(criteria: CompletionCriteria) -> bool:
    """Whether a judge is asked, where there is one."""
    if criteria.verification_method is not VerificationMethod.MULTI_STAGE:
        return criteria.verification_method is VerificationMethod.SEMANTIC
    stages = parsed(multi_stage.NAME, multi_stage.Options, criteria.verification_config).stages
    return any(templates.applied(stage.method, stage.config)[0] == semantic.NAME for stage in stages)


def problems(criteria: CompletionCriteria) -> tuple[str, ...]:
    """What is wrong with criteria, before any agent has worked for them."""
    return tuple(_problems(criteria))


def attempt(verdict: Verdict, iteration: int, agent: str, timestamp: str) -> VerificationAttempt:
    """A verdict as it is kept."""
    return VerificationAttempt(
        iteration,
        True,
        verdict.verified,
        verdict.reason,
        timestamp,
        agent,
        verdict.method,
        verdict.digest,
        verdict.seconds,
        verdict.cost_usd,
        verdict.notes,
        verdict.detail,
    )


def _looks_at_files(stage: multi_stage.Stage) -> bool:
    return templates.applied(stage.method, stage.config)[0] not in WORDS


def _verdict(claim: Claim, criteria: CompletionCriteria, tools: Tools) -> Verdict:
    name = _name(criteria)
    try:
        verifier = method(name, criteria.verification_config, tools)
    except ConfigError as error:
        return Verdict(name, False, error.message)
    if verifier is None:
        return Verdict(name, False, _unknown(name, criteria.verification_config))
    return verifier.verify(claim)


def _name(criteria: CompletionCriteria) -> str:
    """Callers of the Python API may name a template or a gate of their own instead of one of the four."""
    wanted: object = criteria.verification_method
    return wanted.value if isinstance(wanted, VerificationMethod) else str(wanted)


def _problems(criteria: CompletionCriteria) -> Iterator[str]:
    promise = criteria.promise
    if not promise.strip() or promise != promise.strip() or len(promise.splitlines()) > 1:
        yield f"the promise must be one line of text without blanks around it, not {promise!r}"
    if "<promise>" in promise.lower() or "</promise>" in promise.lower():
        yield f"the promise is the text inside the tag, without the tag, not {promise!r}"
    if criteria.max_iterations is not None and criteria.max_iterations < 1:
        yield f"max_iterations must be at least 1, not {criteria.max_iterations}"
    yield from _method_problems(_name(criteria), criteria.verification_config)


def _method_problems(name: str, config: Config) -> Iterator[str]:
    try:
        if method(name, config, tools_of(_nothing_runs)) is None:
            yield _unknown(name, config)
        elif name == multi_stage.NAME:
            for stage in parsed(name, multi_stage.Options, config).stages:
                nested = ["a stage cannot be multi_stage itself: it would be skipped"]
                found = nested if stage.method == name else _method_problems(stage.method, stage.config)
                yield from (f"stage '{stage.name}': {problem}" for problem in found)
    except ConfigError as error:
        yield error.message


def _unknown(name: str, config: Config) -> str:
    return f"Unknown verification method: {templates.applied(name, config)[0]}"


def _nothing_runs() -> AbstractContextManager[Processes]:
    raise AssertionError("looking at options starts no process")
