"""Use cases: lay out the files of a story loop, check them, put a finished loop away."""

import json
import os
import re
import shutil
import time
from collections.abc import Mapping

from msgspec import Struct

from ralph.app import paths as places
from ralph.app.processes import errand
from ralph.app.setup.init import ignore_logs
from ralph.app.setup.plugin import plugin_folder
from ralph.app.story.history import put_away
from ralph.core.stories.review import is_done, read
from ralph.core.stories.story_order import plan_problems
from ralph.engine.atomic_file import read_whole, write_whole
from ralph.engine.marker import owner
from ralph.model.errors import Busy, ConfigError, MachineError, UsageError
from ralph.model.story import MARKER, StoryPlace
from ralph.process.shell import find_program
from ralph.workspaces.git import Git

FILES = ("prd.md", "tasks.json", "progress.txt", "prompt.md")
ARCHIVED = ("prd.md", "tasks.json", "progress.txt")
ARCHIVE = "ralph-archive"


class Archived(Struct, frozen=True):
    """Where a loop was put."""

    folder: str
    done: int
    total: int
    commit: str  # empty: nothing was committed
    problem: str = ""


def init(place: StoryPlace, name: str, *, force: bool) -> list[str]:
    """Copy the templates that are not there yet, or with force all; what was made, in words."""
    _refuse_while_active(place)
    wanted = [file for file in FILES if force or not os.path.lexists(os.path.join(place.folder, file))]
    if not wanted:
        raise UsageError(f"{place.folder} has {', '.join(FILES)} already", "keep them, or start over with --force")
    for file in wanted:
        _fresh(place, file, name)
    if "tasks.json" in wanted:
        put_away(places.find(place.project), place.folder)
    ignored = _ignore_marker(place.project)
    made = [f"Made {os.path.join(place.folder, file)}" for file in wanted]
    told = (f"Added {MARKER} to .gitignore" if ignored else "", ignore_logs(place.project))
    return [*made, *filter(None, told)]


def check(place: StoryPlace, cap: int, skip_review: bool) -> tuple[list[str], list[str]]:
    """Problems and warnings of tasks.json."""
    try:
        tasks = read(read_whole(place.tasks))
    except OSError as error:
        raise ConfigError(f"cannot read {place.tasks}: {error.strerror}", "make it with `ralph story init`") from error
    problems = list(tasks.problems) or plan_problems(tasks.stories, cap, skip_review)
    return problems, list(tasks.warnings)


def archive(place: StoryPlace, label: str, variables: Mapping[str, str]) -> Archived:
    """Move a loop's files away, summarise it, lay out fresh ones, commit."""
    _refuse_while_active(place)
    try:
        tasks = read(read_whole(place.tasks))
    except OSError as error:
        raise ConfigError(f"cannot read {place.tasks}: {error.strerror}", "there is nothing to archive") from error
    branch = str(tasks.document.get("branchName") or "loop")
    target = _free(place, f"{time.strftime('%Y-%m-%d')}-{_safe(label or branch)}")
    os.makedirs(target)
    done = sum(is_done(story, skip_review=story.status is None) for story in tasks.stories)
    write_whole(os.path.join(target, "summary.md"), _summary(place, tasks.document, done, len(tasks.stories)))
    for name in ARCHIVED:
        source = os.path.join(place.folder, name)
        if os.path.exists(source):
            shutil.move(source, os.path.join(target, name))
        _fresh(place, name, "")
    put_away(places.find(place.project), place.folder)
    commit, problem = _commit(place, target, variables)
    return Archived(target, done, len(tasks.stories), commit, problem)


def _refuse_while_active(place: StoryPlace) -> None:
    for marker in place.markers:
        if pid := owner(marker):
            raise Busy(f"a story loop is active here (pid {pid}, {marker})", "wait for it, or `ralph cancel`")


def _fresh(place: StoryPlace, file: str, name: str) -> None:
    with open(os.path.join(plugin_folder(), "templates", file), encoding="utf-8") as template:
        text = template.read()
    title = name or os.path.basename(place.project)
    text = text.replace("{{DATE}}", time.strftime("%Y-%m-%d")).replace("{{PROJECT_NAME}}", title)
    if file == "prompt.md":
        text = text.replace("`ralph/", f"`{os.path.relpath(place.folder, place.project)}/")
    if file == "tasks.json":
        document = json.loads(text)
        document["project"] = document.get("project") or title
        if name:
            document["branchName"] = f"ralph/{'-'.join(name.split())}"  # git takes no blanks
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    write_whole(os.path.join(place.folder, file), text)


def _ignore_marker(project: str) -> bool:
    path = os.path.join(project, ".gitignore")
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
    except FileNotFoundError:
        text = ""
    if MARKER in (line.strip().lstrip("/") for line in text.splitlines()):
        return False
    gap = "" if not text or text.endswith("\n") else "\n"
    write_whole(path, f"{text}{gap}{MARKER}\n")
    return True


def _summary(place: StoryPlace, document: Mapping[str, object], done: int, total: int) -> str:
    began = _started(place)
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
            told = (raw.get("id"), raw.get("title"), mark, raw.get("reviewCount", 0))
            lines.append(f"| {' | '.join(_cell(value) for value in told)} |")
    return "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")


def _started(place: StoryPlace) -> str:
    try:
        text = read_whole(os.path.join(place.folder, "progress.txt"))
        found = re.search(r"^Started: (\S+)", text, re.MULTILINE)
    except OSError:
        found = None
    return found.group(1) if found else "(unknown)"


def _free(place: StoryPlace, name: str) -> str:
    base = os.path.join(place.project, ARCHIVE, name)
    path, number = base, 1
    while os.path.exists(path):
        number += 1
        path = f"{base}-{number}"
    return path


def _safe(label: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-.") or "loop"


def _commit(place: StoryPlace, target: str, variables: Mapping[str, str]) -> tuple[str, str]:
    """Only what belongs to the archive; the rest of the work tree is the user's."""
    git = find_program("git", variables)
    if git is None:
        raise MachineError("git is not on PATH", "install git, then commit the archive yourself")
    with errand() as processes:
        repository = Git(git, place.project, variables, processes)
        files = [os.path.join(place.folder, name) for name in ARCHIVED]
        paths = [os.path.relpath(path, place.project) for path in (target, *files)]
        message = f"chore: archive ralph loop {os.path.basename(target)}"
        for words in (("add", "--all"), ("commit", "--quiet", "-m", message)):
            said = repository.try_(*words, "--", *paths)
            if not said.ok:
                return "", f"git {words[0]} failed: {said.problem}"
        return repository.try_("log", "-1", "--format=%h %s").text, ""
