"""What a receipt makes of a journal, and of what git keeps."""

import os
import subprocess
import time
from pathlib import Path

import msgspec
import pytest

from ralph.app import paths as places
from ralph.app.runs.journal_reader import CheckLine, LandedLine, Remark, ReviewLine, SavedLine, read_journal
from ralph.app.runs.receipt import Receipt, build_receipt
from ralph.model.errors import NoSuchRun
from ralph.model.events import Usage
from ralph.model.loop import (
    Await,
    Awaited,
    Began,
    Brief,
    Check,
    Checked,
    Decision,
    Fact,
    Forbidden,
    GateResult,
    Interrupted,
    Land,
    Landed,
    Limits,
    Look,
    Looked,
    Observation,
    Outcome,
    Reported,
    Restore,
    Restored,
    Resumed,
    RunAgent,
    Save,
    Saved,
    Stop,
    Survey,
    Surveyed,
    Verified,
    Verify,
    Wait,
    Waited,
)
from ralph.model.runs import NewRun, RunOwner
from ralph.process.identity import identify_self
from ralph.stores.sqlite import database as sqlite
from support.stores import connect
from support.stories import make_approval, make_story

FIRST = RunAgent(Brief(iteration=1, limit=10))
FINISHED = Reported(
    outcome="finished", cost_usd=0.5, usage=Usage(input_tokens=100, output_tokens=20), seconds=4.0, tools=3
)
TWO_GATES = Check(("lint", "test"), 1)
GONE = RunOwner(pid=1, ticks=1, boot="", guardian=0, guardian_ticks=0)

Step = tuple[Fact, Decision]


def rows(*steps: Step, by: str = "") -> list[tuple[bytes, bytes]]:
    """A journal with ten seconds between its rows; `by` interrupts the last of them."""
    seen = [Observation(fact=fact, at=10.0 * n, wall=1000.0 + 10 * n) for n, (fact, _) in enumerate(steps)]
    seen[-1] = msgspec.structs.replace(seen[-1], interrupted_by=by)
    return [(msgspec.json.encode(each), msgspec.json.encode(step[1])) for each, step in zip(seen, steps, strict=True)]


class Office:
    """A real repository, and runs made up."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "-q", "-b", "main")
        self.places = places.find_paths(str(folder))
        Path(self.places.state).mkdir()
        self.runs = connect(self.places.database).runs

    def git(self, *words: str, **variables: str) -> str:
        argv = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *words]
        environment = {**os.environ, **variables}
        done = subprocess.run(argv, cwd=self.folder, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def run(self, name: str, *journal: tuple[bytes, bytes], keeper: RunOwner = GONE, doing: str = "check") -> None:
        self.runs.begin(
            NewRun(
                id=name,
                kind="run",
                folder=str(self.folder),
                agent="claude",
                request=b"{}",
                owner=keeper,
                started_at=1000.0,
            )
        )
        for number, row in enumerate(journal):
            self.runs.append((name, number, 1000.0 + number, float(number), 1, 10, 0.5, doing, *row))

    def keep(self, run: str, title: str, text: str, at: int = 1000) -> str:
        """A snapshot as a run makes it: the one before it is its first parent, HEAD another."""
        (self.folder / "work").write_text(text)
        self.git("add", "-A")
        tree, ref = self.git("write-tree"), f"refs/ralph/{run}"
        known = self.git("for-each-ref", "--format=%(objectname)", ref)
        parents = [word for commit in (known, self.git("rev-parse", "HEAD")) if commit for word in ("-p", commit)]
        commit = self.git(
            "commit-tree", tree, *parents, "-m", f"ralph {run}: {title}", GIT_COMMITTER_DATE=f"@{at} +0000"
        )
        self.git("update-ref", ref, commit)
        return commit

    def receipt(self, name: str = "", **variables: str) -> Receipt:
        return build_receipt(self.places, name, {**os.environ, **variables}, time.time())


@pytest.fixture
def office(tmp_path: Path) -> Office:
    office = Office(tmp_path)
    office.git("commit", "-q", "--allow-empty", "-m", "ralph is not the author of this")
    return office


# -- the journal ----------------------------------------------------------------------------------
def test_what_was_checked_and_saved_belongs_to_the_agent_before_it() -> None:
    red = GateResult(gate="test", passed=False, exit_code=2, seconds=1.5, log=".ralph/test.log", reason="It was ended.")
    saved = Saved(
        done=("commit",),
        message="Do it",
        problems=("push: no remote",),
        cost_usd=0.1,
        usage=Usage(input_tokens=7, output_tokens=1),
    )
    book = read_journal(
        rows(
            (Began(Limits(10)), Check(("test",), 0)),
            (Checked((red,)), FIRST),
            (FINISHED, TWO_GATES),
            (Checked((GateResult(gate="lint", passed=True, seconds=0.1), red)), Save(1)),
            (saved, RunAgent(Brief(iteration=2, limit=10))),
            (FINISHED, Save(2)),
            (Saved(), Stop(Outcome.COMPLETED, "done")),
        )
    )
    before, first, second = book.iterations
    line = CheckLine(name="test", passed=False, exit_code=2, seconds=1.5, reason="It was ended.", log=".ralph/test.log")
    assert before.checks == (line,)  # the baseline
    assert first.checks == (CheckLine(name="lint", passed=True, exit_code=0, seconds=0.1), line)
    assert first.saved == SavedLine(done=("commit",), message="Do it", problems=("push: no remote",), cost_usd=0.1)
    assert (first.iteration, first.outcome, first.seconds, first.cost_usd, first.tools) == (1, "finished", 4.0, 0.5, 3)
    assert (second.iteration, second.checks, second.saved) == (2, (), None)  # nothing to commit is no news
    assert book.usage == Usage(input_tokens=207, output_tokens=41)
    assert book.limits == Limits(10)


def test_a_retry_is_a_row_of_its_own_and_its_wait_is_told() -> None:
    limited = Reported(outcome="limited", detail="Limit reached.")
    book = read_journal(
        rows((Began(), FIRST), (limited, Wait(300, "Limit reached.")), (Waited(), FIRST), (FINISHED, Save(1)))
    )
    assert [(each.iteration, each.outcome) for each in book.iterations[1:]] == [(1, "limited"), (1, "finished")]
    assert book.iterations[1].remarks == (Remark(kind="waited", text="Limit reached.", at=1010.0, seconds=10.0),)


def test_an_agent_that_was_cut_off_an_interruption_and_a_new_life() -> None:
    stop = Stop(Outcome.INTERRUPTED, "SIGINT")
    book = read_journal(
        rows(
            (Began(Limits(3)), FIRST),
            (Interrupted("SIGINT"), stop),
            (Resumed(Limits(5)), FIRST),
            (FINISHED, TWO_GATES),
            (Interrupted("SIGTERM"), stop),
            (Resumed(Limits(7)), RunAgent(Brief(iteration=2, limit=7))),
        )
    )
    _, cut, first, second = book.iterations
    assert (cut.outcome, cut.detail, cut.seconds) == ("interrupted", "SIGINT", 10.0)
    assert [remark.kind for remark in cut.remarks] == ["resumed"]
    assert [(remark.kind, remark.text) for remark in first.remarks] == [("interrupted", "SIGTERM"), ("resumed", "")]
    assert (second.iteration, second.outcome, second.seconds) == (2, None, None)  # nobody has told yet
    assert book.limits == Limits(7)


def test_an_interruption_that_let_the_step_finish_is_told_too() -> None:
    book = read_journal(rows((Began(), FIRST), (FINISHED, Stop(Outcome.INTERRUPTED, "SIGINT")), by="SIGINT"))
    assert book.iterations[1].outcome == "finished"
    assert book.iterations[1].remarks == (Remark(kind="interrupted", text="SIGINT", at=1010.0),)


def test_the_part_of_a_task_its_promise_what_was_sent_back_and_how_it_landed() -> None:
    def part(iteration: int, role: str, changes: str = "") -> RunAgent:
        return RunAgent(
            Brief(iteration=iteration, limit=40, role=role, story="TASK-001", turn=1, turns=15, changes=changes)
        )

    book = read_journal(
        rows(
            (Began(spent_usd=0.25), part(1, "coder")),
            (FINISHED, Verify(role="coder", turn=1, turns=15, text="…")),
            (
                Verified(
                    verified=False, reason="exit code 1", cost_usd=0.5, usage=Usage(input_tokens=1, output_tokens=1)
                ),
                part(2, "coder"),
            ),
            (FINISHED, Verify(role="coder", turn=2, turns=15, text="…")),
            (Verified(verified=True, reason="it holds"), part(3, "reviewer")),
            (FINISHED, part(4, "coder", "Say it louder.")),
            (FINISHED, part(5, "coder", "Say it louder.")),  # it promised nothing
            (FINISHED, Land()),
            (Landed(done=False, conflict="README"), Land()),
            (Landed(done=True, commit="abc"), Stop(Outcome.COMPLETED, "landed")),
        )
    )
    first, second, third, fourth, fifth = book.iterations[1:]
    assert (first.role, first.story, first.turn, first.turns) == ("coder", "TASK-001", 1, 15)
    assert first.checks == (
        CheckLine(name="verification", passed=False, exit_code=None, seconds=10.0, reason="exit code 1", cost_usd=0.5),
    )
    assert second.checks == (
        CheckLine(name="verification", passed=True, exit_code=None, seconds=10.0, reason="it holds"),
    )
    assert [(remark.kind, remark.text) for remark in third.remarks] == [("sent_back", "Say it louder.")]
    assert fourth.remarks == ()
    assert fifth.landed == LandedLine(done=True, commit="abc", conflict="", red="", problem="", stale=False)
    assert book.earlier_usd == 0.25
    assert book.usage.input_tokens == 501  # the judge's too


def test_a_story_stands_where_the_list_that_counts_says() -> None:
    def plan(**fields: object) -> str:
        document = {"project": "demo", "branchName": "b", "description": "d", "verifyCommands": []}
        return msgspec.json.encode(
            {**document, "userStories": [make_story("US-001", notes="did it", **fields)]}
        ).decode()

    brief = Brief(iteration=1, limit=10, role="review", story="US-001", tasks=plan())
    again = RunAgent(msgspec.structs.replace(brief, iteration=2))
    book = read_journal(
        rows(
            (Began(), Survey()),
            (Surveyed(text=plan()), RunAgent(brief)),
            (FINISHED, Survey()),
            (Surveyed(text=plan(**make_approval(1))), again),
            (FINISHED, Survey()),
            (Surveyed(text=plan(**make_approval(9))), Restore(plan(reviewStatus="needs_review"), ("Undone: count",))),
            (Restored(), again),
            (FINISHED, Survey()),
            (Surveyed(text="no JSON"), Stop(Outcome.STUCK, "")),
        )
    )
    before, first, second, third = book.iterations
    assert before.reviewed is None
    assert first.reviewed == ReviewLine("approved", 1, "")
    assert second.reviewed == ReviewLine("needs_review", 0, "")
    assert [(remark.kind, remark.text) for remark in second.remarks] == [("put_back", "Undone: count")]
    assert third.reviewed is None


def test_the_mark_of_a_supervised_task_is_its_check() -> None:
    pause = Wait(1.0, "before the restart")
    book = read_journal(
        rows(
            (Began(), Look()),
            (Looked(), Await("dependencies")),
            (Awaited(("task-0",)), Look()),
            (Looked(), FIRST),
            (Reported(outcome="crashed", exit_code=1), Look()),
            (Looked(), pause),
            (Waited(), Look()),
            (Looked(), RunAgent(Brief(iteration=2, limit=10))),
            (FINISHED, Look()),
            (Looked(done=True), Await("children", 300)),
            (Awaited(), Stop(Outcome.COMPLETED, "")),
        )
    )
    before, first, second = book.iterations
    assert before.remarks == (
        Remark(kind="waited", text="for dependencies; still missing: task-0", at=1010.0, seconds=10.0),
    )
    assert [check.passed for check in first.checks] == [False]
    assert (first.exit_code, first.remarks) == (1, ())  # the pause before a restart is no news
    assert [check.passed for check in second.checks] == [True]


def test_an_agent_that_was_not_paid_for_did_not_start() -> None:
    book = read_journal(rows((Began(), FIRST), (Forbidden("spent"), Stop(Outcome.OVER_BUDGET, "spent"))))
    assert (book.iterations[1].outcome, book.iterations[1].detail) == ("not_started", "spent")


@pytest.mark.parametrize(
    "spoiled",
    [
        (b"{", b"{}"),
        (b"\xff\xfe", b"null"),
        (b'{"fact":{"type":"from_the_future"}}', msgspec.json.encode(FIRST)),
        (msgspec.json.encode(Observation(fact=Began())), b'{"type":"dance"}'),
        (b'{"new":' + b"[" * 100_000, b""),
        (b'{"fact":{"type":"interrupted","by":"\xff"}}', msgspec.json.encode(FIRST)),
    ],
    ids=["cut", "bytes", "fact", "decision", "deep", "text"],
)
@pytest.mark.parametrize("place", range(5))
def test_rows_nobody_can_read_are_counted_and_passed_over(spoiled: tuple[bytes, bytes], place: int) -> None:
    journal = rows((Began(), FIRST), (FINISHED, Save(1)), (Saved(done=("commit",)), Stop(Outcome.COMPLETED, "")))
    journal.insert(place, spoiled)
    book = read_journal(journal)
    assert book.unreadable_rows == 1
    assert [each.outcome for each in book.iterations if each.outcome] == ["finished"]


def test_a_report_without_a_beginning_does_not_overwrite_the_one_before() -> None:
    journal = rows(
        (Began(), FIRST),
        (FINISHED, RunAgent(Brief(iteration=2, limit=10))),
        (Reported(outcome="empty"), Stop(Outcome.FAILED, "")),
    )
    journal[1:2] = [journal[1], (b"", b""), journal[2]]  # the agent that reports now is another
    book = read_journal(journal[:-1])
    assert [(each.iteration, each.outcome) for each in book.iterations[1:]] == [
        (1, "finished"),
        (2, None),
        (3, "empty"),
    ]


def test_a_journal_of_an_older_ralph_has_fewer_fields() -> None:
    began, agent = b'{"fact":{"type":"began"}}', b'{"type":"run_agent","brief":{"iteration":1,"limit":3}}'
    ended, check = b'{"fact":{"type":"reported","outcome":"finished"}}', b'{"type":"check","gates":["a"],"iteration":1}'
    checked = b'{"fact":{"type":"checked","results":[{"gate":"a","passed":true,"of_old":1}]}}'
    book = read_journal([(began, agent), (ended, check), (checked, b'{"type":"stop","outcome":"completed","why":"x"}')])
    assert book.unreadable_rows == 0
    assert book.iterations[1].checks == (CheckLine(name="a", passed=True, exit_code=0),)
    assert book.iterations[1].started_at is None


# -- the run --------------------------------------------------------------------------------------
def test_the_newest_run_or_one_by_its_beginning(office: Office) -> None:
    with pytest.raises(NoSuchRun, match="no run yet"):
        office.receipt()
    for name in ("20261115-a", "20261116-a", "20261116-b"):
        office.run(name, *rows((Began(), FIRST)))
    assert office.receipt().id == "20261116-b"
    assert office.receipt("20261115").id == "20261115-a"
    for name, told in (("20261116", "ambiguous: 20261116-b, 20261116-a"), ("nope", "no run matches 'nope'")):
        with pytest.raises(NoSuchRun, match=told):
            office.receipt(name)


def test_a_run_whose_process_is_gone_has_no_exit_code(office: Office) -> None:
    office.run("r", *rows((Began(), FIRST)), doing="run_agent")
    found = office.receipt()
    assert (found.active, found.outcome, found.exit_code, found.doing) == (False, "lost", None, None)
    assert found.iterations[0].outcome is None


@pytest.mark.parametrize(
    ("outcome", "code"), [("completed", 0), ("exhausted", 1), ("blocked", 3), ("interrupted", 130)]
)
def test_how_it_ended(office: Office, outcome: str, code: int) -> None:
    office.run("r", *rows((Began(), FIRST)))
    office.runs.end("r", 1060.0, outcome, "because")
    found = office.receipt()
    assert (found.outcome, found.why, found.exit_code, found.ended_at) == (outcome, "because", code, 1060.0)


def test_a_run_that_goes_on_says_what_it_does(office: Office) -> None:
    me = identify_self()
    alive = RunOwner(pid=me.pid, ticks=me.ticks, boot=me.boot, guardian=0, guardian_ticks=0)
    office.run("r", *rows((Began(), FIRST)), keeper=alive, doing="run_agent")
    found = office.receipt()
    assert (found.active, found.doing, found.outcome, found.exit_code) == (True, "run_agent", None, None)
    assert (found.iterations[0].seconds or 0) > 1000  # it began in 1970
    office.run("s", *rows((Began(), FIRST), (FINISHED, TWO_GATES)), keeper=alive)
    assert office.receipt().iterations[0].seconds == 4.0


def test_ten_thousand_rows_take_a_moment(office: Office) -> None:
    gates = Checked(tuple(GateResult(gate=f"gate {n}", passed=True) for n in range(5)))
    loops: list[Step] = [(FINISHED, TWO_GATES), (gates, Save(1)), (Saved(done=("commit",), message="m"), FIRST)]
    office.runs.begin(
        NewRun(
            id="r", kind="run", folder=str(office.folder), agent="claude", request=b"{}", owner=GONE, started_at=1000.0
        )
    )
    table = [("r", n, 0.0, 0.0, 1, 9, 0.5, "", *row) for n, row in enumerate(rows((Began(), FIRST), *loops * 3333))]
    sqlite.open_database(office.places.database).executemany(
        "INSERT INTO transition VALUES(?,?,?,?,?,?,?,?,?,?)", table
    )
    began = time.process_time()
    assert len(office.receipt().iterations) == 3334
    assert time.process_time() - began < 1.0


# -- kept trees -----------------------------------------------------------------------------------
def test_snapshots_stand_beside_their_iterations(office: Office) -> None:
    office.run(
        "r",
        *rows(
            (Began(), FIRST), (FINISHED, FIRST), (FINISHED, RunAgent(Brief(iteration=2, limit=10))), (FINISHED, Save(2))
        ),
    )
    titles = ["before the first agent", *(f"after iteration {n}" for n in (1, 1, 2))]
    commits = [office.keep("r", title, str(number), at=2000) for number, title in enumerate(titles)]
    found = office.receipt()
    assert [(kept.title, kept.commit) for kept in found.snapshots] == [*zip(titles, commits, strict=True)]
    assert found.before is not None
    assert found.before.snapshot == commits[0]
    assert [each.snapshot for each in found.iterations] == [None, commits[2], commits[3]]


def test_every_life_begins_with_a_tree_of_its_own(office: Office) -> None:
    again = (Resumed(), TWO_GATES)
    journal = rows((Began(), FIRST), (FINISHED, TWO_GATES), again, again, (Checked(()), FIRST), by="SIGINT")
    office.run("r", *journal)
    first = office.keep("r", "before the first agent", "mine")
    office.keep("r", "after iteration 1", "its")
    third = office.keep("r", "before the first agent", "mended by hand", at=1045)  # the second found nothing new
    found = office.receipt()
    assert found.before is not None
    assert found.before.snapshot == first
    assert [remark.snapshot for remark in found.iterations[0].remarks] == [None, third, None]


def test_what_a_later_life_found_is_not_what_was_there_at_the_start(office: Office) -> None:
    stop = Stop(Outcome.INTERRUPTED, "SIGINT")
    office.run("r", *rows((Began(), FIRST), (Interrupted("SIGINT"), stop), (Resumed(), FIRST), (FINISHED, TWO_GATES)))
    kept = office.keep("r", "before the first agent", "half done", at=1020)
    found = office.receipt()
    assert found.before is None
    assert found.iterations[0].remarks[0].snapshot == kept


def test_what_a_stopped_agent_left_stands_beside_it_and_not_beside_its_next_life(office: Office) -> None:
    stop = Stop(Outcome.INTERRUPTED, "SIGINT")
    office.run("r", *rows((Began(), FIRST), (Interrupted("SIGINT"), stop), (Resumed(), FIRST), (FINISHED, TWO_GATES)))
    begun = [each.started_at for each in office.receipt().iterations]
    assert begun[1] is not None
    kept = office.keep("r", "after iteration 1", "half done", at=int(begun[1]))  # within the second of the next life
    assert [each.snapshot for each in office.receipt().iterations] == [kept, None]
    last = office.keep("r", "after iteration 1", "done", at=int(begun[1]))
    assert [each.snapshot for each in office.receipt().iterations] == [kept, last]


def test_commits_that_are_not_the_runs_own_are_left_out(office: Office) -> None:
    office.run("r", *rows((Began(), FIRST), (FINISHED, TWO_GATES)))
    assert office.receipt().snapshots == ()  # no ref at all
    office.git("update-ref", "refs/ralph/r", "HEAD")
    assert office.receipt().snapshots == ()  # a stranger's
    office.keep("other", "after iteration 1", "x")
    assert office.receipt().snapshots == ()  # another run's
    office.git("update-ref", "-d", "refs/ralph/r")
    office.keep("r", "after the flood", "y")  # of another version
    assert [kept.iteration for kept in office.receipt().snapshots] == [None]


def test_the_users_own_history_is_not_searched(office: Office) -> None:
    for subject in ("ralph r: after iteration 7", "Start"):
        office.git("commit", "-q", "--allow-empty", "-m", subject)
    office.run("r", *rows((Began(), FIRST), (FINISHED, TWO_GATES), (Checked(()), FIRST)))
    office.keep("r", "after iteration 1", "x")
    assert [kept.title for kept in office.receipt().snapshots] == ["after iteration 1"]


def test_without_git_nothing_is_said_of_trees(office: Office, tmp_path: Path) -> None:
    office.run("r", *rows((Began(), FIRST), (FINISHED, TWO_GATES)))
    office.keep("r", "after iteration 1", "x")
    assert len(office.receipt().snapshots) == 1
    assert office.receipt(PATH=str(tmp_path)).snapshots == ()
    assert len(office.receipt(GIT_DIR=str(tmp_path)).snapshots) == 1  # a hook's variables lead elsewhere


def test_outside_git_there_is_a_receipt_all_the_same(tmp_path: Path) -> None:
    here = places.find_paths(str(tmp_path))
    runs = connect(here.database).runs
    runs.begin(
        NewRun(id="r", kind="run", folder=str(tmp_path), agent="claude", request=b"{}", owner=GONE, started_at=1000.0)
    )
    found = build_receipt(here, "", os.environ, time.time())
    assert (found.snapshots, found.iterations, found.before, found.limits) == ((), (), None, None)
