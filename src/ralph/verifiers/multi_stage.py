"""Several verifications, one after the other; those that are independent at once."""

import hashlib
import time
from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from ralph.model.errors import ConfigError
from ralph.model.verdict import Claim, Config, Tools, Verdict, Verifier
from ralph.verifiers import external, string_match
from ralph.verifiers._options import parsed
from ralph.verifiers.templates import applied

VERIFIES = "that every one of several stages passes"
NAME = "multi_stage"
AT_ONCE = 4
SKIPPED = frozenset({string_match.NAME, NAME})  # the promise was looked at before; a stage has no stages


class Stage(Struct, frozen=True, forbid_unknown_fields=True):
    """One of them; `method` may be a template or a gate of the user's own."""

    name: str = "unnamed"
    method: str = string_match.NAME
    config: dict[str, object] = {}
    required: bool = True
    parallel: bool | None = None  # None: as all of them


class Options(Struct, frozen=True, forbid_unknown_fields=True):
    """As the task has them."""

    stages: tuple[Stage, ...] = ()
    require_all: bool = True
    parallel: bool = False


def build(config: Config, tools: Tools) -> Verifier:
    """`stages` must be given: nothing to verify verifies nothing."""
    options = parsed(NAME, Options, config)
    if not options.stages:
        raise ConfigError("No stages specified for multi_stage verification", 'add "stages": [{"name": …}]')
    return MultiStage(options, tools)


class MultiStage:
    """The first required stage that fails ends it, unless `require_all` is false: then all are run and told. A failed
    stage that is not required is a warning. Neighbouring external stages that are `parallel` run at the same time."""

    def __init__(self, options: Options, tools: Tools) -> None:
        self._options, self._tools = options, tools

    def verify(self, claim: Claim) -> Verdict:
        """Run them."""
        began = time.monotonic()
        found: list[Verdict] = []
        for group in self._groups():
            found += self._run(group, claim)
            if any(verdict.interrupted for verdict in found):
                break
            if self._options.require_all and any(_fails(verdict) for verdict in found):
                break
        return replace(self._summed(found), seconds=time.monotonic() - began)

    def _groups(self) -> Iterator[Sequence[Stage]]:
        def at_once(stage: Stage) -> bool:
            wished = self._options.parallel if stage.parallel is None else stage.parallel
            return wished and applied(stage.method, stage.config)[0] == external.NAME

        for together, stages in groupby(self._options.stages, at_once):
            if together:
                yield tuple(stages)
            else:
                yield from ((stage,) for stage in stages)

    def _run(self, group: Sequence[Stage], claim: Claim) -> list[Verdict]:
        if len(group) == 1:
            return [self._stage(group[0], claim)]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(AT_ONCE, len(group))) as pool:
            return list(pool.map(lambda stage: self._stage(stage, claim), group))

    def _stage(self, stage: Stage, claim: Claim) -> Verdict:
        verdict = Verdict(stage.method, True, "Skipped") if stage.method in SKIPPED else self._verdict(stage, claim)
        return replace(verdict, name=stage.name, required=stage.required)

    def _verdict(self, stage: Stage, claim: Claim) -> Verdict:
        try:
            verifier = self._tools.build(stage.method, stage.config, self._tools)
        except ConfigError as error:
            return Verdict(stage.method, False, error.message)
        if verifier is None:
            unknown = applied(stage.method, stage.config)[0]
            return Verdict(stage.method, False, f"Unknown verification method: {unknown}")
        return verifier.verify(claim)

    def _summed(self, found: Sequence[Verdict]) -> Verdict:
        failed = [verdict for verdict in found if _fails(verdict)]
        interrupted = next((verdict for verdict in found if verdict.interrupted), None)
        costs = [verdict.cost_usd for verdict in found if verdict.cost_usd is not None]
        return Verdict(
            NAME,
            not failed and interrupted is None,
            self._reason(interrupted, failed),
            detail="\n".join(verdict.detail for verdict in failed if verdict.detail),
            digest=hashlib.sha256("\n".join(verdict.digest for verdict in found).encode()).hexdigest(),
            cost_usd=sum(costs) if costs else None,
            notes=tuple(_notes(found)),
            interrupted=interrupted is not None,
            stages=tuple(found),
        )

    def _reason(self, interrupted: Verdict | None, failed: Sequence[Verdict]) -> str:
        if stage := interrupted or (failed[0] if failed and self._options.require_all else None):
            return f"Stage '{stage.name}' failed: {stage.reason}"
        if failed:
            return f"Failed stages: {'; '.join(f'{stage.name}: {stage.reason}' for stage in failed)}"
        return f"All {len(self._options.stages)} verification stages passed"


def _fails(verdict: Verdict) -> bool:
    return verdict.required and not verdict.verified


def _notes(found: Sequence[Verdict]) -> Iterator[str]:
    for verdict in found:
        yield from (f"{verdict.name}: {note}" for note in verdict.notes)
        if not verdict.verified and not verdict.required:
            yield f"Stage '{verdict.name}' failed, which is no obstacle: {verdict.reason}"
