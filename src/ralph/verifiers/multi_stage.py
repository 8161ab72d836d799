"""Several verifications, one after the other; those that are independent at once."""

import hashlib
import time
from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.guardrail import slugify_command
from ralph.model.errors import ConfigError
from ralph.model.verdict import Claim, Verdict, Verifier, VerifierConfig, VerifierTools
from ralph.verifiers import external, string_match
from ralph.verifiers._options import parse_options
from ralph.verifiers.templates import apply_template

VERIFIES = "that every one of several stages passes"
MULTI_STAGE_METHOD = "multi_stage"
MAX_PARALLEL_STAGES = 4
SKIPPED_METHODS = frozenset(
    {string_match.STRING_MATCH_METHOD, MULTI_STAGE_METHOD}
)  # the promise was looked at before; a stage has no stages


class VerificationStage(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One of them; `method` may be a template or a gate of the user's own."""

    name: str = "unnamed"
    method: str = string_match.STRING_MATCH_METHOD
    config: dict[str, object] = {}
    required: bool = True
    parallel: bool | None = None  # None: as all of them


class MultiStageOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """As the task has them."""

    stages: tuple[VerificationStage, ...] = ()
    require_all: bool = True
    parallel: bool = False


def build(config: VerifierConfig, tools: VerifierTools) -> Verifier:
    """`stages` must be given: nothing to verify verifies nothing."""
    options = parse_options(MULTI_STAGE_METHOD, MultiStageOptions, config)
    if not options.stages:
        raise ConfigError("No stages specified for multi_stage verification", 'add "stages": [{"name": …}]')
    return MultiStageVerifier(options, tools)


class MultiStageVerifier:
    """The first required stage that fails ends it, unless `require_all` is false: then all are run and told. A failed
    stage that is not required is a warning. Neighbouring external stages that are `parallel` run at the same time."""

    def __init__(self, options: MultiStageOptions, tools: VerifierTools) -> None:
        self._options, self._tools = options, tools

    def verify(self, claim: Claim) -> Verdict:
        began = time.monotonic()
        found: list[Verdict] = []
        for group in self._group_stages():
            checks = [check for verdict in found for check in verdict.list_checks()]
            found += self._run_group(group, replace(claim, checks=(*claim.checks, *checks)))
            if any(verdict.interrupted for verdict in found):
                break
            if self._options.require_all and any(_is_failure(verdict) for verdict in found):
                break
        return replace(self._combine_verdicts(found), seconds=time.monotonic() - began)

    def _group_stages(self) -> Iterator[Sequence[VerificationStage]]:
        def at_once(stage: VerificationStage) -> bool:
            wished = self._options.parallel if stage.parallel is None else stage.parallel
            return wished and apply_template(stage.method, stage.config)[0] == external.EXTERNAL_METHOD

        for together, stages in groupby(self._options.stages, at_once):
            if together:
                yield tuple(stages)
            else:
                yield from ((stage,) for stage in stages)

    def _run_group(self, group: Sequence[VerificationStage], claim: Claim) -> list[Verdict]:
        if len(group) == 1:
            return [self._run_stage(group[0], claim)]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(MAX_PARALLEL_STAGES, len(group))) as pool:
            return list(pool.map(lambda stage: self._run_stage(stage, claim), group))

    def _run_stage(self, stage: VerificationStage, claim: Claim) -> Verdict:
        verdict = (
            Verdict(method=stage.method, verified=True, reason="Skipped")
            if stage.method in SKIPPED_METHODS
            else self._verify_stage(stage, claim)
        )
        return replace(verdict, name=stage.name, required=stage.required)

    def _verify_stage(self, stage: VerificationStage, claim: Claim) -> Verdict:
        try:
            verifier = self._tools.build(stage.method, stage.config, self._tools)
        except ConfigError as error:
            return Verdict(method=stage.method, verified=False, reason=error.message)
        if verifier is None:
            unknown = apply_template(stage.method, stage.config)[0]
            return Verdict(method=stage.method, verified=False, reason=f"Unknown verification method: {unknown}")
        prefix = f"{claim.log_prefix}_{slugify_command(stage.name)}" if claim.log_prefix else ""
        return verifier.verify(replace(claim, log_prefix=prefix))

    def _combine_verdicts(self, found: Sequence[Verdict]) -> Verdict:
        failed = [verdict for verdict in found if _is_failure(verdict)]
        interrupted = next((verdict for verdict in found if verdict.interrupted), None)
        costs = [verdict.cost_usd for verdict in found if verdict.cost_usd is not None]
        return Verdict(
            method=MULTI_STAGE_METHOD,
            verified=not failed and interrupted is None,
            reason=self._describe_outcome(interrupted, failed),
            detail="\n".join(verdict.detail for verdict in failed if verdict.detail),
            digest=hashlib.sha256("\n".join(verdict.digest for verdict in found).encode()).hexdigest(),
            cost_usd=sum(costs) if costs else None,
            notes=tuple(_collect_notes(found)),
            interrupted=interrupted is not None,
            stages=tuple(found),
            by_words=bool(found) and all(verdict.by_words for verdict in found if verdict.required),
            judge=next((verdict.judge for verdict in found if verdict.judge), ""),
        )

    def _describe_outcome(self, interrupted: Verdict | None, failed: Sequence[Verdict]) -> str:
        if stage := interrupted or (failed[0] if failed and self._options.require_all else None):
            return f"Stage '{stage.name}' failed: {stage.reason}"
        if failed:
            return f"Failed stages: {'; '.join(f'{stage.name}: {stage.reason}' for stage in failed)}"
        return f"All {len(self._options.stages)} verification stages passed"


def _is_failure(verdict: Verdict) -> bool:
    return verdict.required and not verdict.verified


def _collect_notes(found: Sequence[Verdict]) -> Iterator[str]:
    for verdict in found:
        yield from (f"{verdict.name}: {note}" for note in verdict.notes)
        if not verdict.verified and not verdict.required:
            yield f"Stage '{verdict.name}' failed, which is optional: {verdict.reason}"
