"""Runs gates in order: each is told when it starts and how it ended, an interruption starts no other."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from ralph.core.text.secrets import redact
from ralph.engine.emit import emit
from ralph.model.command import Command, CommandExit
from ralph.model.events import Debugged, GateEnded, GateStarted, Warned
from ralph.model.loop import Checked, GateResult, Interrupted
from ralph.model.ports import Evidence, Gate, Inbox, Processes, Watcher

GateTree = Literal["sealed", "committed"]
SEALED_REMARK = " (with the tests as they were)"
_TREE_REMARKS: dict[GateTree, str] = {"sealed": SEALED_REMARK, "committed": " (as committed)"}


class WrappedProcesses:
    """The same processes, each command changed first."""

    def __init__(self, processes: Processes, wrap: Callable[[Command], Command]) -> None:
        self._processes, self._wrap = processes, wrap

    def run(
        self, command: Command, on_output: Callable[[bytes], object], on_error: Callable[[bytes], object]
    ) -> CommandExit:
        return self._processes.run(self._wrap(command), on_output, on_error)


class GateRunner:
    """Knows the gates of a run by name, and where they work."""

    def __init__(
        self,
        gates: Mapping[str, Gate],
        *,
        folder: str,
        environment: Mapping[str, str],
        inbox: Inbox,
        watchers: Sequence[Watcher],
        sealed_from: str = "",
        tree: GateTree = "sealed",
    ) -> None:
        """`sealed_from`: the real folder, where this one is a copy of its `tree`; logs are kept there."""
        self._gates = gates
        self._folder, self._environment = folder, environment
        self._sealed_from, self._tree = sealed_from, tree
        self._inbox, self._watchers = inbox, watchers

    def check(self, names: Sequence[str], iteration: int) -> Checked | Interrupted:
        """All of these; a stop that must not wait judges none."""
        evidence = Evidence(
            iteration,
            self._folder,
            self._environment,
            log_folder=self._sealed_from,
            log_suffix=f"_{self._tree}" if self._sealed_from else "",
        )
        results: list[GateResult] = []
        for name in names:
            result = self._check_gate(self._gates[name], evidence, len(names))
            if result is None:
                return Interrupted(self._inbox.poll_interruption())
            results.append(result)
            if len(results) < len(names) and (by := self._inbox.poll_interruption()):
                return Interrupted(by)
        return Checked(tuple(results))

    def _check_gate(self, gate: Gate, evidence: Evidence, count: int) -> GateResult | None:
        """None: it was cut short, so nobody knows."""
        title, number = redact(gate.title), evidence.iteration
        title = f"{title}{_TREE_REMARKS[self._tree]}" if self._sealed_from else title
        emit(self._watchers, number, GateStarted(title, count), Debugged(f"Running guardrail: {title}"))
        result = gate.check(evidence)
        if self._inbox.poll_stop_grace() is not None:
            return None
        emit(
            self._watchers,
            number,
            GateEnded(
                gate=title,
                passed=result.passed,
                exit_code=result.exit_code,
                seconds=result.seconds,
                action="" if result.feedback is None else result.feedback.action,
                log=result.log,
                run_log=result.run_log,
                detail=result.reason,
                tail=redact(result.tail),
            ),
            Debugged(f"Guardrail exited with code {result.exit_code} ({result.seconds:.1f}s)"),
        )
        if result.trouble:
            emit(self._watchers, number, Warned(result.trouble))
        return result
