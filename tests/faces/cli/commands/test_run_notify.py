"""Messages at the end of a run, as a user sets them up."""

import json

from support.terminal import PseudoTerminal
from support.workshop import RALPH_ARGV, ProjectFixture


def test_a_run_tells_its_end_to_a_command(workshop: ProjectFixture) -> None:
    told = workshop.home / "told"
    workshop.settings(notify={"command": ["tee", str(told)]})
    done = workshop.ralph("run", "-p", "x")
    assert done.returncode == 0
    assert json.loads(told.read_text())["outcome"] == "completed"


def test_a_message_that_cannot_be_sent_changes_no_outcome(workshop: ProjectFixture) -> None:
    workshop.settings(notify={"command": ["no-such-program"], "webhook": "http://127.0.0.1:9/"})
    done = workshop.ralph("run", "-p", "x")
    assert done.returncode == 0
    assert "notify: 'no-such-program' is not on PATH" in done.stdout
    assert "notify: the webhook cannot be reached" in done.stdout


def test_without_the_extra_a_run_says_what_to_install(workshop: ProjectFixture) -> None:
    workshop.settings(notify={"apprise": ["json://127.0.0.1:9/T0K3N"]})
    lose = "u.find_spec = lambda n, *m: None if n == 'apprise' else find(n, *m)"
    finder = f"import importlib.util as u; find = u.find_spec; {lose}"
    (workshop.home / "sitecustomize.py").write_text(finder)
    done = workshop.ralph("run", "-p", "x", PYTHONPATH=str(workshop.home))
    assert done.returncode == 0
    assert done.stdout.count("pip install 'ralph-verified[notify]'") == 1
    assert "T0K3N" not in workshop.ralph("config", "show").stdout


def test_a_bad_address_is_refused_before_anything_runs(workshop: ProjectFixture) -> None:
    workshop.settings(notify={"webhook": "ftp://x"})
    done = workshop.ralph("run", "-p", "x")
    assert (done.returncode, workshop.calls) == (2, 0)
    assert "notify.webhook: expected an address such as https://example.org/hook" in done.stderr


def test_a_terminal_rings_when_a_run_ends(workshop: ProjectFixture) -> None:
    for wanted in (True, False):
        workshop.settings(notify={"bell": wanted})
        terminal = PseudoTerminal([*RALPH_ARGV, "run", "-p", "x"], workshop.repo, workshop.environment)
        assert terminal.sees("Completed")
        assert terminal.ended() == 0
        assert (b"\a\x1b]9;ralph: completed: agent claimed" in terminal.seen) == wanted
