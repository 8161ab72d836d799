"""Use cases: lay out the files of a story loop, check them, put a finished loop away."""

import json
import os
import re
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress

from msgspec import Struct

from ralph.app import paths as places
from ralph.app.plugin_files import find_plugin_folder
from ralph.app.processes import open_short_lived_processes
from ralph.app.setup.gitignore import ignore_lines, ignore_logs
from ralph.app.story.branch import create_announced_branch, name_branch, read_announced_branch
from ralph.app.story.history import close_story_list
from ralph.core.stories.review import is_story_done, parse_story_file
from ralph.core.stories.story_order import find_plan_problems
from ralph.engine.marker import find_owner_pid
from ralph.model.errors import Busy, ConfigError, MachineError, UsageError
from ralph.model.story import MARKER_NAME, StoryPaths
from ralph.process.atomic_file import read_regular_file, write_atomic
from ralph.process.shell import find_program
from ralph.workspaces.git import Git

STORY_FILES = ("prd.md", "tasks.json", "progress.txt", "prompt.md")
ARCHIVED_FILES = ("prd.md", "tasks.json", "progress.txt")
ARCHIVE_FOLDER = "ralph-archive"


class ArchiveResult(Struct, frozen=True, kw_only=True):
    """Where a loop was put."""

    folder: str
    done: int
    total: int
    commit: str  # empty: nothing was committed
    problem: str = ""


def create_story_files(place: StoryPaths, name: str, variables: Mapping[str, str], *, force: bool) -> list[str]:
    """Copy the templates that are not there yet, or with force all, on the branch a new list announces; what was made,
    in words."""
    _refuse_while_active(place)
    wanted = [file for file in STORY_FILES if force or not os.path.lexists(os.path.join(place.folder, file))]
    if not wanted:
        raise UsageError(
            f"{place.folder} has {', '.join(STORY_FILES)} already", "keep them, or start over with --force"
        )
    branch = _announce_branch(place, name, variables, is_new="tasks.json" in wanted)
    for file in wanted:
        _write_template(place, file, name)
    if "tasks.json" in wanted:
        close_story_list(places.find_paths(place.project), place.folder)
    made = [f"Created {os.path.join(place.folder, file)}" for file in wanted]
    ignored = (ignore_lines(place.project, [MARKER_NAME]), ignore_logs(place.project))
    return [*made, *filter(None, (*ignored, branch))]


def check_story_file(place: StoryPaths, cap: int, skip_review: bool) -> tuple[list[str], list[str]]:
    """Problems and warnings of tasks.json."""
    try:
        tasks = parse_story_file(read_regular_file(place.tasks))
    except OSError as error:
        raise ConfigError(
            f"cannot read {place.tasks}: {error.strerror}", "create it with `ralph story init`"
        ) from error
    problems = list(tasks.problems) or find_plan_problems(tasks.stories, cap, skip_review)
    return problems, list(tasks.warnings)


def archive_stories(place: StoryPaths, label: str, variables: Mapping[str, str]) -> ArchiveResult:
    """Move a loop's files away, summarise it, lay out fresh ones, commit."""
    _refuse_while_active(place)
    try:
        tasks = parse_story_file(read_regular_file(place.tasks))
    except OSError as error:
        raise ConfigError(f"cannot read {place.tasks}: {error.strerror}", "there is nothing to archive") from error
    branch = str(tasks.document.get("branchName") or "loop")
    target = _free_archive_path(place, f"{time.strftime('%Y-%m-%d')}-{_make_safe_name(label or branch)}")
    os.makedirs(target)
    done = sum(is_story_done(story, skip_review=story.status is None) for story in tasks.stories)
    write_atomic(os.path.join(target, "summary.md"), _render_summary(place, tasks.document, done, len(tasks.stories)))
    for name in ARCHIVED_FILES:
        source = os.path.join(place.folder, name)
        if os.path.exists(source):
            shutil.move(source, os.path.join(target, name))
        _write_template(place, name, "")
    close_story_list(places.find_paths(place.project), place.folder)
    commit, problem = _commit_archive(place, target, variables)
    return ArchiveResult(folder=target, done=done, total=len(tasks.stories), commit=commit, problem=problem)


def _announce_branch(place: StoryPaths, name: str, variables: Mapping[str, str], *, is_new: bool) -> str:
    """The branch of a new list, before anything is written; one that is there already keeps its own."""
    if not name:
        return ""
    if is_new:
        return create_announced_branch(name_branch(name), places.find_paths(place.project), variables)
    with suppress(OSError):
        announced = read_announced_branch(read_regular_file(place.tasks))
        if announced != name_branch(name):
            raise UsageError(
                f"{place.tasks} is there already and names branch {announced or '(none)'}, not {name_branch(name)}",
                "leave out --name, or start over with --force",
            )
    return ""


def _refuse_while_active(place: StoryPaths) -> None:
    for marker in place.markers:
        if pid := find_owner_pid(marker):
            raise Busy(f"a story loop is active here (pid {pid}, {marker})", "wait for it, or `ralph cancel`")


def _write_template(place: StoryPaths, file: str, name: str) -> None:
    with open(os.path.join(find_plugin_folder(), "templates", file), encoding="utf-8") as template:
        text = template.read()
    title = name or os.path.basename(place.project)
    text = text.replace("{{DATE}}", time.strftime("%Y-%m-%d")).replace("{{PROJECT_NAME}}", title)
    if file == "prompt.md":
        text = text.replace("`ralph/", f"`{os.path.relpath(place.folder, place.project)}/")
    if file == "tasks.json":
        document = json.loads(text)
        document["project"] = document.get("project") or title
        if name:
            document["branchName"] = name_branch(name)
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    write_atomic(os.path.join(place.folder, file), text)


def _render_summary(place: StoryPaths, document: Mapping[str, object], done: int, total: int) -> str:
    began = _read_start_date(place)
    lines = [
        f"# {document.get('project') or 'Ralph loop'}",
        "",
        f"- Branch: {document.get('branchName') or '(none)'}",
        f"- Stories completed: {done} of {total}",
        f"- From {began} to {time.strftime('%Y-%m-%d')}",
        "",
        "| story | title | done | reviews |",
        "| --- | --- | --- | --- |",
    ]
    stories = document.get("userStories")
    for raw in stories if isinstance(stories, list) else []:
        if isinstance(raw, dict):
            mark = "yes" if raw.get("passes") is True else "no"
            cells = (raw.get("id"), raw.get("title"), mark, raw.get("reviewCount", 0))
            lines.append(f"| {' | '.join(_format_cell(value) for value in cells)} |")
    return "\n".join(lines) + "\n"


def _format_cell(value: object) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")


def _read_start_date(place: StoryPaths) -> str:
    try:
        text = read_regular_file(os.path.join(place.folder, "progress.txt"))
        found = re.search(r"^Started: (\S+)", text, re.MULTILINE)
    except OSError:
        found = None
    return found.group(1) if found else "(unknown)"


def _free_archive_path(place: StoryPaths, name: str) -> str:
    base = os.path.join(place.project, ARCHIVE_FOLDER, name)
    path, number = base, 1
    while os.path.exists(path):
        number += 1
        path = f"{base}-{number}"
    return path


def _make_safe_name(label: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-.") or "loop"


def _commit_archive(place: StoryPaths, target: str, variables: Mapping[str, str]) -> tuple[str, str]:
    """Only what belongs to the archive; the rest of the work tree is the user's."""
    git = find_program("git", variables)
    if git is None:
        raise MachineError("git is not on PATH", "install git, then commit the archive yourself")
    with open_short_lived_processes() as processes:
        repository = Git(git, place.project, environment=variables, processes=processes, is_users=True)
        files = [os.path.join(place.folder, name) for name in ARCHIVED_FILES]
        paths = [os.path.relpath(path, place.project) for path in (target, *files)]
        message = f"chore: archive ralph loop {os.path.basename(target)}"
        for words in (("add", "--all"), ("commit", "--quiet", "-m", message)):
            said = repository.run(*words, "--", *paths)
            if not said.ok:
                return "", f"git {words[0]} failed: {said.problem}"
        return repository.run("log", "-1", "--format=%h %s").text, ""
