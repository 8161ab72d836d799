"""Verification put together: the promise first, then the method its criteria name."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager

from msgspec import to_builtins
from msgspec.json import encode
from msgspec.structs import replace

from ralph.app import registry
from ralph.core.tasks.contradictions import PROMISE_CONTRADICTED, find_contradiction, find_missing_sign
from ralph.core.tasks.stage_prompt import list_expected_words
from ralph.model.errors import ConfigError, UnknownExtension
from ralph.model.ports import Processes
from ralph.model.spec import CompletionCriteria, VerificationMethod
from ralph.model.verdict import AskJudge, BaseChecks, Claim, Verdict, Verifier, VerifierConfig, VerifierTools
from ralph.verifiers import contradictions, external, multi_stage, semantic, templates
from ralph.verifiers._options import parse_options
from ralph.verifiers._verdict_cache import IterationCache
from ralph.verifiers.string_match import StringMatchVerifier

MESSAGE_ONLY_METHODS = (
    *multi_stage.SKIPPED_METHODS,
    semantic.SEMANTIC_METHOD,
    contradictions.CONTRADICTIONS_METHOD,
)  # methods that look at a message only


NOTHING_CHANGED_REASON = (
    "Nothing has changed: the work tree is identical to the target branch. Do the task, or say what blocks you"
)
REGRESSION_NOTE = "the check was green before the work began: it proves only that nothing broke"
REGRESSION_REASON = (
    "The check was green before the work began, so it proves only that nothing broke. Add a test that fails without"
    " your work and passes with it"
)


class CriteriaVerifier:
    """Implements the port `ClaimVerifier`. What is found for one claim is not remembered for the next. `judges`: by
    stage; `words`: without a judge, words count."""

    def __init__(
        self,
        processes: Callable[[], AbstractContextManager[Processes]],
        judges: Mapping[str, AskJudge],
        *,
        words: bool = False,
        base: BaseChecks | None = None,
    ) -> None:
        self._open_processes, self._judges = processes, judges
        self._words, self._base = words, base

    def verify(self, claim: Claim, criteria: CompletionCriteria) -> Verdict:
        tools = build_tools(self._open_processes, self._judges.get(claim.agent), words=self._words)
        verdict = verify_claim(claim, criteria, tools)
        if claim.is_merged or not verdict.verified:
            return verdict
        return self._weigh(claim, criteria, verdict=verdict, tools=tools)

    def _weigh(self, claim: Claim, criteria: CompletionCriteria, *, verdict: Verdict, tools: VerifierTools) -> Verdict:
        """What a verdict that is green proves: a judge's word does, and a check that was red before; one that was green
        before needs a new test or the judge besides."""
        if _is_judged(verdict):
            return verdict
        looks = select_file_criteria(criteria)
        if looks is None:
            is_chosen = self._words or criteria.verification_method is VerificationMethod.STRING_MATCH
            if is_chosen or verdict.by_words:
                return replace(verdict, by_words=True)
            return _add_judge(claim, verdict, tools, semantic.NO_JUDGE_REASON)
        before = self._base.check(looks) if self._base else None
        if before is None or self._base is None:
            return verdict
        if before.verified and not before.interrupted:
            before = self._base.check_with_new_tests(looks) or before
        if before.interrupted:
            return before
        note = () if not before.verified else (REGRESSION_NOTE,)
        verdict = replace(verdict, red_before=not before.verified, notes=(*verdict.notes, *note))
        if verdict.red_before or self._words:
            return replace(verdict, by_words=not verdict.red_before)
        return _add_judge(claim, verdict, tools, REGRESSION_REASON, hint=f". {REGRESSION_REASON}")


def verify_claim(claim: Claim, criteria: CompletionCriteria, tools: VerifierTools) -> Verdict:
    """Run the method of the criteria on a claim. Unless matching is loose, none runs before the promise itself was
    made, and was not taken back in the same message."""
    claim = replace(claim, promise=criteria.promise)
    if not claim.loose and not (promised := StringMatchVerifier().verify(claim)).verified:
        return promised
    if claim.has_done_nothing:
        return Verdict(method="changes", verified=False, reason=NOTHING_CHANGED_REASON)
    if against := find_objection(claim, criteria) if claim.contradictable else "":
        return Verdict(method=contradictions.CONTRADICTIONS_METHOD, verified=False, reason=against)
    began = time.monotonic()
    verdict = _run_method(claim, criteria, tools)
    return replace(verdict, seconds=verdict.seconds or time.monotonic() - began)


def find_objection(claim: Claim, criteria: CompletionCriteria) -> str:
    """What the message itself says against its promise: a contradiction, or no sign of what its stage is for."""
    expected = (*claim.acceptance_criteria, claim.outcome, criteria.description, *list_expected_words(criteria, ()))
    if words := find_contradiction(claim.output, expected):
        return f"{PROMISE_CONTRADICTED}: {words!r}"
    return "" if claim.has_sign else find_missing_sign(claim.agent, claim.output, can_commit=claim.can_commit)


def build_tools(
    processes: Callable[[], AbstractContextManager[Processes]], judge: AskJudge | None = None, *, words: bool = False
) -> VerifierTools:
    """The tools of one iteration; what is cached in them is forgotten with it."""
    return VerifierTools(processes=processes, memory=IterationCache(), build=load_verifier, judge=judge, words=words)


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


def identify_check(criteria: CompletionCriteria) -> str:
    """The same for criteria that look in the same way, whatever is promised."""
    looked_at = (criteria.verification_method, criteria.verification_config)
    return encode(looked_at, order="deterministic").decode()


def is_judge_needed(criteria: CompletionCriteria) -> bool:
    """Whether these criteria ask a judge, whatever else is found."""
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


def _is_judged(verdict: Verdict) -> bool:
    """Whether a judge found it done, in a part that is required."""
    parts = verdict.stages or (verdict,)
    return any(part.judge and part.verified and part.required for part in parts)


def _add_judge(claim: Claim, verdict: Verdict, tools: VerifierTools, otherwise: str, *, hint: str = "") -> Verdict:
    """What the judge says of all acceptance criteria, where the checks alone prove too little. `hint`: what else would
    do where the judge says no."""
    if tools.judge is None:
        return replace(verdict, verified=False, reason=otherwise)
    wanted = claim.acceptance_criteria or (claim.outcome,)
    evidence = replace(claim, checks=(*claim.checks, *verdict.list_checks()))
    judged = replace(semantic.build({"check_for": [*wanted]}, tools).verify(evidence), name="judge")
    costs = [cost for cost in (verdict.cost_usd, judged.cost_usd) if cost is not None]
    return replace(
        verdict,
        verified=judged.verified,
        reason=verdict.reason if judged.verified else f"{judged.reason}{hint}",
        detail=verdict.detail if judged.verified else judged.detail,
        seconds=verdict.seconds + judged.seconds,
        cost_usd=sum(costs) if costs else None,
        notes=(*verdict.notes, *judged.notes),
        interrupted=judged.interrupted,
        by_words=judged.by_words,
        judge=judged.judge,
        stages=(*(verdict.stages or (verdict,)), judged),
    )


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
