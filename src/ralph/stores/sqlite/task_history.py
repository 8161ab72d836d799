"""What was tried, logged and spent on tasks, in SQLite: kept for audit, asked by limits and budgets."""

import sqlite3

import msgspec

from ralph.model.board import Attempted, CostRecorded, HistoryNote, IterationEnded, Spending, TaskTotals
from ralph.model.spec import VerificationAttempt


class SqliteTaskHistory:
    """Added to inside the transactions of `SqliteTaskStore.apply`."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def list_attempts(self, task: str, agent: str | None = None, last: int | None = None) -> list[VerificationAttempt]:
        """Every look at a promise, oldest first; of one agent, or only the `last` so many."""
        rows = self._database.execute(
            "SELECT iteration, promise_found, verified, reason, timestamp, agent, method, output_digest, seconds,"
            " cost_usd, detail, red_before, by_words, judge, command, log, run, notes FROM verification"
            " WHERE task=? AND ifnull(agent=?, 1) ORDER BY id DESC LIMIT ?",
            (task, agent, -1 if last is None else last),
        ).fetchall()
        return [_decode_attempt(row) for row in reversed(rows)]

    def list_iterations(self, task: str) -> list[dict[str, object]]:
        """A record per iteration, oldest first."""
        rows = self._database.execute(
            "SELECT task, stage, iteration, limit_, promise_found, continuing, duration_ms, outcome, run, at, reason,"
            " (SELECT sum(cost_usd) FROM spend"
            "  WHERE spend.task = iteration.task AND spend.run = iteration.run AND spend.at = iteration.at)"
            " FROM iteration WHERE task=? ORDER BY id",
            (task,),
        )
        return [_decode_iteration(row) for row in rows]

    def sum_for_task(self, task: str) -> Spending:
        """On one task, all runs together."""
        return self._sum_spending("task", task)

    def sum_for_run(self, run: str) -> Spending:
        """By one run, all its tasks together."""
        return self._sum_spending("run", run)

    def sum_all_costs(self) -> float | None:
        """By all runs on all tasks; None: nobody said."""
        total: tuple[float | None] = self._database.execute("SELECT sum(cost_usd) FROM spend").fetchone()
        return total[0]

    def list_totals(self) -> dict[str, TaskTotals]:
        """Of every task that was worked on."""
        spent = dict(self._database.execute("SELECT task, sum(cost_usd) FROM spend GROUP BY task"))
        worked = self._database.execute("SELECT task, count(*), sum(duration_ms) FROM iteration GROUP BY task")
        return {
            task: TaskTotals(cost_usd=spent.get(task), iterations=count, seconds=took / 1000)
            for task, count, took in worked
        }

    def list_iterations_to_pass(self, agent: str, last: int = 100) -> list[int]:
        """How many iterations it took until a promise of that agent was verified: the newest `last`, newest first."""
        rows = self._database.execute(
            "SELECT iteration FROM verification WHERE agent=? AND verified AND iteration > 0"  # 0: by hand
            " ORDER BY id DESC LIMIT ?",
            (agent, last),
        )
        return [row[0] for row in rows]

    def add(self, note: HistoryNote) -> None:
        match note:
            case Attempted(task, attempt, run):
                self._insert("verification", _encode_attempt(task, attempt, run))
            case IterationEnded():
                same = (note.task, note.run, note.stage, note.iteration, note.at)
                self._database.execute(
                    "DELETE FROM iteration WHERE task=? AND run=? AND stage=? AND iteration=? AND at=?", same
                )
                self._insert("iteration", _encode_iteration(note))
            case CostRecorded():
                amounts = (note.cost_usd, note.input_tokens, note.output_tokens)
                self._insert("spend", (note.task, note.run, note.stage, note.iteration, *amounts, note.at))

    def _insert(self, table: str, row: tuple[object, ...]) -> None:
        self._database.execute(f"INSERT INTO {table} VALUES(NULL, {', '.join('?' * len(row))})", row)

    def _sum_spending(self, column: str, value: str) -> Spending:
        row = self._database.execute(
            "SELECT sum(cost_usd), ifnull(sum(input_tokens), 0), ifnull(sum(output_tokens), 0)"
            f" FROM spend WHERE {column}=?",
            (value,),
        ).fetchone()
        return Spending(*row)


def _encode_attempt(task: str, attempt: VerificationAttempt, run: str) -> tuple[object, ...]:
    return (
        *(task, run, attempt.agent, attempt.iteration, attempt.promise_found, attempt.verified, attempt.reason),
        *(attempt.method, attempt.digest, attempt.timestamp, attempt.seconds, attempt.cost_usd),
        *(msgspec.json.encode(attempt.notes).decode(), attempt.detail),
        *(attempt.red_before, attempt.by_words, attempt.judge, attempt.command, attempt.log),
    )


def _decode_attempt(row: tuple[object, ...]) -> VerificationAttempt:
    names = ("iteration", "promise_found", "verified", "reason", "timestamp", "agent", "method", "digest", "seconds")
    proof = ("red_before", "by_words", "judge", "command", "log", "run")
    fields = dict(zip((*names, "cost_usd", "detail", *proof, "notes"), row, strict=True))
    return msgspec.convert({**fields, "notes": msgspec.json.decode(str(row[-1]))}, VerificationAttempt, strict=False)


def _encode_iteration(ended: IterationEnded) -> tuple[object, ...]:
    return (
        *(ended.task, ended.run, ended.stage, ended.iteration, ended.max_iterations, ended.promise_found),
        *(ended.continuing, ended.duration_ms, ended.outcome, ended.at, ended.reason),
    )


def _decode_iteration(row: tuple[object, ...]) -> dict[str, object]:
    task, stage, iteration, most, promise_found, continuing, duration_ms, outcome, run, at, reason, cost_usd = row
    return {
        "task_id": task,
        "stage": stage,
        "ralph_iteration": iteration,
        "ralph_max": most,
        "promise_found": bool(promise_found),
        "continuing": bool(continuing),
        "duration_ms": duration_ms,
        "outcome": outcome,
        "reason": reason,
        "cost_usd": cost_usd,
        "run": run,
        "at": at,
    }
