"""Why the iterations of `ralph run` did not complete it, in words."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.refusal import join_words
from ralph.core.text.quantities import pluralize
from ralph.core.text.secrets import redact
from ralph.model.loop import GateResult, Reported

MAX_LISTED_ITERATIONS = 4


class ClaimHistory(Struct, frozen=True, kw_only=True):
    """What came of the iterations so far, as far as completion goes."""

    ended: int = 0
    unfinished: int = 0
    trouble: str = ""  # of the last unfinished one
    claimed: tuple[int, ...] = ()  # the iterations that claimed completion
    voided: tuple[int, ...] = ()  # those that were refused something, with no guardrail to confirm the claim
    misplaced: tuple[int, ...] = ()  # those whose promise was not alone on the last line
    checked: int = 0
    green: int = 0
    red_gates: tuple[str, ...] = ()  # the guardrails that were red after each claim, in words
    red: str = ""  # the last red guardrail, in words
    summary: str = ""  # the line of its output that tells most
    altered: str = ""  # which proofs were not as they were at the last claim that was green without them, in words

    def add_report(self, iteration: int, reported: Reported, claim: str, voided: str) -> "ClaimHistory":
        finished = reported.outcome in ("finished", "refused")
        return replace(
            self,
            ended=self.ended + 1,
            unfinished=self.unfinished + (not finished),
            trouble=self.trouble if finished else reported.detail or reported.outcome,
            claimed=(*self.claimed, iteration) if claim else self.claimed,
            voided=(*self.voided, iteration) if voided and not claim else self.voided,
        )

    def add_misplaced_promise(self, iteration: int) -> "ClaimHistory":
        return replace(self, misplaced=(*self.misplaced, iteration))

    def add_check(self, failures: Sequence[GateResult], is_claimed: bool) -> "ClaimHistory":
        if not failures:
            return replace(self, checked=self.checked + 1, green=self.green + 1)
        last = failures[-1]
        red = join_words([f"`{redact(failure.gate)}`" for failure in failures])
        return replace(
            self,
            checked=self.checked + 1,
            red_gates=(*self.red_gates, red) if is_claimed else self.red_gates,
            red=f"`{redact(last.gate)}`",
            summary=redact(last.summary) or last.reason or f"exit code {last.exit_code}",
        )

    def add_altered_proofs(self, altered: str, failures: Sequence[GateResult]) -> "ClaimHistory":
        """`altered`: "test_calc.py was changed"."""
        red = join_words([f"`{redact(failure.gate)}`" for failure in failures])
        return replace(self, altered=f"{altered}, and {red} is red with the files as they were" if red else altered)

    def explain(self, missing: str) -> str:
        """`missing` says what the agent never did: "answered <response>DONE</response>"."""
        if not self.ended:
            return ""
        if self.unfinished == self.ended:
            return f"no iteration finished: {self.trouble}"
        why = self._explain_red_claims() if self.red_gates else self.altered or self._explain_no_claim(missing)
        if self.altered and self.red_gates:
            why = f"{why}; in another claim {self.altered}"
        unfinished = f"{self.unfinished} of {self.ended} iterations did not finish: {self.trouble}"
        return f"{why}; {unfinished}" if self.unfinished else why

    def _explain_red_claims(self) -> str:
        """the claim came in iterations 2 and 3, `make test` was red both times: 1 failed, 12 passed"""
        count, same = len(self.red_gates), len({*self.red_gates}) == 1
        gates = self.red_gates[0] if same else "guardrails"
        verb = "were" if not same or " and " in gates else "was"
        times = "" if count == 1 else " both times" if count == 2 else f" all {count} times"
        why = self.summary if same and " and " not in gates else f"last {self.red}: {self.summary}"
        text = f"the claim came in {_list_iterations(self.claimed)}, {gates} {verb} red{times}: {why}"
        rest = f"; guardrails were green in {self.green} of {pluralize(self.checked, 'iteration')} without a claim"
        return text + (rest if self.green else "")

    def _explain_no_claim(self, missing: str) -> str:
        if self.voided:
            return (
                f"the claim in {_list_iterations(self.voided)} does not count: the agent was refused something, and no"
                " guardrail can confirm it"
            )
        never = f"the agent never {missing}"
        if self.misplaced:
            never += f": its promise was not alone on the last line in {_list_iterations(self.misplaced)}"
        if not self.checked:
            return f"{never} in {pluralize(self.ended, 'iteration')}" if not self.misplaced else never
        if self.green:
            return f"guardrails were green in {self.green} of {pluralize(self.checked, 'iteration')}, but {never}"
        return f"{self.red} failed in every one of {pluralize(self.checked, 'iteration')}: {self.summary}; {never}"


def _list_iterations(numbers: Sequence[int]) -> str:
    if len(numbers) > MAX_LISTED_ITERATIONS:
        return f"{len(numbers)} iterations, last in {numbers[-1]}"
    return f"iteration{'s' if len(numbers) > 1 else ''} {join_words([str(number) for number in numbers])}"
