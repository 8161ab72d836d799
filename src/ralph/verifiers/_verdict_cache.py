"""What was found in this iteration: the same look at the same tree is not taken twice."""

import hashlib

from msgspec.json import encode

from ralph.model.verdict import Claim, Verdict, VerifierConfig


class IterationCache:
    """Lives as long as one iteration; empty at its start."""

    def __init__(self) -> None:
        self._verdicts: dict[str, Verdict] = {}

    def recall(self, key: str) -> Verdict | None:
        return self._verdicts.get(key) if key else None

    def keep(self, key: str, verdict: Verdict) -> None:
        """For the rest of the iteration."""
        if key:
            self._verdicts[key] = verdict


def build_cache_key(method: str, config: VerifierConfig, claim: Claim, *seen: str) -> str:
    """The method, its options, the tree and whatever else is looked at; empty, so never kept, without a tree's hash."""
    if not claim.tree:
        return ""
    looked_at = encode((config, claim.folder, seen), order="deterministic")
    return f"{method}:{hashlib.sha256(looked_at).hexdigest()}:{claim.tree}"
