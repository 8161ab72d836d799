"""The branch a story loop works on: the one tasks.json announces, or the one `--branch` names."""

from collections.abc import Mapping

from ralph.app.paths import Paths
from ralph.app.processes import open_short_lived_processes
from ralph.core.stories.review import parse_story_file
from ralph.model.errors import MachineError, UsageError
from ralph.process.shell import find_program
from ralph.workspaces.git import Git

TEMPLATE_BRANCH = "ralph/feature-name"  # as the template has it: nobody has named a branch yet


def name_branch(feature: str) -> str:
    """ralph/FEATURE; git takes no blanks."""
    return f"ralph/{'-'.join(feature.split())}"


def read_announced_branch(text: str) -> str:
    """The branch a tasks.json names; empty where it names none."""
    name = parse_story_file(text).document.get("branchName")
    return name.strip() if isinstance(name, str) and name.strip() != TEMPLATE_BRANCH else ""


def create_announced_branch(branch: str, paths: Paths, variables: Mapping[str, str]) -> str:
    """For `ralph story init`: the branch, created and checked out; or who will create it. In words."""
    program = find_program("git", variables)
    if program is None or not paths.in_git:
        return f"{paths.folder} is not in a git repository: `ralph story run` creates branch {branch} once it is"
    with open_short_lived_processes() as processes:
        git = Git(program, paths.folder, environment=variables, processes=processes, is_users=True)
        current = git.read_branch()
        if current == branch:
            return f"On branch {branch}"
        _refuse_bad_name(git, branch, "choose another --name")
        if not git.find_commit("HEAD"):
            return f"There is no commit yet: `ralph story run` creates branch {branch} from the first one"
        if git.find_commit(f"refs/heads/{branch}"):
            raise UsageError(
                f"branch {branch} exists already",
                f"switch to it first: `git switch {branch}`, or choose another --name",
            )
        _create(git, branch)
        return f"Created branch {branch} from {current or 'HEAD'} and switched to it"


def enter_branch(git: Git, announced: str, wanted: str) -> tuple[str, str]:
    """For `ralph story run`: the branch that is checked out now, and what to tell about it. One that does not exist is
    created; an existing one is checked out only for who asks for it by name."""
    current, branch = git.read_branch(), wanted or announced
    if not branch:
        return current, _describe_present_branch(current)
    if branch == current:
        return branch, f"Working on branch {branch}"
    _refuse_bad_name(git, branch, "name another one with --branch, or in tasks.json")
    if not git.find_commit("HEAD"):
        raise UsageError(
            f"there is no commit yet to create branch {branch} from",
            'commit what is there first: `git add -A && git commit -m "Plan"`',
        )
    if not git.find_commit(f"refs/heads/{branch}"):
        _create(git, branch)
        return branch, f"Working on branch {branch}, created from {current or 'HEAD'}"
    if not wanted:
        _refuse_other_branch(git, branch, current)
    _check_out(git, branch, "commit or stash your changes first", branch, "--")
    return branch, f"Working on branch {branch}; {current or 'HEAD'} was checked out before"


def _describe_present_branch(current: str) -> str:
    if not current:
        return "No branch is checked out, and tasks.json names none: commits will be on no branch; see --branch"
    return f"Working on branch {current}: tasks.json names none; see --branch"


def _refuse_other_branch(git: Git, branch: str, current: str) -> None:
    said = f"tasks.json names branch {branch}, but {current or 'no branch'} is checked out"
    tree = git.run("for-each-ref", "--format=%(worktreepath)", f"refs/heads/{branch}").text
    there = f"it is checked out in {tree}: run there" if tree else f"`git switch {branch}`"
    raise UsageError(said, f"{there}, or choose the branch to work on: --branch {current or 'NAME'}")


def _refuse_bad_name(git: Git, branch: str, hint: str) -> None:
    if branch.startswith("-") or not git.run("check-ref-format", f"refs/heads/{branch}").ok:
        raise UsageError(f"{branch!r} cannot be the name of a branch", hint)


def _create(git: Git, branch: str) -> None:
    _check_out(git, branch, "fix that, then try again", "--no-track", "-b", branch)


def _check_out(git: Git, branch: str, hint: str, *words: str) -> None:
    said = git.with_hooks().run("checkout", "--quiet", *words)
    # A hook of the user's may fail after the branch is checked out; that does not undo it.
    if not said.ok and git.read_branch() != branch:
        raise MachineError(f"cannot switch to branch {branch}: {said.problem}", hint)
