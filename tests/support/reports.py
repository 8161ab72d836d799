"""Reports without a run: as many iterations as wanted, with whatever words."""

from ralph.app.reports.report import Report, ReportedRun, count_checks, list_review_notes
from ralph.app.runs.journal_reader import CheckLine, Iteration, Remark
from ralph.app.runs.receipt import Receipt
from ralph.app.runs.spending import sum_expenses
from ralph.core.reporting.next_steps import NextStep
from ralph.model.events import Usage

BEGAN = 1_794_900_000.0
HOSTILE_WORDS = "<script>alert(1)</script> @octocat #12 | a\\|b `x` ![i](http://evil/i.png) \x1b[31m\n# head"


def make_iteration(number: int, words: str = "make test", *, passed: bool = True) -> Iteration:
    return Iteration(
        iteration=number,
        role="reviewer",
        story=words,
        started_at=BEGAN + 60.0 * number,
        outcome="finished" if passed else "crashed",
        detail=words,
        seconds=30.0,
        cost_usd=0.1,
        usage=Usage(input_tokens=1000, output_tokens=50, cache_read_tokens=400),
        checks=(
            CheckLine(name=words, passed=passed, exit_code=0 if passed else 1, seconds=5.0, reason=words, tail=words),
        ),
        remarks=(Remark(kind="sent_back", text=words, at=BEGAN, seconds=1.0),) if not passed else (),
    )


def make_receipt(*iterations: Iteration, words: str = "why", outcome: str | None = "exhausted") -> Receipt:
    return Receipt(
        id="20261117-080000-abcd",
        kind="execute",
        agent=words,
        folder="",
        root="",
        task="T-1",
        parent=None,
        started_at=BEGAN,
        ended_at=BEGAN + 600 if outcome else None,
        seconds=600.0,
        active=outcome is None,
        doing="run_agent",
        outcome=outcome,
        why=words,
        exit_code=1,
        cost_usd=0.2,
        earlier_cost_usd=None,
        usage=Usage(input_tokens=2000, output_tokens=100),
        limits=None,
        before=None,
        iterations=iterations,
        snapshots=(),
        unread=0,
    )


def make_report(*receipts: Receipt, words: str = "goal") -> Report:
    step = NextStep(about="T-1", reason=words, command="ralph execute T-1")
    every = [(receipt, each) for receipt in receipts for each in receipt.iterations]
    return Report(
        root=f"/somewhere/{words}",
        made_at=BEGAN + 700,
        runs=tuple(ReportedRun(goal=words, receipt=receipt, next_step=step) for receipt in receipts),
        total=sum_expenses([]),
        checks=count_checks(each for _, each in every),
        reviews=tuple(note for receipt, each in every for note in list_review_notes(receipt, each)),
    )
