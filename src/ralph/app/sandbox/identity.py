"""Who commits in a sandbox: the user's name and address and a few habits of git, none of its programs and keys."""

import os
from collections.abc import Iterator, Mapping

from ralph.model.command import Command
from ralph.model.ports import Processes
from ralph.process.output import Excerpt
from ralph.process.shell import find_program

GIT_SETTINGS_TIMEOUT_SECONDS = 10.0
MAX_GIT_SETTINGS_BYTES = 1 << 18
_KEPT_SETTINGS = (
    *("user.name", "user.email", "author.name", "author.email", "committer.name", "committer.email"),
    *("init.defaultbranch", "core.autocrlf", "core.eol", "core.quotepath", "pull.rebase", "merge.conflictstyle"),
    *("commit.cleanup", "diff.renames", "rebase.autosquash", "safe.directory"),
)


def write_git_identity(home: str, variables: Mapping[str, str], processes: Processes) -> None:
    """`.gitconfig` in a private home."""
    os.makedirs(home, mode=0o700, exist_ok=True)
    program = find_program("git", variables)
    if program is None:
        return
    output = Excerpt(MAX_GIT_SETTINGS_BYTES, 0)
    argv = (program, "config", "--global", "--includes", "--list", "--null")
    processes.run(
        Command(argv=argv, environment=variables, cwd="/", timeout=GIT_SETTINGS_TIMEOUT_SECONDS), output.write, len
    )
    text = render_git_settings(_parse_settings(output.text()))
    with open(os.path.join(home, ".gitconfig"), "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def render_git_settings(pairs: Iterator[tuple[str, str]]) -> str:
    """Only what names people and habits."""
    lines = []
    for name, value in pairs:
        section, _, key = name.partition(".")
        if name in _KEPT_SETTINGS:
            quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            lines.append(f'[{section}]\n\t{key} = "{quoted}"\n')
    return "".join(lines)


def _parse_settings(text: str) -> Iterator[tuple[str, str]]:
    for entry in text.split("\0"):
        name, _, value = entry.partition("\n")
        if name:
            yield name, value
