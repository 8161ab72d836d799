"""Git in a repository that an agent has written to: nothing of the agent's runs, whatever it put where."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.model.errors import MachineError
from ralph.model.loop import Landed
from ralph.model.spec import Task
from ralph.workspaces.git_guard import GitGuard, SettingsListing, parse_settings
from ralph.workspaces.landing_turns import LandingTurns
from ralph.workspaces.task_workspace import TaskWorkspace
from support.quiet_inbox import QuietInbox
from support.repository import INSTRUCTIONS, RepositoryFixture, open_repository

# What an agent does in a task's work tree before the task lands; $SPY leaves a mark and prints what it reads.
TRAPS = {
    "hooks": 'd=$(git rev-parse --git-common-dir)/hooks; mkdir -p $d; for h in {hooks}; do cp "$SPY" $d/$h; done',
    "hooks path": 'for h in {hooks}; do cp "$SPY" ../$h; done; git config core.hooksPath "$PWD/.."',
    "fsmonitor": 'git config core.fsmonitor "$SPY"',
    "clean filter": "echo '* filter=f' > .gitattributes; git config filter.f.clean \"$SPY\"",
    "smudge filter": "echo '* filter=f' > .gitattributes; git config filter.f.smudge \"$SPY\"",
    "process filter": "echo '* filter=f' > .gitattributes; git config filter.f.process \"$SPY\"",
    "a filter with an odd name": "echo '* filter=f=x.y' > .gitattributes; git config 'filter.f=x.y.clean' \"$SPY\"",
    "merge driver": "echo '* merge=m' > .gitattributes; git config merge.m.driver \"$SPY\"",
    "external diff": 'for k in external d.command; do git config diff.$k "$SPY"; done; echo "* diff=d" >.gitattributes',
    "textconv": "echo '* diff=d' > .gitattributes; git config diff.d.textconv \"$SPY\"",
    "editor and pager": 'for k in core.editor core.pager sequence.editor pager.log; do git config $k "$SPY"; done',
    "signing": 'git config commit.gpgSign true; git config gpg.program "$SPY"; git config log.showSignature true',
    "signatures to verify": 'git config merge.verifySignatures true; git config gpg.program "$SPY"',
    "aliases": 'for c in status merge commit add; do git config alias.$c "!$SPY"; done',
    "credentials": 'for k in credential.helper core.askPass core.sshCommand; do git config $k "$SPY"; done',
    "include": 'printf "[core]\\nfsmonitor = $SPY\\n" > ../inc; git config include.path "$PWD/../inc"',
    "settings of this work tree": (
        'git config extensions.worktreeConfig true; git config --worktree core.fsmonitor "$SPY"'
    ),
    "settings of the user": 'git config --global core.fsmonitor "$SPY"; git config --global core.hooksPath "$PWD"',
    "another git directory": (
        'git init -q ../evil; git -C ../evil config core.fsmonitor "$SPY"; echo "gitdir: $PWD/../evil/.git" > .git'
    ),
    "another work tree": 'mkdir ../evil; git config core.worktree "$PWD/../evil"',
    "a program for refs of others": 'git config core.alternateRefsCommand "$SPY"',
    "a proxy and a protocol": 'git config core.gitProxy "$SPY"; git config protocol.ext.allow always',
    "templates": 'mkdir -p ../t/hooks; cp "$SPY" ../t/hooks/post-checkout; git config init.templateDir "$PWD/../t"',
    "include for this folder": (
        'printf "[core]\\nfsmonitor = $SPY\\n" > ../inc; git config "includeIf.gitdir:/**.path" "$PWD/../inc"'
    ),
    "attributes of the user": (
        'echo "* diff=d filter=f" > ../attributes; git config core.attributesFile "$PWD/../attributes";'
        ' for k in diff.d.textconv diff.d.command filter.f.clean filter.f.smudge; do git config $k "$SPY"; done'
    ),
    "signing by ssh": (
        "git config commit.gpgSign true; git config gpg.format ssh; git config user.signingKey x;"
        ' git config gpg.ssh.program "$SPY"'
    ),
    "a server's program": (
        "for k in uploadpack.packObjectsHook remote.origin.uploadpack remote.origin.receivepack;"
        ' do git config $k "$SPY"; done; git config fetch.bundleURI "file://$PWD"'
    ),
    "tidying up": 'git config gc.auto 1; git config maintenance.auto true; git config gc.recentObjectsHook "$SPY"',
    "trailers": 'git config trailer.x.command "$SPY"; git config trailer.x.ifexists add',
}
HOOKS = "pre-commit commit-msg post-commit post-checkout post-merge pre-merge-commit reference-transaction"
# How what is committed becomes another thing than what is in the work tree, without a program.
SWAPS = {
    "index": "b=$(echo evil | git hash-object -w --stdin);"
    " git update-index --add --cacheinfo 100644,$b,a.txt; git commit -qm x",
    "assume unchanged": "git add -A; git commit -qm x; git update-index --assume-unchanged a.txt; echo later > a.txt",
    "skip worktree": "git add -A; git commit -qm x; git update-index --skip-worktree a.txt; echo later > a.txt",
    "ident": "printf '$Id: evil$\\n' > a.txt; echo '*.txt ident' > .gitattributes; git add -A; git commit -qm x",
    "a blob that only we see": "b=$(echo evil | git hash-object -w --stdin); git add -A; git commit -qm x;"
    " git replace $(git rev-parse HEAD:a.txt) $b; git checkout -q HEAD -- a.txt; echo a > a.txt",
    "a clean filter": "echo '*.txt filter=f' > .gitattributes; git config filter.f.clean 'echo evil #';"
    " git config filter.f.smudge 'echo a #'; git add -A; git commit -qm x",
    "mode": "git add -A; git update-index --chmod=+x a.txt; git commit -qm x; git config core.fileMode false",
}
REFUSED_SWAPS = ("assume unchanged", "skip worktree", "ident", "mode")


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[RepositoryFixture]:
    with open_repository(tmp_path) as made:
        made.commit("a.txt", "a\n")
        made.guard()
        yield made


@pytest.fixture
def workspace(repo: RepositoryFixture) -> Iterator[TaskWorkspace]:
    inbox = QuietInbox()
    tree = repo.open()
    keeper = repo.keeper("20261116-010203-abcd", tree.folder)
    keeper.save_initial_tree()
    task = Task("TASK-001", "s", "Sign in")
    yield TaskWorkspace(
        task, repo.trees, tree, keeper=keeper, landings=LandingTurns(), inbox=inbox, instructions=INSTRUCTIONS
    )
    inbox.close()


def play(repo: RepositoryFixture, folder: str, script: str) -> Path:
    mark, spy = repo.scratch / "mark", repo.scratch / "spy"
    spy.write_text(f"#!/bin/sh\necho ran >> {mark}\nexec cat\n")
    spy.chmod(0o755)
    words = ["sh", "-c", script.replace("{hooks}", HOOKS)]
    subprocess.run(words, cwd=folder, env={**repo.environment, "SPY": str(spy)}, capture_output=True, check=False)
    mark.unlink(missing_ok=True)
    return mark


def land(workspace: TaskWorkspace) -> Landed:
    workspace.look()
    return workspace.land(lambda folder: "")


@pytest.mark.parametrize("trap", TRAPS)
def test_nothing_of_an_agents_runs_while_its_work_lands(
    repo: RepositoryFixture, workspace: TaskWorkspace, trap: str
) -> None:
    Path(workspace.folder, "new.txt").write_text("new\n")
    mark = play(repo, workspace.folder, TRAPS[trap])
    (repo.root / "of the user").write_text("x")
    repo.git.has_changes()
    repo.git.list_changed_files()
    landed = land(workspace)
    assert landed.done, landed
    workspace.remove_if_landed()
    assert not mark.exists()
    assert (repo.root / "new.txt").read_text() == "new\n"


SUBMODULE_TRAPS = {
    "fsmonitor": 'git config core.fsmonitor "$SPY"',
    "filter": 'git config filter.f.clean "$SPY"; echo "* filter=f" > .gitattributes; git add .; touch -d "1 day" f',
    "include": 'printf "[core]\\nfsmonitor = $SPY\\n" > ../../inc; git config include.path "$PWD/../../inc"',
    "hooks": 'for h in post-index-change fsmonitor-watchman; do cp "$SPY" .git/hooks/$h; done; touch -d "1 day" f',
    "elsewhere": 'mv .git ../../other; echo "gitdir: $PWD/../../other" > .git; git config core.fsmonitor "$SPY"',
}


@pytest.mark.parametrize("is_users", [False, True])
@pytest.mark.parametrize("trap", SUBMODULE_TRAPS)
def test_nothing_of_an_agents_runs_in_a_repository_inside(repo: RepositoryFixture, trap: str, is_users: bool) -> None:
    """Git looks into it by another git, which knows nothing of what ours was told."""
    make = (
        "mkdir in; cd in; git init -q; echo f > f; git add f; git commit -qm x; {trap}; cd ..;"
        " git update-index --add --cacheinfo 160000,$(git -C in rev-parse HEAD),in; echo b > a.txt; echo c > in/f;"
        ' printf "[submodule \\"in\\"]\\npath = in\\nurl = ./in\\nignore = none\\n" > .gitmodules'
    ).replace("{trap}", SUBMODULE_TRAPS[trap])
    git = repo.make_users_git() if is_users else repo.git
    mark = play(repo, str(repo.root), make)
    assert repo.run("ls-files", "--stage", "in").startswith("160000")
    mark.unlink(missing_ok=True)
    git.run("status", "--porcelain")
    git.run("diff", "HEAD")
    added, committed = git.run("add", "--all"), git.run("commit", "-am", "x")
    assert not mark.exists()
    assert [said.ok for said in (added, committed)] == [trap == "hooks"] * 2
    assert trap == "hooks" or "in is a repository of its own" in committed.problem


def test_a_submodule_without_programs_is_committed(repo: RepositoryFixture) -> None:
    make = "mkdir in; cd in; git init -q; echo f > f; git add f; git commit -qm x; cd ..; git add in; echo b > a.txt"
    play(repo, str(repo.root), make)
    assert repo.git.run("commit", "-am", "x").ok
    assert repo.run("ls-tree", "HEAD", "in").startswith("160000")


def test_missing_objects_are_not_fetched_by_a_program_of_an_agents(repo: RepositoryFixture) -> None:
    script = (
        'git config remote.origin.url "ext::$SPY"; git config protocol.ext.allow always;'
        " git config remote.origin.promisor true; git config remote.origin.partialclonefilter blob:none;"
        " b=$(git rev-parse HEAD:a.txt); echo z > a.txt;"
        " rm -f .git/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-)"
    )
    mark = play(repo, str(repo.root), script)
    repo.git.run("diff", "HEAD")
    repo.git.run("cat-file", "-p", "HEAD:a.txt")
    assert not mark.exists()


def test_a_repository_that_was_led_to_another_one_is_not_touched(
    repo: RepositoryFixture, workspace: TaskWorkspace
) -> None:
    redirect = (
        'd=$(git rev-parse --git-common-dir); git init -q ../evil; git -C ../evil config core.fsmonitor "$SPY";'
        ' cp "$SPY" ../evil/.git/hooks/post-checkout; echo "$PWD/../evil/.git" > $d/commondir'
    )
    Path(workspace.folder, "new.txt").write_text("new\n")
    mark = play(repo, workspace.folder, redirect)
    repo.git.has_changes()
    with pytest.raises(MachineError, match="commondir leads git to another repository: delete that file"):
        land(workspace)
    assert "commondir leads git to another repository" in repo.git.run("status").problem
    assert not mark.exists()
    (repo.root / ".git" / "commondir").unlink()
    assert land(workspace).done


@pytest.mark.parametrize("swap", SWAPS)
def test_what_lands_is_what_is_in_the_work_tree_or_nothing(
    repo: RepositoryFixture, workspace: TaskWorkspace, swap: str
) -> None:
    before = repo.run("rev-parse", "main")
    play(repo, workspace.folder, SWAPS[swap])
    wanted = Path(workspace.folder, "a.txt").read_text()
    landed = land(workspace)
    if landed.done:
        assert swap not in REFUSED_SWAPS
        assert repo.run("--no-replace-objects", "show", "main:a.txt") == wanted.strip()
    else:
        assert "not what was checked: a.txt" in landed.red
        assert repo.run("rev-parse", "main") == before


def test_conversions_that_were_there_before_are_no_swap(tmp_path: Path) -> None:
    with open_repository(tmp_path) as repo:
        repo.run("config", "filter.upper.clean", "tr a-z A-Z")
        repo.run("config", "filter.upper.smudge", "tr A-Z a-z")
        repo.commit(".gitattributes", "*.bat text eol=crlf\n*.up filter=upper\n")
        repo.guard()
        tree = repo.open()
        keeper = repo.keeper("20261116-010203-abcd", tree.folder)
        keeper.save_initial_tree()
        inbox, task = QuietInbox(), Task("TASK-001", "s", "Sign in")
        workspace = TaskWorkspace(
            task, repo.trees, tree, keeper=keeper, landings=LandingTurns(), inbox=inbox, instructions=INSTRUCTIONS
        )
        Path(tree.folder, "run.bat").write_bytes(b"echo\r\n")
        Path(tree.folder, "x.up").write_text("words\n")
        assert land(workspace).done
        assert (repo.run("show", "main:x.up"), repo.run("show", "main:run.bat")) == ("WORDS", "echo")
        assert (repo.root / "x.up").read_text() == "words\n"
        inbox.close()


def test_a_file_that_both_sides_changed_is_merged(repo: RepositoryFixture, workspace: TaskWorkspace) -> None:
    lines = [f"{number}\n" for number in range(20)]
    repo.commit("b.txt", "".join(lines))
    play(repo, workspace.folder, "git merge -q main")
    lands = TaskWorkspace(
        Task("TASK-001", "s", "Sign in"),
        repo.trees,
        repo.open(),
        keeper=workspace.keeper,
        landings=LandingTurns(),
        inbox=QuietInbox(),
        instructions=INSTRUCTIONS,
    )
    Path(workspace.folder, "b.txt").write_text("".join(["ours\n", *lines[1:]]))
    repo.commit("b.txt", "".join([*lines[:-1], "theirs\n"]))
    assert land(lands).done
    assert (repo.root / "b.txt").read_text() == "".join(["ours\n", *lines[1:-1], "theirs\n"])


def test_files_that_are_ignored_by_now_do_not_land_and_hinder_nobody(
    repo: RepositoryFixture, workspace: TaskWorkspace
) -> None:
    play(repo, workspace.folder, "echo .coverage > .gitignore; echo x > .coverage; echo n > new.txt")
    assert land(workspace).done
    assert repo.run("ls-tree", "--name-only", "main").split() == [".gitignore", "README", "a.txt", "new.txt"]


def test_the_users_own_hooks_run_until_somebody_changes_one(repo: RepositoryFixture) -> None:
    hook = repo.root / ".git/hooks/post-checkout"
    hook.write_text(f"#!/bin/sh\necho ran >> {repo.scratch}/ran\n")
    hook.chmod(0o755)
    repo.guard()
    repo.open()
    assert (repo.scratch / "ran").exists()
    (repo.scratch / "ran").unlink()
    hook.write_text(f"#!/bin/sh\necho of an agent >> {repo.scratch}/ran\n")
    assert repo.git.guard.list_changed_hooks() == ("post-checkout",)
    repo.open("TASK-002")
    assert not (repo.scratch / "ran").exists()


def test_settings_are_listed_again_only_where_a_file_changed(repo: RepositoryFixture) -> None:
    trusted = parse_settings(repo.run("config", "--list", "--null", "--show-origin"))
    assert repo.git.guard.list_overrides(lambda: pytest.fail("nothing changed")) == ()
    repo.run("config", "filter.x.clean", "evil")
    repo.run("config", "user.name", "another")
    now = SettingsListing(values={**trusted.values, "filter.x.clean": ("evil",), "user.name": ("another",)})
    assert repo.git.guard.list_overrides(lambda: now) == (("filter.x.clean", ""),)
    assert repo.git.guard.changed == ("filter.x.clean",)


def test_who_trusts_nobody_runs_no_filter_at_all(repo: RepositoryFixture) -> None:
    guard = GitGuard(None, "", None)
    known = {"filter.lfs.clean": ("git-lfs clean -- %f",), "merge.m.driver": ("m %A",), "user.name": ("t",)}
    assert guard.list_overrides(lambda: SettingsListing(values=known)) == (
        ("filter.lfs.clean", ""),
        ("merge.m.driver", "false"),
    )
    assert guard.choose_hooks_dir() == "/dev/null"


def test_a_setting_that_was_changed_is_as_it_was_before() -> None:
    before = SettingsListing(values={"filter.a.clean": ("mine",), "credential.helper": ("one", "two")})
    guard = GitGuard(None, "", before)
    after = SettingsListing(values={"filter.a.clean": ("yours",), "credential.helper": ("three",)})
    guard.list_overrides(lambda: after)
    assert guard.list_misleading(lambda: after) == ()  # no file of its settings is another
