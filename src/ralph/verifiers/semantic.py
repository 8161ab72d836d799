"""A judge's opinion whether criteria are met; where words were chosen instead, whether the message names them."""

import time
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.tasks.criteria import expand_acceptance_criteria
from ralph.core.tasks.judgement import Ruling, parse_ruling, render_judge_prompt
from ralph.core.tasks.words import has_pattern
from ralph.core.text.write_error import DISK_ERRORS, explain_write_error
from ralph.model.errors import DiskError
from ralph.model.spec import ROLES
from ralph.model.verdict import AskJudge, Claim, JudgeAnswer, Verdict, Verifier, VerifierConfig, VerifierTools
from ralph.verifiers import string_match
from ralph.verifiers._options import parse_options
from ralph.verifiers._verdict_cache import build_cache_key

VERIFIES = "that a model finds every criterion met"
SEMANTIC_METHOD = "semantic"
MAX_JUDGE_CALLS = 2  # one that fails is asked again
NO_JUDGE_REASON = "Nobody can judge the criteria: there is no judge, and words were not chosen"


class SemanticOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """As the task has them."""

    check_for: str | tuple[str, ...] = ()
    negative_patterns: tuple[str, ...] = ()
    model: str = ""  # empty: the judge's own, a small one unless settings say otherwise


def build(config: VerifierConfig, tools: VerifierTools) -> Verifier:
    return SemanticVerifier(parse_options(SEMANTIC_METHOD, SemanticOptions, config), config, tools)


class SemanticVerifier:
    """Negative patterns decide at once. A judge that fails twice leaves it to the promise, and that is noted; but the
    last stage is not passed that way."""

    def __init__(self, options: SemanticOptions, config: VerifierConfig, tools: VerifierTools) -> None:
        self._options, self._config, self._tools = options, config, tools

    def verify(self, claim: Claim) -> Verdict:
        """Look at the message, then ask."""
        criteria = expand_acceptance_criteria(self._options.check_for, claim.acceptance_criteria)
        own_words = (*criteria, *claim.acceptance_criteria, claim.outcome)
        for pattern in self._options.negative_patterns:
            if has_pattern(pattern, claim.output, own_words):
                return Verdict(method=SEMANTIC_METHOD, verified=False, reason=f"Found negative pattern: {pattern}")
        if criteria and self._tools.judge:
            return self._ask_judge(self._tools.judge, claim, criteria)
        if criteria and not self._tools.words:
            return Verdict(method=SEMANTIC_METHOD, verified=False, reason=NO_JUDGE_REASON)
        output = claim.output.lower()
        missing = next((criterion for criterion in criteria if criterion.lower() not in output), None)
        if missing is not None:
            return Verdict(method=SEMANTIC_METHOD, verified=False, reason=f"Criterion not evident: {missing}")
        reason = "All criteria appear met"
        return Verdict(method=SEMANTIC_METHOD, verified=True, reason=reason, by_words=bool(criteria))

    def _ask_judge(self, judge: AskJudge, claim: Claim, criteria: Sequence[str]) -> Verdict:
        memory, known = (
            self._tools.memory,
            build_cache_key(SEMANTIC_METHOD, self._config, claim, claim.output, *criteria),
        )
        if found := memory.recall(known):
            return replace(found, cached=True)
        began = time.monotonic()
        prompt = render_judge_prompt(criteria, claim)
        opinion: JudgeAnswer | None = None
        ruled: Ruling | None = None
        problems: list[str] = []
        costs: list[float] = []
        while ruled is None and len(problems) < MAX_JUDGE_CALLS:
            opinion = _call_judge(judge, prompt, self._options.model)
            if opinion is None:
                return _build_interruption(time.monotonic() - began)
            costs += [opinion.cost_usd] if opinion.cost_usd is not None else []
            ruled = None if opinion.problem else parse_ruling(opinion.text, criteria)
            problems += [] if ruled else [_describe_problem(opinion)]
        asked = Verdict(
            method=SEMANTIC_METHOD,
            verified=ruled is not None and ruled.verified,
            reason=ruled.reason if ruled else f"The judge failed {len(problems)} times: {problems[-1]}",
            detail=opinion.text if opinion else "",
            seconds=time.monotonic() - began,
            cost_usd=sum(costs) if costs else None,
            notes=tuple(f"the judge failed and was retried: {problem}" for problem in problems[:1]),
            judge=opinion.judge or "judge" if opinion else "",
        )
        if ruled is None:
            return _fall_back_to_promise(claim, asked)
        memory.keep(known, asked)
        return asked


def _call_judge(judge: AskJudge, prompt: str, model: str) -> JudgeAnswer | None:
    try:
        return judge(prompt, model)
    except DiskError:
        raise
    except OSError as error:
        if error.errno in DISK_ERRORS:  # it says nothing about the work, so nobody passes by words for it
            raise explain_write_error("the judge's files", error) from error
        return JudgeAnswer(problem=f"{type(error).__name__}: {error}")
    except Exception as error:  # noqa: BLE001  # whatever a judge does, the loop goes on
        return JudgeAnswer(problem=f"{type(error).__name__}: {error}")


def _describe_problem(opinion: JudgeAnswer) -> str:
    return opinion.problem or f"its answer is not a verdict: {opinion.text.strip()[:200]!r}"


def _build_interruption(seconds: float) -> Verdict:
    return Verdict(
        method=SEMANTIC_METHOD, verified=False, reason="The judge was interrupted", seconds=seconds, interrupted=True
    )


def _fall_back_to_promise(claim: Claim, asked: Verdict) -> Verdict:
    """An earlier stage may go on by its word, for others will look again; after the last one nobody will."""
    if claim.agent == ROLES[-1]:
        return asked
    problem = asked.reason.partition(": ")[2]
    note = f"semantic verification failed, string_match instead for this iteration: {problem}"
    promised = string_match.StringMatchVerifier().verify(claim)
    return replace(
        asked,
        verified=promised.verified,
        reason=promised.reason,
        notes=(note,),
        by_words=promised.verified,
        judge="",
    )
