"""A verification method: the files a task names hold JSON."""

import json
from pathlib import Path

from msgspec import Struct, ValidationError, convert

from ralph.model.errors import ConfigError
from ralph.model.verdict import Claim, Verdict, Verifier, VerifierConfig, VerifierTools

VERIFIES = "that files hold JSON"


class Options(Struct, forbid_unknown_fields=True):
    paths: list[str]


class ValidJson:
    def __init__(self, options: Options) -> None:
        self._options = options

    def verify(self, claim: Claim) -> Verdict:
        for name in self._options.paths:
            try:
                json.loads((Path(claim.folder) / name).read_bytes())
            except (OSError, ValueError) as error:
                return Verdict(method="valid_json", verified=False, reason=f"{name}: {error}")
        return Verdict(method="valid_json", verified=True, reason="All files hold JSON")


def build(config: VerifierConfig, tools: VerifierTools) -> Verifier:
    try:
        return ValidJson(convert(config, Options))
    except ValidationError as error:
        raise ConfigError(f"valid_json: {error}", 'for example {"paths": ["data.json"]}') from None
