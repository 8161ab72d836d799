"""The promise, and nothing but the promise."""

from ralph.core.tasks.criteria import made
from ralph.model.verdict import Claim, Config, Tools, Verdict, Verifier

VERIFIES = "the agent's promise alone"
NAME = "string_match"


def build(config: Config, tools: Tools) -> Verifier:
    """It has no options."""
    return StringMatch()


class StringMatch:
    """Strict: the tag with exactly that text ends the message. Loose: the words stand anywhere, in any case."""

    def verify(self, claim: Claim) -> Verdict:
        """Look at the final message."""
        promise, output = claim.promise, claim.output
        found = promise.upper() in output.upper() if claim.loose else made(promise, output)
        reason = "Promise found in output" if found else f"Promise '{promise}' not found in output"
        return Verdict(NAME, found, reason)
