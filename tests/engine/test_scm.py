"""SCM tasks after a passing iteration, with a real repository."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.engine.scm import COMMIT_MESSAGE_PROMPT, AgentReply, ScmRunner
from ralph.model.events import Usage
from ralph.model.ports import GitResult
from ralph.model.receipt import SignedCommit
from ralph.process.index_lock import IndexLock
from support.repository import RepositoryFixture, open_repository


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[RepositoryFixture]:
    with open_repository(tmp_path) as found:
        yield found


class ScriptedClient:
    """Another program than git, which answers as it is told."""

    def __init__(self, *answers: GitResult) -> None:
        self._answers = [*answers]
        self.calls: list[tuple[str, ...]] = []

    def run(self, *words: str) -> GitResult:
        self.calls.append(words)
        return self._answers.pop(0)


def never_asked(question: str) -> AgentReply:
    raise AssertionError(question)


def test_a_commit_holds_what_is_new_since_the_run_began_and_no_more(repository: RepositoryFixture) -> None:
    (repository.root / "mine").write_text("the user's own")
    run_dir = str(repository.scratch)
    ScmRunner("git", ("commit",), git=repository.git, run_dir=run_dir)
    (repository.root / "new *").write_text("the agent's")
    (repository.root / "README").write_text("the agent's, too")
    (repository.root / ".ralph").mkdir()
    (repository.root / ".ralph/guardrail_001_test.log").write_text("ralph's own")
    asked: list[str] = []

    def answer(question: str) -> AgentReply:
        asked.append(question)
        return AgentReply(text="Add it", cost_usd=0.5, usage=Usage(input_tokens=7))

    resumed = ScmRunner("git", ("commit",), git=repository.git, run_dir=run_dir)
    saved = resumed.save(answer)
    assert (saved.done, saved.message, saved.problems, saved.cost_usd) == (("commit",), "Add it", (), 0.5)
    assert saved.usage == Usage(input_tokens=7)
    assert asked == [COMMIT_MESSAGE_PROMPT]
    assert repository.run("show", "--name-only", "--format=%s") == "Add it\n\nREADME\nnew *"
    assert repository.run("status", "--porcelain") == "?? .ralph/\n?? mine"


def test_a_commit_of_gits_ends_with_the_trailer_and_is_known(repository: RepositoryFixture) -> None:
    runner = ScmRunner("git", ("commit",), git=repository.git, run_dir=str(repository.scratch))
    (repository.root / "new").write_text("the agent's")
    saved = runner.save(lambda question: AgentReply(text="Add it"), "Ralph-Receipt: run sha256:12ab")
    assert repository.run("log", "-1", "--format=%B") == "Add it\n\nRalph-Receipt: run sha256:12ab"
    assert saved.message == "Add it"
    assert saved.commit == SignedCommit(repository.run("rev-parse", "HEAD"), "12ab")


def install_hook(repository: RepositoryFixture, name: str, script: str) -> None:
    hook = repository.root / ".git/hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{script}\n")
    hook.chmod(0o755)


def test_a_hook_that_writes_another_message_leaves_no_commit_of_ours(repository: RepositoryFixture) -> None:
    install_hook(repository, "commit-msg", 'echo Mine > "$1"')
    runner = ScmRunner("git", ("commit",), git=repository.make_users_git(), run_dir=str(repository.scratch))
    (repository.root / "new").write_text("the agent's")
    saved = runner.save(lambda question: AgentReply(text="Add it"), "Ralph-Receipt: run sha256:12ab")
    assert (saved.done, saved.commit) == (("commit",), None)


@pytest.mark.parametrize("trailer", ["Ralph-Receipt: run sha256:12ab", ""])
def test_a_hook_that_writes_the_trailer_of_another_run_leaves_no_commit_of_ours(
    repository: RepositoryFixture, trailer: str
) -> None:
    install_hook(repository, "commit-msg", 'printf "Mine\\n\\nRalph-Receipt: other sha256:34cd\\n" > "$1"')
    runner = ScmRunner("git", ("commit",), git=repository.make_users_git(), run_dir=str(repository.scratch))
    (repository.root / "new").write_text("the agent's")
    assert runner.save(lambda question: AgentReply(text="Add it"), trailer).commit is None
    assert "34cd" in repository.run("log", "-1", "--format=%B")


def test_an_agent_that_was_stopped_while_it_wrote_the_message_leaves_no_commit(repository: RepositoryFixture) -> None:
    runner = ScmRunner("git", ("commit", "log"), git=repository.git, run_dir=str(repository.scratch))
    (repository.root / "new").write_text("the agent's")
    before = repository.run("rev-parse", "HEAD")
    saved = runner.save(lambda question: AgentReply(text="Add", problem="commit: the agent was stopped"))
    assert (saved.done, saved.message, saved.problems) == ((), "", ("commit: the agent was stopped",))
    assert repository.run("rev-parse", "HEAD") == before


def test_without_a_change_nobody_is_asked(repository: RepositoryFixture) -> None:
    runner = ScmRunner("git", ("commit",), git=repository.git, run_dir=str(repository.scratch))
    assert runner.save(never_asked).done == ()


def test_the_first_task_that_fails_ends_them_with_gits_own_complaint(repository: RepositoryFixture) -> None:
    runner = ScmRunner("git", ("status", "push", "log"), git=repository.git, run_dir=str(repository.scratch))
    saved = runner.save(never_asked)
    assert saved.done == ("status",)
    assert saved.problems == ("git push failed with exit code 128: fatal: No configured push destination.",)


def test_another_program_gets_its_tasks_word_by_word() -> None:
    client = ScriptedClient(GitResult(0, ""), GitResult(3, "half done\n", "no network\n"))
    runner = ScmRunner("/opt/jj --quiet", ("commit", "git push"), git=client, run_dir="")
    saved = runner.save(lambda question: AgentReply(text="Add it"), "Ralph-Receipt: run sha256:12ab")
    assert client.calls == [("commit", "-am", "Add it"), ("git", "push")]
    assert saved.problems == ("/opt/jj git push failed with exit code 3: no network",)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (GitResult(1, "a\nb\n"), "b"),
        (GitResult(1, "a", "c\nerror: d\nhint: e\n"), "error: d"),
        (GitResult(128, "fatal: x\nadvice"), "fatal: x"),
        (GitResult(7, "", " \n"), "exit code 7"),
    ],
)
def test_of_many_lines_the_complaint_is_shown(result: GitResult, said: str) -> None:
    assert result.summary_line == said


def test_hooks_filters_and_signers_that_came_with_the_run_are_not_run(repository: RepositoryFixture) -> None:
    mark = repository.scratch / "mark"
    runner = ScmRunner("git", ("commit",), git=repository.make_users_git(), run_dir=str(repository.scratch))
    for name in ("pre-commit", "commit-msg", "post-commit"):
        install_hook(repository, name, f"touch {mark}")
    repository.run("config", "filter.f.clean", f"touch {mark}; cat")
    repository.run("config", "core.fsmonitor", f"touch {mark}")
    repository.run("config", "commit.gpgSign", "true")
    repository.run("config", "gpg.program", f"touch {mark}")
    (repository.root / ".gitattributes").write_text("* filter=f\n")
    (repository.root / "new").write_text("the agent's")
    assert runner.save(lambda question: AgentReply(text="Add it")).done == ("commit",)
    assert not mark.exists()


def test_a_push_is_not_led_elsewhere(repository: RepositoryFixture) -> None:
    own, other = repository.scratch / "own.git", repository.scratch / "other.git"
    for path in (own, other):
        repository.run("init", "-q", "--bare", str(path))
    repository.run("remote", "add", "origin", str(own))
    git = repository.make_users_git()
    runner = ScmRunner(
        "git", ("push origin main",), git=git, run_dir=str(repository.scratch), find_detour=git.find_detour
    )
    assert runner.save(lambda question: AgentReply(text="")).done == ("push origin main",)
    repository.run("config", "remote.origin.url", str(other))
    (problem,) = runner.save(lambda question: AgentReply(text="")).problems
    assert problem == "git push origin main was not run: remote.origin.url changed since the run began"
    assert repository.run("for-each-ref", at=other) == ""


def test_a_detour_matters_only_to_what_leaves(repository: RepositoryFixture) -> None:
    git, run_dir = repository.git, str(repository.scratch)
    runner = ScmRunner("git", ("status",), git=git, run_dir=run_dir, find_detour=lambda: "remote.origin.url")
    assert runner.save(never_asked).done == ("status",)


def test_a_commit_of_another_program_that_fails_is_told() -> None:
    runner = ScmRunner("jj", ("commit",), git=ScriptedClient(GitResult(1, "", "no user")), run_dir="")
    saved = runner.save(lambda question: AgentReply(text="Add it"))
    assert (saved.done, saved.problems) == ((), ("jj commit failed with exit code 1: no user",))


def watch_lock(repository: RepositoryFixture) -> IndexLock:
    path, mark = repository.root / ".git" / "index.lock", repository.scratch / "committing"
    return IndexLock(str(path), str(mark), folder=str(repository.root), longest=600.0)


def test_a_killed_commit_of_ours_leaves_no_lock_and_the_next_one_works(repository: RepositoryFixture) -> None:
    lock, hook = repository.root / ".git" / "index.lock", repository.root / ".git" / "hooks" / "pre-commit"
    hook.write_text(f"#!/bin/sh\ntest -e {lock} && kill -9 {repository.supervisor.guardian_pid} && sleep 60\n")
    hook.chmod(0o755)
    (repository.root / "new").write_text("the agent's")
    git, run_dir = repository.make_users_git(), str(repository.scratch)
    (repository.scratch / "untracked").write_text("")
    runner = ScmRunner("git", ("commit",), git=git, run_dir=run_dir, index_lock=watch_lock(repository))
    assert runner.save(lambda question: AgentReply(text="Add it")).problems
    assert not lock.exists()
    hook.unlink()
    assert runner.save(lambda question: AgentReply(text="Add it")).done == ("commit",)
    assert not (repository.scratch / "committing").exists(), "the next lock is not ours"


def test_the_lock_of_a_commit_that_an_earlier_life_began_is_cleared(repository: RepositoryFixture) -> None:
    lock, run_dir = repository.root / ".git" / "index.lock", str(repository.scratch)
    watch_lock(repository).announce_commit()
    lock.write_text("")
    ScmRunner("git", ("commit",), git=repository.git, run_dir=run_dir, index_lock=watch_lock(repository))
    assert not lock.exists()


def test_a_lock_of_the_users_stays_where_it_is(repository: RepositoryFixture) -> None:
    lock, run_dir = repository.root / ".git" / "index.lock", str(repository.scratch)
    lock.write_text("")
    (repository.root / "README").write_text("the agent's")
    runner = ScmRunner("git", ("commit",), git=repository.git, run_dir=run_dir, index_lock=watch_lock(repository))
    assert "index.lock" in runner.save(lambda question: AgentReply(text="Add it")).problems[0]
    ScmRunner("git", ("commit",), git=repository.git, run_dir=run_dir, index_lock=watch_lock(repository))
    assert lock.exists()
