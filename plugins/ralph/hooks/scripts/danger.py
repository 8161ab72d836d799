"""Which commands are plainly destructive. In doubt one is not: the sandbox is the boundary, this prevents accidents."""

from __future__ import annotations

import re

import grammar
import shell
from cautions import caution_about
from places import filled, in_reading, in_wiping, in_writing, located
from shell import has, name_of, operands
from verdicts import about
from wrappers import INTERPRETER, SHELLS, inner_texts, spelled, unwrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from places import Ground

    Finding = tuple[str, str, list[str]]  # how bad, why, and the words of the command

ASK = "If this project really needs it, a person can add the line to {}/allowed-commands.txt."
BLOCK, WARN = "block", "warn"
_PATIENCE = 100_000  # characters of commands inside commands
_FETCHERS = frozenset("curl wget fetch http https aria2c".split())
_DECODERS = frozenset("base64 base32 xxd openssl uudecode".split())
_KEY_USERS = frozenset(
    "ssh ssh-add ssh-keygen ssh-copy-id git ls stat test [ [[ file find echo printf mkdir cd pushd".split()
)
_REMOVERS = ("rm", "shred", "unlink", "rmdir")
_FORK_BOMB = re.compile(r"(?<![\w:])([\w:]+)\s*\(\)\s*\{\s*\1\s*\|\s*\1\s*&\s*\}\s*;?\s*\1")


def judge_command(text: str, ground: Ground, allowances: str) -> tuple[str, str]:
    """BLOCK or WARN, and why; two empty texts when nothing speaks against this command line."""
    allowed = [words for line in allowances.splitlines() if (words := _allowance(line))]
    ground.patience = _PATIENCE + len(text)
    warning = ""
    for level, reason, words in _found(text, ground, 0):
        if any(_matches(words, pattern) for pattern in allowed):
            continue
        told = f"{reason} ({' '.join(words)[:200]})"
        if level == BLOCK:
            return BLOCK, f"{told} {ASK.format(ground.folder)}"
        warning = warning or told
    return (WARN, warning) if warning else ("", "")


def _found(text: str, ground: Ground, depth: int) -> Iterator[Finding]:
    """What speaks against it, each with the words of the command it is about."""
    if _FORK_BOMB.search(text):
        yield BLOCK, "this is a fork bomb.", text.split()
    ground.patience -= len(text)
    if depth > shell.DEPTH or ground.patience < 0:
        yield BLOCK, "this is too intricate to be judged.", text.split()
        return
    kept = [(ground.cwd, ground.variables)]
    for pipeline in _read(text):
        if pipeline[0].scope:
            _change_scope(pipeline[0].scope, kept, ground)
            continue
        commands = [(command, unwrapped(_said(command.words, ground))) for command in pipeline]
        yield from _found_between(commands, ground, depth)
        for command, words in commands:
            yield from _found_in(command, words, ground, depth)
            if len(pipeline) == 1:
                _remember(command.words, words, ground)
    ground.cwd = kept[0][0]


def _read(text: str) -> Iterable[shell.Pipeline]:
    by_grammar = grammar.pipelines(text)
    return shell.pipelines(text) if by_grammar is None else by_grammar


def _change_scope(step: int, kept: list[tuple[str, dict[str, str]]], ground: Ground) -> None:
    """What a subshell does to folder and variables ends with it."""
    if step > 0:
        kept.append((ground.cwd, ground.variables))
        ground.variables = dict(ground.variables)
    elif len(kept) > 1:
        ground.cwd, ground.variables = kept.pop()


def _found_in(command: shell.Command, words: list[str], ground: Ground, depth: int) -> Iterator[Finding]:
    raw = shell.simple(command.words)
    for reason in (*_about_files(command, words, ground), about(words, ground)):
        if reason:
            yield BLOCK, reason, raw
    caution = caution_about(command, words, ground)
    if caution:
        yield WARN, caution, raw or command.words
    for inner in inner_texts(command, words, ground):
        yield from _found(inner, ground, depth + 1)


def _said(words: list[str], ground: Ground) -> list[str]:
    """The words of a command, with the variables it knows of; one in the place of the program may be several words."""
    plain = shell.simple(words)
    if not ground.variables or not plain:
        return plain
    first = filled(plain[0], ground)
    start = first.split() if plain[0].startswith("$") else [first]
    return [*start, *(filled(word, ground) for word in plain[1:])]


def _remember(raw: list[str], words: list[str], ground: Ground) -> None:
    """Where the commands that follow are, and which variables they find."""
    if name_of(words) in ("cd", "pushd"):
        ground.cwd = located((operands(words) or ["~"])[0], ground) or ""
    if raw[:1] == ["for"] and raw[2:3] == ["in"] and len(raw) > 3:  # the worst of what it goes through
        values = raw[3:]
        worst = (each for each in values if (at := located(each, ground)) and in_wiping(at, ground))
        ground.variables[raw[1]] = next(worst, values[0])
    for name, value in shell.assignments(raw).items():
        ground.variables[name] = filled(value, ground)[: shell.LONGEST_VALUE]


def _found_between(
    commands: Sequence[tuple[shell.Command, list[str]]], ground: Ground, depth: int
) -> Iterator[Finding]:
    """What only the pipe makes dangerous: text that becomes a program."""
    for (_, before), (command, words) in zip(commands, commands[1:]):  # noqa: B905, RUF007  # `strict` is 3.10
        if name_of(shell.simple(command.words)) == "xargs" and name_of(words) in _REMOVERS:
            given = _listed(before)
            if given:
                yield from _found(spelled(given if given[0] == "find" else [*words, *given]), ground, depth + 1)
    whole = " | ".join(" ".join(shell.simple(command.words)) for command, _ in commands).split(" ")
    sinks = [at for at, (_, words) in enumerate(commands) if _reads_program(words)]
    for command, words in commands[: sinks[-1]] if sinks else ():
        program = name_of(words)
        if program in _FETCHERS:
            yield BLOCK, "this runs a program straight from the network.", whole
        if program in _DECODERS:
            yield BLOCK, "this runs a program nobody can read.", whole
        if name_of(commands[sinks[-1]][1]) not in SHELLS:
            continue
        if program in ("echo", "printf"):
            yield from _found(" ".join(words[1:]).replace("\\n", "\n"), ground, depth + 1)
        if program == "cat" and command.fed:
            yield from _found(command.fed, ground, depth + 1)


def _reads_program(words: Sequence[str]) -> bool:
    """Whether it takes what it is to do from its standard input."""
    name, rest = name_of(words), list(words[1:])
    if name in SHELLS:
        plain = [each for each in rest if not re.fullmatch(r"-[euxilv]+|-|/dev/stdin", each)]
        return not plain or "-s" in rest
    return bool(INTERPRETER.fullmatch(name)) and not {*rest} - {"-", "/dev/stdin"}


def _listed(words: Sequence[str]) -> list[str]:
    """What a command hands to `xargs rm`: paths, or a `find` as if it deleted itself; nothing where one cannot know."""
    name = name_of(words)
    if name == "find":
        return [*words, "-delete"]
    if name == "ls":
        return operands(words) or ["."]
    if name == "git" and words[1:2] == ["ls-files"] and not has(words, "", "--others", "--ignored", "--deleted"):
        return operands(words)[1:] or ["-r", "."]
    return [word for word in operands(words) if "%" not in word] if name in ("echo", "printf") else []


def _about_files(command: shell.Command, words: Sequence[str], ground: Ground) -> Iterator[str]:
    """Where it writes, and what it reads."""
    for target in (*command.outputs, *_written(words)):
        if target.startswith(("/dev/tcp/", "/dev/udp/")):
            yield "this opens a connection to another machine."
        elif at := located(target, ground):
            yield in_writing(at, ground)
    if name_of(words) not in _KEY_USERS:
        options = ("-i",) if name_of(words) in ("scp", "sftp", "rsync") else ()
        for before, word in zip(words, words[1:]):  # noqa: B905, RUF007  # `strict` is 3.10
            plain = re.sub(r"^(-[A-Za-z]|--?[\w-]+=)?@?", "", word) or word
            if before not in options and (at := located(plain, ground)):
                yield in_reading(at, ground)
    for source in command.inputs:
        if source.startswith(("/dev/tcp/", "/dev/udp/")):
            yield "this opens a connection to another machine."
        elif at := located(source, ground):
            yield in_reading(at, ground)


def _written(words: Sequence[str]) -> list[str]:
    """The files a command changes by its own means."""
    name, rest = name_of(words), operands(words)
    if name in ("tee", "truncate", "touch", "rm", "unlink", "shred", "rmdir"):
        return rest
    if name in ("cp", "install", "ln", "rsync", "scp"):
        return [each for each in rest[-1:] if ":" not in each]
    if name == "mv":
        return rest
    if name in ("chmod", "chown", "chgrp") or (name in ("sed", "perl") and has(words, "i", "--in-place")):
        return rest[1:]
    if name == "dd":
        return [word[3:] for word in words if word.startswith("of=")]
    return []


# -- allowances -----------------------------------------------------------------------------------
def _allowance(line: str) -> list[str]:
    line = line.strip()
    return [] if line.startswith("#") else line.split()


def _matches(words: list[str], pattern: list[str]) -> bool:
    """Word by word; a `*` inside a word stands for anything but a way up."""
    from fnmatch import fnmatchcase

    given = " ".join(words).split()
    return len(given) == len(pattern) and all(
        word == each or (fnmatchcase(word, each) and ".." not in word)
        for word, each in zip(given, pattern)  # noqa: B905  # `strict` is 3.10
    )
