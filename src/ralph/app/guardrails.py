"""Guardrails put together: from settings, by their kind, to gates."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from ralph.app import registry
from ralph.config.schema import Guardrail
from ralph.core.guardrail import slugify_commands
from ralph.model.command import Command, CommandExit
from ralph.model.errors import BrokenExtension, ConfigError, RalphError
from ralph.model.loop import GateResult
from ralph.model.ports import Evidence, Gate, GateOptions, Processes

DEFAULT_OUTPUT_LIMIT = 5000
_T = TypeVar("_T")


def name_gates(guardrails: Sequence[Guardrail]) -> tuple[str, ...]:
    """What each is called in the journal and in the name of its log."""
    return slugify_commands([guardrail.label for guardrail in guardrails])


def list_guardrail_commands(guardrails: Sequence[Guardrail]) -> list[str]:
    """What an agent may run, too, to see whether its work passes."""
    return [guardrail.command for guardrail in guardrails if guardrail.command]


def build_gates(
    guardrails: Sequence[Guardrail],
    processes: Processes,
    *,
    folder: str,
    run_dir: str,
    output_limit: int = DEFAULT_OUTPUT_LIMIT,
) -> dict[str, Gate]:
    """One gate a guardrail, by its name."""
    return {
        name: _build_gate(
            guardrail,
            GateOptions(
                command=guardrail.command or "",
                action=guardrail.fail_action,
                hint=guardrail.hint,
                timeout=guardrail.timeout_seconds,
                log_name=name,
                output_limit=output_limit,
                options=guardrail.options,
                folder=folder,
                run_dir=run_dir,
            ),
            processes,
        )
        for name, guardrail in zip(name_gates(guardrails), guardrails, strict=True)
    }


def check_guardrails(guardrails: Sequence[Guardrail]) -> tuple[str, ...]:
    """The titles of the gates they would be. ConfigError: a kind nobody knows, or options its kind does not take."""
    titles = []
    for index, guardrail in enumerate(guardrails):
        try:
            titles.append(check_guardrail(guardrail))
        except RalphError as error:
            raise ConfigError(f"guardrails[{index}]: {error.message}", error.hint) from error
    return tuple(titles)


def find_guardrail_problems(guardrails: Sequence[Guardrail]) -> tuple[str, ...]:
    """The first of these errors in a sentence, for who only shows settings."""
    try:
        check_guardrails(guardrails)
    except ConfigError as error:
        return (f"{error.message} ({error.hint})" if error.hint else error.message,)
    return ()


def check_guardrail(guardrail: Guardrail) -> str:
    """The title of the gate it would be; the errors of its kind."""
    options = GateOptions(command=guardrail.command or "", options=guardrail.options)
    return _build_gate(guardrail, options, _NoProcesses()).title


def _build_gate(guardrail: Guardrail, options: GateOptions, processes: Processes) -> Gate:
    module = registry.load_extension("guardrails", guardrail.kind)
    if module.__name__.startswith("ralph.guardrails."):
        built: Gate = module.build(options, processes)
        return built
    return _ForeignGate(guardrail.kind, lambda: module.build(options, processes))


class _ForeignGate:
    """A gate of an installed package: when it breaks, the run ends and says so; no agent is paid to mend it."""

    def __init__(self, kind: str, build: Callable[[], Gate]) -> None:
        self._kind = kind
        self._gate = self._call(build)

    @property
    def title(self) -> str:
        return self._call(lambda: self._gate.title)

    def check(self, evidence: Evidence) -> GateResult:
        return self._call(lambda: self._gate.check(evidence))

    def _call(self, do: Callable[[], _T]) -> _T:
        try:
            return do()
        except RalphError:
            raise
        except Exception as error:  # whatever the package of somebody else does
            raise BrokenExtension(
                f"guardrail kind {self._kind!r} failed in {_locate(error)}: {type(error).__name__}: {error}",
                "report this to the authors of the package that brings it",
            ) from error


def _locate(error: Exception) -> str:
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.filename}:{last.lineno}"


class _NoProcesses:
    """For building a gate only to see whether it can be."""

    def run(
        self, command: Command, on_output: Callable[[bytes], object], on_error: Callable[[bytes], object]
    ) -> CommandExit:
        raise AssertionError("looking at options starts no process")
