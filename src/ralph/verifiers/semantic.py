"""A judge's opinion whether criteria are met; without a judge, whether the message names them."""

import time
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.tasks.criteria import expanded
from ralph.core.tasks.judgement import question, ruling
from ralph.model.verdict import Claim, Config, Judge, Opinion, Tools, Verdict, Verifier
from ralph.verifiers import string_match
from ralph.verifiers._memory import key
from ralph.verifiers._options import parsed

VERIFIES = "that a model finds every criterion met"
NAME = "semantic"


class Options(Struct, frozen=True, forbid_unknown_fields=True):
    """As the task has them."""

    check_for: str | tuple[str, ...] = ()
    negative_patterns: tuple[str, ...] = ()
    model: str = ""  # empty: the judge's own, haiku unless settings say otherwise


def build(config: Config, tools: Tools) -> Verifier:
    """All options may be left out."""
    return Semantic(parsed(NAME, Options, config), config, tools)


class Semantic:
    """Negative patterns decide at once. A judge that fails leaves it to the promise, and that is noted."""

    def __init__(self, options: Options, config: Config, tools: Tools) -> None:
        self._options, self._config, self._tools = options, config, tools

    def verify(self, claim: Claim) -> Verdict:
        """Look at the message, and ask at most once."""
        output = claim.output.lower()
        for pattern in self._options.negative_patterns:
            if pattern.lower() in output:
                return Verdict(NAME, False, f"Found negative pattern: {pattern}")
        criteria = expanded(self._options.check_for, claim.acceptance_criteria)
        if criteria and self._tools.judge:
            return self._judged(self._tools.judge, claim, criteria)
        missing = next((criterion for criterion in criteria if criterion.lower() not in output), None)
        if missing is not None:
            return Verdict(NAME, False, f"Criterion not evident: {missing}")
        return Verdict(NAME, True, "All criteria appear met")

    def _judged(self, judge: Judge, claim: Claim, criteria: Sequence[str]) -> Verdict:
        memory, known = self._tools.memory, key(NAME, self._config, claim, claim.output, *criteria)
        if found := memory.recall(known):
            return replace(found, cached=True)
        began = time.monotonic()
        opinion = _opinion(judge, question(criteria, claim.outcome, claim.output, claim.diff()), self._options.model)
        seconds = time.monotonic() - began
        if opinion is None:
            return Verdict(NAME, False, "The judge was interrupted", seconds=seconds, interrupted=True)
        ruled = None if opinion.problem else ruling(opinion.text, criteria)
        if ruled is None:
            return _without_judge(claim, opinion, seconds)
        verdict = Verdict(NAME, ruled.verified, ruled.reason, opinion.text, "", seconds, opinion.cost_usd)
        memory.keep(known, verdict)
        return verdict


def _opinion(judge: Judge, prompt: str, model: str) -> Opinion | None:
    try:
        return judge(prompt, model)
    except Exception as error:  # noqa: BLE001  # whatever a judge does, the loop goes on
        return Opinion(problem=f"{type(error).__name__}: {error}")


def _without_judge(claim: Claim, opinion: Opinion, seconds: float) -> Verdict:
    problem = opinion.problem or f"its answer is no verdict: {opinion.text.strip()[:200]!r}"
    note = f"semantic verification failed, string_match instead for this iteration: {problem}"
    verdict = string_match.StringMatch().verify(claim)
    return replace(verdict, method=NAME, detail=opinion.text, seconds=seconds, cost_usd=opinion.cost_usd, notes=(note,))
