"""`ralph execute -j N`: slots go by priority, then by age; nobody waits for another's agent, and money is shared."""

import shlex
import threading

import pytest

from ralph.faces.cli.live.task_lines import TaskStatusLines
from ralph.faces.cli.terminal.look import TerminalStyle
from ralph.faces.cli.terminal.output import Output
from ralph.model.events import IterationStarted
from support.pipeline import PipelineFixture
from support.terminal import PseudoTerminal
from support.workshop import RALPH_ARGV

SLOW = "TASK-001"


def test_slots_go_by_priority_then_by_age_and_nobody_starves(pipeline: PipelineFixture) -> None:  # 000-24
    order = pipeline.home / "order"
    begun = f"[ $RALPH_STAGE = coder ] && echo $RALPH_TASK >> {shlex.quote(str(order))}"
    loops = f"[ $RALPH_TASK$RALPH_STAGE = {SLOW}coder ] && [ ! -f {{home}}/over ] && exit"  # no promise: again, again
    last = "[ $RALPH_TASK$RALPH_STAGE = TASK-006qa ] && touch {home}/over"
    pipeline.agent(before=f"{begun}\n{loops}\n{last}\n:")
    (pipeline.home / "minded").touch()
    flow = {"circuit_breaker": 9999, "coder": {"max_iterations": 9999}}
    pipeline.workshop.settings(agent={"command": "worker"}, specflow=flow)
    pipeline.task(SLOW, "--priority", "0")  # loops until all others are done
    pipeline.task("TASK-005", "--priority", "2")
    pipeline.task("TASK-003", "--priority", "1")
    pipeline.task("TASK-002", "--priority", "1")
    pipeline.task("TASK-006", "--priority", "3")
    pipeline.task("TASK-004", "--priority", "1", "--depends-on", "TASK-003")
    done = pipeline.execute("-j", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    others = [name for name in order.read_text().split() if name != SLOW]
    assert others == ["TASK-003", "TASK-002", "TASK-004", "TASK-005", "TASK-006"]
    assert order.read_text().split().count(SLOW) > 2


@pytest.mark.parametrize(
    "busy",
    ["sleep 0.1", "head -c 20000000 /dev/zero | tr '\\0' x", "yes 'a line as agents print them' | head -n 200000"],
    ids=["hangs", "floods with one line", "floods with many"],
)
def test_an_agent_that_hangs_or_floods_stalls_no_other_task(pipeline: PipelineFixture, busy: str) -> None:  # 000-24
    slow = f"[ $RALPH_TASK$RALPH_STAGE = {SLOW}coder ] && while [ ! -f {{home}}/over ]; do {busy}; done && echo"
    last = "[ $RALPH_TASK$RALPH_STAGE = TASK-003qa ] && touch {home}/over"
    pipeline.agent(before=f"{slow}\n{last}\n:")
    pipeline.honest()
    for name in (SLOW, "TASK-002", "TASK-003"):
        pipeline.task(name)
    done = pipeline.execute("-j", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(pipeline.told(SLOW, "coder")) == 1  # the others passed all their stages in this one run


def test_a_task_that_is_sent_back_tells_by_whom_and_why(pipeline: PipelineFixture) -> None:  # 000-24
    pipeline.task("TASK-002")
    lines = [line.partition("] ")[2] for line in pipeline.execute("-j", "2").stdout.splitlines()]
    assert lines.count("TASK-002  sent back by reviewer: Say it louder.") == 1
    at = lines.index("TASK-002  sent back by reviewer: Say it louder.")
    assert lines[at - 1] == "TASK-002  coder 1/15 started"


def test_each_task_tells_what_it_begins_and_why_a_promise_failed(pipeline: PipelineFixture) -> None:  # 000-21, 000-24
    pipeline.task("TASK-001")
    lines = [line.partition("] ")[2] for line in pipeline.execute("-j", "2", "--stage", "coder").stdout.splitlines()]
    assert lines[0] == "TASK-001  coder 1/15 started"
    assert "TASK-001  coder 2/15 started" in lines
    failed = next(line for line in lines if "failed" in line)
    assert failed.startswith('TASK-001  ✗ Verification "coder: external" failed (')
    below = lines[lines.index(failed) + 1]
    assert below.startswith("TASK-001  "), "each line of a log says whose it is"
    assert "Command exited with 1, expected 0" in below


TWO_TOGETHER = r"""#!/bin/sh
# Tells what it may spend, waits for the other one, and spends it.
echo "$*" > {home}/argv.$RALPH_TASK
until [ -f {home}/argv.TASK-001 ] && [ -f {home}/argv.TASK-002 ]; do sleep 0.05; done
printf '{"type":"result","subtype":"success","is_error":false,"total_cost_usd":0.5,"result":"Not yet."}\n'
"""


def test_several_at_once_share_the_budget(pipeline: PipelineFixture) -> None:  # 000-22
    program = pipeline.home / "claude"
    program.write_text(TWO_TOGETHER.replace("{home}", str(pipeline.home)))
    program.chmod(0o755)
    for name in ("TASK-001", "TASK-002"):
        pipeline.task(name)
    done = pipeline.execute("--agent", "claude", "-j", "2", "--budget", "1")
    assert done.returncode == 1
    for name in ("TASK-001", "TASK-002"):
        words = (pipeline.home / f"argv.{name}").read_text().split()
        assert float(words[words.index("--max-budget-usd") + 1]) == 0.45  # a tenth is kept for reviews
        assert pipeline.shown(name)["spent"]["cost_usd"] == 0.5
        assert f"{name}  over_budget" in done.stdout


def test_on_a_terminal_each_task_at_work_has_a_line(pipeline: PipelineFixture) -> None:
    pipeline.agent(before="sleep 0.3")
    for name in (SLOW, "TASK-002"):
        pipeline.task(name)
    terminal = PseudoTerminal(
        [*RALPH_ARGV, "execute", "-j", "2"], pipeline.repo, pipeline.workshop.environment, (100, 30)
    )
    try:
        for task in ("TASK-001", "TASK-002"):
            assert terminal.sees(f"{task}  coder 1/15")
        assert terminal.sees("\r\x1b[K\x1b[A\x1b[K")  # both are drawn anew
        assert terminal.ended(60) == 0
        assert b"completed  TASK-002 passed every stage" in terminal.seen
    finally:
        terminal.close()


class Seen(Output):
    """Keeps what would be shown."""

    def __init__(self) -> None:
        super().__init__(-1)
        self.texts: list[str] = []

    def __call__(self, text: str) -> None:
        self.texts.append(text)


def test_what_a_signal_has_said_is_not_erased_with_the_lines() -> None:
    out, lock = Seen(), threading.Lock()
    lines = TaskStatusLines(TerminalStyle(color=True, is_tty=True, progress=True), out, lock, lambda: 1.0)
    try:
        with lock:
            lines.handle_events(SLOW, 0.0, [IterationStarted(1, 9, f"coder {SLOW}")])
            lines.write_above("first\n")
            lines.write_above("second\n")
            lines.leave_lines()
            lines.write_above("third\n")
        erased = [text.startswith("\r\x1b[K") for text in out.texts[:3]]
        assert erased == [False, True, False]
    finally:
        lines.close()
