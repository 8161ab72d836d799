"""Gates in order: what each is told, what watchers hear, what an interruption leaves out."""

from collections.abc import Callable
from functools import partial

import pytest
from msgspec.structs import replace

from ralph.core.text.secrets import redact
from ralph.engine.gate_run import GateRunner, GateTree, WrappedProcesses
from ralph.model.command import Command
from ralph.model.events import GateEnded, GateStarted, Warned
from ralph.model.loop import Checked, Feedback, GateResult, Interrupted
from ralph.model.ports import Evidence
from support.quiet_inbox import QuietInbox
from support.scripted_processes import EXITED, Listener, Ran, ScriptedProcesses

RED = GateResult(
    gate="lint",
    passed=False,
    exit_code=3,
    seconds=0.5,
    log="lint.log",
    run_log="run_lint.log",
    tail="E501: line too long",
    feedback=Feedback("mend it", "PREPEND"),
    reason="it said no",
    trouble="its log could not be written",
)
GREEN = GateResult(gate="test", passed=True, seconds=2.0)


class ScriptedGate:
    def __init__(self, title: str, result: GateResult, act: Callable[[], object] = int) -> None:
        self.title, self._result, self._act = title, result, act
        self.seen: list[Evidence] = []

    def check(self, evidence: Evidence) -> GateResult:
        self.seen.append(evidence)
        self._act()
        return self._result


def make_gates(*gates: ScriptedGate, inbox: QuietInbox, listener: Listener | None = None) -> GateRunner:
    return GateRunner(
        {gate.title.partition(" ")[0]: gate for gate in gates},
        folder="/project",
        environment={"PATH": "/bin"},
        inbox=inbox,
        watchers=[listener or Listener()],
    )


def test_only_the_gates_asked_for_are_run_in_the_order_asked(inbox: QuietInbox) -> None:
    order: list[str] = []
    gates = [ScriptedGate(name, GREEN, partial(order.append, name)) for name in ("a", "b", "c")]
    make_gates(*gates, inbox=inbox).check(("c", "a"), 1)
    assert order == ["c", "a"]


def test_each_is_told_where_it_works_and_gives_its_result(inbox: QuietInbox) -> None:
    lint, test = ScriptedGate("lint", RED), ScriptedGate("test", GREEN)
    assert make_gates(lint, test, inbox=inbox).check(("lint", "test"), 4) == Checked((RED, GREEN))
    assert lint.seen == test.seen == [Evidence(4, "/project", {"PATH": "/bin"})]


def test_watchers_hear_what_each_found(inbox: QuietInbox, listener: Listener) -> None:
    secret = "sk-ant-api03-0123456789abcdefghij"
    gates = (ScriptedGate(f"lint --key={secret}", RED), ScriptedGate("test", GREEN))
    make_gates(*gates, inbox=inbox, listener=listener).check(("lint", "test"), 4)
    title = redact(f"lint --key={secret}")
    assert secret not in title
    assert listener.of(GateStarted, GateEnded, Warned) == [
        (4, GateStarted(title, 2)),
        (
            4,
            GateEnded(
                gate=title,
                passed=False,
                exit_code=3,
                seconds=0.5,
                action="PREPEND",
                log="lint.log",
                run_log="run_lint.log",
                detail="it said no",
                tail="E501: line too long",
            ),
        ),
        (4, Warned("its log could not be written")),
        (4, GateStarted("test", 2)),
        (4, GateEnded(gate="test", passed=True, exit_code=0, seconds=2.0)),
    ]


def test_an_interruption_starts_no_other(inbox: QuietInbox) -> None:
    test = ScriptedGate("test", GREEN)
    lint = ScriptedGate("lint", RED, lambda: setattr(inbox, "by", "received SIGINT"))
    assert make_gates(lint, test, inbox=inbox).check(("lint", "test"), 1) == Interrupted("received SIGINT")
    assert test.seen == []


def test_what_the_last_one_found_counts_in_spite_of_an_interruption(inbox: QuietInbox) -> None:
    lint = ScriptedGate("lint", RED, lambda: setattr(inbox, "by", "received SIGINT"))
    assert make_gates(lint, inbox=inbox).check(("lint",), 1) == Checked((RED,))


def test_one_that_was_cut_short_is_not_judged(inbox: QuietInbox, listener: Listener) -> None:
    def stop() -> None:
        inbox.by, inbox.grace = "cancelled with `ralph cancel`", 1.0

    lint = ScriptedGate("lint", RED, stop)
    runner = make_gates(lint, inbox=inbox, listener=listener)
    assert runner.check(("lint",), 1) == Interrupted("cancelled with `ralph cancel`")
    assert listener.of(GateEnded) == []


@pytest.mark.parametrize(
    ("tree", "remark"), [("sealed", " (with the tests as they were)"), ("committed", " (as committed)")]
)
def test_in_a_copy_of_the_tree_logs_are_kept_in_the_real_one_beside_the_others(
    inbox: QuietInbox, listener: Listener, tree: GateTree, remark: str
) -> None:
    lint = ScriptedGate("lint", GREEN)
    runner = GateRunner(
        {"lint": lint},
        folder="/copy",
        environment={},
        inbox=inbox,
        watchers=[listener],
        sealed_from="/project",
        tree=tree,
    )
    runner.check(("lint",), 2)
    assert lint.seen == [Evidence(2, "/copy", {}, log_folder="/project", log_suffix=f"_{tree}")]
    assert listener.of(GateStarted) == [(2, GateStarted(f"lint{remark}", 1))]


def test_a_wrapped_command_is_heard_as_it_speaks() -> None:
    processes = ScriptedProcesses(Ran(stdout=b"1 passed", stderr=b"a warning"))
    printed: list[bytes] = []
    complained: list[bytes] = []
    wrapped = WrappedProcesses(processes, lambda command: replace(command, argv=("bwrap", *command.argv)))
    assert wrapped.run(Command(argv=("pytest",), environment={}, cwd="/"), printed.append, complained.append) is EXITED
    assert (printed, complained) == ([b"1 passed"], [b"a warning"])
    assert [command.argv for command in processes.commands] == [("bwrap", "pytest")]
