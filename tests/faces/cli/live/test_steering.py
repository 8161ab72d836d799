"""Keys that steer a run, on a real terminal."""

import pytest

from ralph.faces.cli.live.keys import QUIET_SECONDS_AROUND_KEY
from support.terminal import PseudoTerminal
from support.workshop import RALPH_ARGV, ProjectFixture, make_result_command

SLOW = f"touch ready; while [ ! -e go ]; do sleep 0.05; done; {make_result_command('not yet')}"


@pytest.fixture
def terminal(workshop: ProjectFixture) -> PseudoTerminal:
    workshop.agent(SLOW, make_result_command("<response>DONE</response>"))
    workshop.settings()
    return PseudoTerminal([*RALPH_ARGV, "run", "-p", "x"], workshop.repo, workshop.environment)


def test_keys_pause_note_and_resume_and_leave_the_terminal_as_it_was(
    workshop: ProjectFixture, terminal: PseudoTerminal
) -> None:
    def press(key: str, shows: str) -> None:
        terminal.until(lambda: False, QUIET_SECONDS_AROUND_KEY + 0.1)  # a key counts only by itself
        terminal.types(key)
        assert terminal.sees(shows), terminal.seen.decode()[-500:]

    try:
        assert terminal.sees("p pause, n note, q stop")
        press("n", "Note to the next agent")
        press("use ints\r", "Noted for the next agent")
        press("p", "Pausing after this step")
        (workshop.repo / "go").touch()
        assert terminal.sees("Paused by")
        press("p", "Resumed")
        assert terminal.ended(30) == 0
        assert terminal.edits_lines()
        assert "use ints" in (workshop.home / "prompt.2").read_text()
        assert "use ints" not in (workshop.home / "prompt.1").read_text()
    finally:
        terminal.close()


def test_who_is_killed_leaves_a_terminal_that_works(workshop: ProjectFixture, terminal: PseudoTerminal) -> None:
    try:
        assert terminal.sees("p pause, n note, q stop")
        assert terminal.until(lambda: not terminal.edits_lines())
        terminal.signal(9)
        assert terminal.until(terminal.edits_lines, 5)
        assert terminal.ended(5) == -9
    finally:
        (workshop.repo / "go").touch()
        terminal.close()
