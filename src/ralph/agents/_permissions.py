"""Permissions, commands, folders and model in plain words → what all CLIs say in the same way."""

import re
from collections.abc import Iterable, Iterator

from ralph.agents._argv import has_flag
from ralph.model.agent_card import AgentCard, Grant
from ralph.model.ports import AgentOptions

# What nobody asks about a pipe's end: `make test 2>&1 | tail -5` is a check as good as `make test`.
READING_COMMANDS = ("cat", "cd", "grep", "head", "ls", "pwd", "sort", "tail", "wc")
_PIECE_PATTERN = (
    r"""(?s:(?P<separator>&&|\|\||[;|&\n])"""
    r"""|(?P<redirection>\d*[<>]+&?\s*[^\s;&|<>]*)"""
    r"""|(?P<words>'[^']*'|"(?:\\.|[^"\\])*"|\\.|.))"""
)
# What may stand before a command and is no part of it for a CLI: words of the shell, and variables.
_LEAD_PATTERN = r"^(?:(?:do|then|else|elif|if|while|until|time|!|\{)\s+)*(?:[A-Za-z_]\w*=\S*\s+)*"

# A check, and what agents type for it. Nothing here may let more pass where a CLI's rules know programs only.
_OTHER_SPELLINGS = (
    (r"^(npm|pnpm|yarn) run test(?= |$)", (r"\1 test",)),
    (r"^python3? -m (pytest|unittest)(?= |$)", (r"python3 -m \1", r"python -m \1")),
    (r"^python3? -m pytest(?= |$)", ("pytest",)),
)


def user_decides(options: AgentOptions, card: AgentCard) -> bool:
    """Whether the user's own words already say what this agent may do."""
    words = (*options.command[1:], *options.flags)
    return any(_is_spelling_of(name, word) for name in card.permission_flags for word in words)


def grant_judge(card: AgentCard, options: AgentOptions) -> Grant:
    """What its card says of judging, but for flags the user gave otherwise."""
    given = (*options.command[1:], *options.flags)
    kept: list[str] = []
    skips = False
    for word in card.judge_flags:
        if word.startswith("-") and len(word) > 1:
            skips = has_flag(given, word.partition("=")[0])
        kept += [] if skips else [word]
    return Grant(argv=tuple(kept), environment=card.judge_environment, files=card.judge_files)


def list_simple_commands(lines: Iterable[str]) -> tuple[str, ...]:
    """Each once. A CLI looks at every part of a line by itself, so a compound command is given as its parts; and it
    knows a command by its words alone, so that a check is given in every spelling of it."""
    found: dict[str, None] = {}
    for line in lines:
        for part in _split_line(line):
            found[part] = None
            if bare := re.sub(_LEAD_PATTERN, "", part):
                found |= dict.fromkeys((bare, *_respell(bare)))
    return tuple(found)


def _respell(command: str) -> Iterator[str]:
    for pattern, spellings in _OTHER_SPELLINGS:
        if re.match(pattern, command):
            yield from (re.sub(pattern, spelling, command) for spelling in spellings)


def to_prefix(command: str) -> str | None:
    """`uv run *` is the prefix `uv run`. None: it has a `*` that no prefix can say."""
    prefix = command.removesuffix(" *").rstrip()
    return None if "*" in prefix or not prefix else prefix


def select_prefixes(title: str, options: AgentOptions) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The prefixes that are allowed, and a sentence for each pattern that is none."""
    commands = list_simple_commands(options.allow)
    prefixes = dict.fromkeys(prefix for each in commands if (prefix := to_prefix(each)) is not None)
    patterns = (each for each in commands if to_prefix(each) is None)
    return tuple(prefixes), tuple(f"{title} cannot allow `{each}`: `*` must be its last word." for each in patterns)


def add_folders(options: AgentOptions, card: AgentCard) -> tuple[str, ...]:
    return tuple(word for folder in options.folders for word in (card.folder_flag, folder))


def choose_flags(options: AgentOptions, card: AgentCard) -> tuple[str, ...]:
    """The user's flags, with the chosen model in the place of theirs."""
    if not options.model or not card.model_flag:
        return options.flags
    return (*_without_option(options.flags, (card.model_flag, *card.model_aliases)), card.model_flag, options.model)


def find_missing_options(options: AgentOptions, card: AgentCard) -> tuple[str, ...]:
    """What was asked for and this CLI has no flag for."""
    limits = []
    if options.model and not card.model_flag:
        limits.append(f"{card.title} takes no model: {options.model!r} is ignored.")
    if options.folders and not card.folder_flag:
        limits.append(f"{card.title} takes no more folders: {', '.join(options.folders)} may not be writable.")
    return tuple(limits)


def _is_spelling_of(name: str, word: str) -> bool:
    if not name.startswith("-"):  # a key of its configuration, as in `-c sandbox_mode=…`
        return f"{name}=" in word
    glued = len(name) == 2 and word.startswith(name) and not word.startswith("--")
    return glued or has_flag((word,), name)


def _without_option(flags: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    kept: list[str] = []
    skip = False
    for flag in flags:
        if skip or has_flag((flag,), *names):
            skip = flag in names
        else:
            kept.append(flag)
    return tuple(kept)


def _split_line(line: str) -> list[str]:
    parts = [""]
    for piece in re.finditer(_PIECE_PATTERN, line):
        if piece["separator"]:
            parts.append("")
        elif piece["words"]:
            parts[-1] += piece["words"]
    return [" ".join(part.split()) for part in parts if part.strip()]
