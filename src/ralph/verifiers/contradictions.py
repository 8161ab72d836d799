"""SpecFlow's first rule: no contradictions in the message, and the sign its stage must show."""

from ralph.core.claims import promise_anywhere
from ralph.core.tasks.contradictions import examined
from ralph.core.tasks.criteria import accepted, made
from ralph.model.verdict import Claim, Config, Tools, Verdict, Verifier

VERIFIES = "that the message does not contradict the promise and shows what its stage must show"
NAME = "contradictions"


def build(config: Config, tools: Tools) -> Verifier:
    """It has no options."""
    return Contradictions()


class Contradictions:
    """Looks at words only."""

    def verify(self, claim: Claim) -> Verdict:
        """Form, contradictions, stage rule."""
        promise, output = claim.promise, claim.output
        promised = promise_anywhere(output) in accepted(promise) if claim.loose else made(promise, output)
        return Verdict(NAME, *examined(promised, output, claim.agent))
