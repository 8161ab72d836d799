"""`ralph restore` and `ralph diff` where there is something to refuse; what they are for is in `test_show.py`."""

import json

from support.workshop import ProjectFixture, make_result_command


def begin(workshop: ProjectFixture) -> str:
    """A run that writes a file; the hash of its last snapshot."""
    workshop.git("commit", "-q", "--allow-empty", "-m", "Start")
    workshop.agent(f"echo one > work; {make_result_command('<response>DONE</response>')}", name="claude")
    workshop.settings(agent={"command": "claude"})
    assert workshop.ralph("run", "-p", "x").returncode == 0
    shown = json.loads(workshop.ralph("show", "--json").stdout)
    return str(shown["snapshots"][-1]["commit"])


def test_a_commit_of_the_users_own_is_no_snapshot(workshop: ProjectFixture) -> None:
    begin(workshop)
    for name in ("HEAD", workshop.git("rev-parse", "HEAD").strip(), "nothing", "--help-me"):
        done = workshop.ralph("restore", "--", name)
        assert (done.returncode, "no snapshot" in done.stderr) == (2, True)


def test_files_go_into_a_folder_only_where_it_is_empty(workshop: ProjectFixture) -> None:
    kept = begin(workshop)
    done = workshop.ralph("restore", kept, "--into", ".ralph")
    assert (done.returncode, "is not empty" in done.stderr) == (2, True)
    assert workshop.ralph("restore", kept, "--into", "../apart").returncode == 0
    assert [path.name for path in (workshop.repo.parent / "apart").iterdir()] == [".ralph"]


def test_a_run_without_snapshots_has_no_diff(workshop: ProjectFixture) -> None:
    workshop.settings(snapshots=False)
    workshop.ralph("run", "-p", "x", "-m", "1")
    done = workshop.ralph("diff")
    assert (done.returncode, "no snapshots" in done.stderr) == (2, True)
    assert workshop.ralph("diff", "nothing").returncode == 2
