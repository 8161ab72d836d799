"""What `ralph execute` takes for proof: checks that were red before, new tests, the judge; never an empty change."""

import pytest

from support.pipeline import PipelineFixture

TESTS = "echo x >> {home}/checked; for each in tests/test_*.sh; do [ ! -f $each ] || sh $each || exit 1; done"


@pytest.fixture
def proven(pipeline: PipelineFixture) -> PipelineFixture:
    """With a check that is green before any work."""
    pipeline.honest()
    (pipeline.repo / "check.sh").write_text(TESTS.replace("{home}", str(pipeline.home)) + "\n")
    pipeline.workshop.git("add", "-A")
    pipeline.workshop.git("commit", "-qm", "Check")
    return pipeline


def attempts(pipeline: PipelineFixture, role: str) -> list[tuple[bool, bool | None]]:
    found = pipeline.shown("TASK-001")["attempts"]
    return [(each["verified"], each.get("red_before")) for each in found if each["agent"] == role]


def test_a_check_that_was_green_before_needs_a_test_that_was_red_or_the_judge(proven: PipelineFixture) -> None:
    promise = "echo '<promise>IMPLEMENTATION_COMPLETE</promise>'"
    first = f"[ $RALPH_ITERATION = 1 ] && {{ echo half > $RALPH_TASK.txt; {promise}; exit; }}"
    tests = "mkdir -p tests; echo 'grep -q done TASK-001.txt' > tests/test_it.sh"
    proven.agent(f"{first}; {tests}")
    proven.task("TASK-001", "--coder-verify-cmd", "sh check.sh")
    done = proven.execute()
    assert done.returncode == 0, done.stdout + done.stderr
    assert attempts(proven, "coder") == [(False, False), (True, True)]  # the judge, who saw no `done`, then a new test
    assert attempts(proven, "qa") == [(True, True)]
    told = proven.told("TASK-001", "coder")
    assert "add a test that fails without your work" in told[0]
    assert "nothing says done" in told[1]
    assert "regression only" not in done.stdout
    checked = (proven.home / "checked").read_text()
    assert len(checked.splitlines()) == 4  # base, two promises, base with tests


def test_where_the_judge_has_to_stand_in_the_last_line_says_so(proven: PipelineFixture) -> None:
    proven.task("TASK-001", "--coder-verify-cmd", "sh check.sh", "--qa-verify-cmd", "sh check.sh")
    done = proven.execute()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "regression only: coder, qa" in done.stdout
    shown = proven.workshop.ralph("task", "show", "TASK-001").stdout
    assert shown.count("passed before the work: regression only") == 4  # each attempt, and what it rests on
    assert len((proven.home / "checked").read_text().splitlines()) == 4  # on the base once for both, twice, merged
    first, *_ = proven.shown("TASK-001")["attempts"]
    assert first["judge"]
    assert "sh check.sh, exit code 0, passed before the work: regression only" in proven.workshop.ralph("show").stdout


def test_a_change_that_a_later_stage_undid_does_not_land(proven: PipelineFixture) -> None:
    undo = "[ $RALPH_STAGE = tester ] && git reset -q --hard HEAD~1"
    proven.agent(before=undo, judge="echo VERIFIED")
    proven.task("TASK-001", "--qa-verify-cmd", "true")
    before = proven.workshop.git("rev-parse", "main")
    done = proven.execute()
    assert done.returncode == 1
    assert proven.workshop.git("rev-parse", "main") == before
    assert "nothing is left of the work" in proven.told("TASK-001", "coder")[1]


def test_after_a_conflict_qa_looks_again_at_what_was_checked(proven: PipelineFixture) -> None:
    move = "echo other > {repo}/note.txt; git -C {repo} add -A; git -C {repo} commit -qm 'Note it'"
    mine = "[ -f {home}/moved ] || { touch {home}/moved; echo mine > note.txt; " + move + "; }"
    both = "git merge -q main; echo both > note.txt; git commit -qam Both"
    merge = f"if grep -q 'Merge conflict' {{home}}/prompt.*; then {both}; fi"
    hook = f"{mine}; {merge}".replace("{repo}", str(proven.repo))
    report = "date +%N > report.txt"  # by a check, after the agent
    proven.agent(hook)
    proven.task("TASK-001", "--qa-verify-cmd", f"{report}; test -f TASK-001.txt")
    done = proven.execute()
    assert done.returncode == 0, done.stdout + done.stderr
    told = proven.told("TASK-001", "qa")
    assert len(told) == 2
    assert "A merge conflict with the target was resolved" in told[1]
    (conflict,) = [text for text in proven.told("TASK-001", "coder") if "Merge conflict" in text]
    assert [part for part in ("main", "TASK-001.txt is there", "says done", "Note it") if part not in conflict] == []
    assert "main was moved from" in done.stdout
    assert proven.workshop.git("show", "main:note.txt") == "both\n"
    assert "report.txt" not in proven.workshop.git("ls-tree", "-r", "--name-only", "main")


def test_what_landed_stays_true(proven: PipelineFixture) -> None:
    drops = "[ -f {home}/dropped ] && git checkout -q main -- TASK-001.txt"
    drops += " || { touch {home}/dropped; git rm -q TASK-001.txt; }"
    breaks = "cd {repo} && git rm -q TASK-001.txt && git commit -qm Break; cd - > /dev/null"
    before = f"case $RALPH_TASK-$RALPH_STAGE in TASK-002-coder) {drops};; TASK-003-qa) {breaks};; esac"
    proven.agent(before=before.replace("{repo}", str(proven.repo)))
    (proven.home / "minded").touch()
    proven.task("TASK-001")
    proven.task("TASK-002", "--depends-on", "TASK-001")
    proven.task("TASK-003", "--depends-on", "TASK-002")
    done = proven.execute()
    told = proven.told("TASK-002", "coder")
    assert len(told) == 2
    fails = "`grep -q done TASK-001.txt` of TASK-001, which has landed on main in this run, fails"
    assert fails in told[1]  # the newcomer is sent back
    assert len(proven.told("TASK-003", "coder")) == 1  # what others break it need not repair
    assert proven.status("TASK-003")["status"] == "done"
    assert done.returncode == 1
    assert f"TASK-001  broken  {fails}" in done.stdout
    assert "TASK-002  broken" not in done.stdout
