"""A judge's opinion whether criteria are met; without a judge, whether the message names them."""

import time
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.tasks.criteria import expand_acceptance_criteria
from ralph.core.tasks.judgement import parse_ruling, render_judge_prompt
from ralph.model.verdict import AskJudge, Claim, JudgeAnswer, Verdict, Verifier, VerifierConfig, VerifierTools
from ralph.verifiers import string_match
from ralph.verifiers._memory import build_cache_key
from ralph.verifiers._options import parse_options

VERIFIES = "that a model finds every criterion met"
SEMANTIC_METHOD = "semantic"


class SemanticOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """As the task has them."""

    check_for: str | tuple[str, ...] = ()
    negative_patterns: tuple[str, ...] = ()
    model: str = ""  # empty: the judge's own, haiku unless settings say otherwise


def build(config: VerifierConfig, tools: VerifierTools) -> Verifier:
    return SemanticVerifier(parse_options(SEMANTIC_METHOD, SemanticOptions, config), config, tools)


class SemanticVerifier:
    """Negative patterns decide at once. A judge that fails leaves it to the promise, and that is noted."""

    def __init__(self, options: SemanticOptions, config: VerifierConfig, tools: VerifierTools) -> None:
        self._options, self._config, self._tools = options, config, tools

    def verify(self, claim: Claim) -> Verdict:
        """Look at the message, and ask at most once."""
        output = claim.output.lower()
        for pattern in self._options.negative_patterns:
            if pattern.lower() in output:
                return Verdict(method=SEMANTIC_METHOD, verified=False, reason=f"Found negative pattern: {pattern}")
        criteria = expand_acceptance_criteria(self._options.check_for, claim.acceptance_criteria)
        if criteria and self._tools.judge:
            return self._ask_judge(self._tools.judge, claim, criteria)
        missing = next((criterion for criterion in criteria if criterion.lower() not in output), None)
        if missing is not None:
            return Verdict(method=SEMANTIC_METHOD, verified=False, reason=f"Criterion not evident: {missing}")
        return Verdict(method=SEMANTIC_METHOD, verified=True, reason="All criteria appear met")

    def _ask_judge(self, judge: AskJudge, claim: Claim, criteria: Sequence[str]) -> Verdict:
        memory, known = (
            self._tools.memory,
            build_cache_key(SEMANTIC_METHOD, self._config, claim, claim.output, *criteria),
        )
        if found := memory.recall(known):
            return replace(found, cached=True)
        began = time.monotonic()
        opinion = _call_judge(
            judge, render_judge_prompt(criteria, claim.outcome, claim.output, claim.diff()), self._options.model
        )
        seconds = time.monotonic() - began
        if opinion is None:
            return Verdict(
                method=SEMANTIC_METHOD,
                verified=False,
                reason="The judge was interrupted",
                seconds=seconds,
                interrupted=True,
            )
        ruled = None if opinion.problem else parse_ruling(opinion.text, criteria)
        if ruled is None:
            return _fall_back_to_promise(claim, opinion, seconds)
        verdict = Verdict(
            method=SEMANTIC_METHOD,
            verified=ruled.verified,
            reason=ruled.reason,
            detail=opinion.text,
            digest="",
            seconds=seconds,
            cost_usd=opinion.cost_usd,
        )
        memory.keep(known, verdict)
        return verdict


def _call_judge(judge: AskJudge, prompt: str, model: str) -> JudgeAnswer | None:
    try:
        return judge(prompt, model)
    except Exception as error:  # noqa: BLE001  # whatever a judge does, the loop goes on
        return JudgeAnswer(problem=f"{type(error).__name__}: {error}")


def _fall_back_to_promise(claim: Claim, opinion: JudgeAnswer, seconds: float) -> Verdict:
    problem = opinion.problem or f"its answer is no verdict: {opinion.text.strip()[:200]!r}"
    note = f"semantic verification failed, string_match instead for this iteration: {problem}"
    verdict = string_match.StringMatchVerifier().verify(claim)
    return replace(
        verdict, method=SEMANTIC_METHOD, detail=opinion.text, seconds=seconds, cost_usd=opinion.cost_usd, notes=(note,)
    )
