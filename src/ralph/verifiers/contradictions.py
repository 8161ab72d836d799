"""SpecFlow's first rule: no contradictions in the message, and the sign its stage must show."""

from ralph.core.claims import extract_promise_loosely
from ralph.core.tasks.contradictions import check_promise
from ralph.core.tasks.criteria import is_promise_made, list_accepted_promises
from ralph.model.verdict import Claim, Verdict, Verifier, VerifierConfig, VerifierTools

VERIFIES = "that the message does not contradict the promise and shows what its stage must show"
CONTRADICTIONS_METHOD = "contradictions"


def build(config: VerifierConfig, tools: VerifierTools) -> Verifier:
    return ContradictionsVerifier()


class ContradictionsVerifier:
    """Looks at words only."""

    def verify(self, claim: Claim) -> Verdict:
        """Form, contradictions, stage rule."""
        promise, output = claim.promise, claim.output
        promised = (
            extract_promise_loosely(output) in list_accepted_promises(promise)
            if claim.loose
            else is_promise_made(promise, output)
        )
        verified, reason = check_promise(promised, output, claim.agent, can_commit=claim.can_commit)
        return Verdict(method=CONTRADICTIONS_METHOD, verified=verified, reason=reason)
