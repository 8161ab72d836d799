"""The promise, and nothing but the promise."""

from ralph.core.tasks.criteria import is_promise_made
from ralph.model.verdict import Claim, Verdict, Verifier, VerifierConfig, VerifierTools

VERIFIES = "the agent's promise alone"
STRING_MATCH_METHOD = "string_match"


def build(config: VerifierConfig, tools: VerifierTools) -> Verifier:
    return StringMatchVerifier()


class StringMatchVerifier:
    """Strict: the tag with exactly that text ends the message. Loose: the words stand anywhere, in any case."""

    def verify(self, claim: Claim) -> Verdict:
        promise, output = claim.promise, claim.output
        found = promise.upper() in output.upper() if claim.loose else is_promise_made(promise, output)
        reason = "Promise found in output" if found else f"Promise '{promise}' not found in output"
        return Verdict(method=STRING_MATCH_METHOD, verified=found, reason=reason)
