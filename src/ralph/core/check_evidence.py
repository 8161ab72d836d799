"""What a check is worth as evidence: told without secrets, and summed up in one digest."""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from ralph.core.text.secrets import redact, redact_argv
from ralph.model.loop import GateResult
from ralph.model.receipt import CheckEvidence


class StageEvidence:
    """The checks of a task's stages, as far as they still count."""

    def __init__(self) -> None:
        self._by_role: dict[str, tuple[CheckEvidence, ...]] = {}

    def begin_stage(self, role: str) -> None:
        """Who works on a stage again has not passed it, nor what came after it."""
        if role in self._by_role:
            roles = [*self._by_role]
            self._by_role = {each: self._by_role[each] for each in roles[: roles.index(role)]}

    def pass_stage(self, role: str, checks: Iterable[CheckEvidence]) -> None:
        self._by_role[role] = tuple(checks)

    def list_checks(self) -> tuple[CheckEvidence, ...]:
        return tuple(check for checks in self._by_role.values() for check in checks)


def describe_gate(result: GateResult, red_before: bool | None = None) -> CheckEvidence:
    return CheckEvidence(
        name=result.gate,
        passed=result.passed,
        kind="command" if result.argv else "other",
        argv=result.argv,
        exit_code=result.exit_code if result.argv else None,
        digest=result.digest,
        reason=result.reason,
        seconds=result.seconds,
        red_before=red_before,
        timeout=result.timeout,
    )


def redact_checks(checks: Iterable[CheckEvidence]) -> tuple[CheckEvidence, ...]:
    """For a file that may be given away: a command with a secret in it is told without, and can only be run again
    where its journal is."""
    return tuple(map(_redact_check, checks))


def digest_checks(checks: Iterable[CheckEvidence]) -> str:
    """Another one as soon as a check, its result or what it printed differs; the same whether or not secrets are shown.
    Later versions may tell more of a check, and must not count it here."""
    import hashlib  # 3 ms that a run needs only at its end

    records = [
        (each.name, each.role, each.stage, each.passed, each.exit_code, each.digest, each.sealed, each.judge)
        for each in redact_checks(checks)
    ]
    return hashlib.sha256(msgspec.json.encode(records)).hexdigest()


def _redact_check(check: CheckEvidence) -> CheckEvidence:
    name, argv = redact(check.name), redact_argv(check.argv)
    if (name, argv) == (check.name, check.argv):
        return check
    return replace(check, name=name, argv=argv, is_redacted=True)
