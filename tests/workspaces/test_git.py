"""The one client of git."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ralph.model.command import GUARDIAN_KILLED, Command, CommandExit
from ralph.workspaces.git import Git
from support.repository import RepositoryFixture, open_repository


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[RepositoryFixture]:
    with open_repository(tmp_path) as made:
        yield made


Reader = Callable[[bytes], object]


class RecordedProcesses:
    """Starts nothing, and answers with success."""

    def __init__(self) -> None:
        self.commands: list[Command] = []

    def run(self, command: Command, on_output: Reader, on_error: Reader) -> CommandExit:
        self.commands.append(command)
        on_output(b"out\n")
        on_error(b"err\n")
        return CommandExit(code=0, seconds=0.0)


@pytest.mark.parametrize("derive", [lambda git: git, lambda git: git.in_folder("/b"), Git.as_ralph, Git.with_identity])
def test_its_options_stand_before_every_subcommand(derive: Callable[[Git], Git]) -> None:
    processes = RecordedProcesses()
    environment = {"GIT_DIR": "/elsewhere", "PATH": "/bin"}
    git = Git("/bin/git", "/a", environment=environment, processes=processes, options=("-c", "x=y"), timeout=7)
    said = derive(git).run("status", "-s", GIT_INDEX_FILE="/index")
    assert (said.ok, said.text, said.problem) == (True, "out", "err")
    command = processes.commands[-1]
    assert (command.argv, command.timeout) == (
        ("/bin/git", "-c", "x=y", "status", "--ignore-submodules=dirty", "-s"),
        7,
    )
    assert command.environment["GIT_INDEX_FILE"] == "/index"
    assert command.environment["GIT_TERMINAL_PROMPT"] == "0"  # nobody is there to type
    assert "GIT_DIR" not in command.environment


def test_a_program_that_is_not_there_is_an_answer(tmp_path: Path) -> None:
    with open_repository(tmp_path) as repository:
        lost = Git("/no/git", str(tmp_path), environment={}, processes=repository.supervisor)
        assert (lost.run("status").code, lost.run("status").problem) == (127, "No such file or directory")


@pytest.mark.parametrize("words", [("status", "--porcelain"), ("-c", "core.abbrev=7", "log", "-1", "--format=%s")])
def test_who_reads_is_asked_again_when_its_guardian_was_killed(repo: RepositoryFixture, words: tuple[str, ...]) -> None:
    (repo.root / "new").write_text("x")
    repo.kill_guardian_at("log" if "log" in words else "status")
    said = repo.make_users_git().run(*words)
    assert (said.code, said.text) == (0, "Write README" if "log" in words else "?? new")


def test_who_writes_is_not(repo: RepositoryFixture) -> None:
    repo.kill_guardian_at("commit")
    said = repo.make_users_git().run("commit", "--allow-empty", "-m", "status")
    assert (said.code, said.complaint) == (-9, GUARDIAN_KILLED)
    assert repo.run("log", "--format=%s") == "Write README"
