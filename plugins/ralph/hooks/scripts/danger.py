"""Which commands are plainly destructive. In doubt one is not: the sandbox is the boundary, this prevents accidents."""

from __future__ import annotations

import re

import shell
from places import filled, in_reading, in_wiping, in_writing, located
from shell import has, name_of, operands
from verdicts import about

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from places import Ground

ASK = "If this project really needs it, a person can add the line to {}/allowed-commands.txt."


_PATIENCE = 100_000  # characters of commands inside commands
_SHELLS = frozenset("sh bash zsh dash ksh ash fish".split())
_FETCHERS = frozenset("curl wget fetch http https aria2c".split())
_DECODERS = frozenset("base64 base32 xxd openssl uudecode".split())
_KEY_USERS = frozenset(
    "ssh ssh-add ssh-keygen ssh-copy-id git ls stat test [ [[ file find echo printf mkdir cd pushd".split()
)
_REMOVERS = ("rm", "shred", "unlink", "rmdir")
_INTERPRETER = re.compile(r"python[\d.]*|perl|ruby|node|php|[gmn]?awk")
_LITERAL = re.compile(r"""(['"])(.*?)\1""", re.DOTALL)
_STARTS_COMMANDS = re.compile(r"\b(system|popen|exec\w*|spawn\w*|subprocess|check_call|check_output|shell_exec)\b")
_REMOVES_TREE = re.compile(r"""\b(?:rmtree|rmSync|rmdirSync|rm_rf?|remove_dir_all)\s*\(?\s*(['"])(.*?)\1""")
_FORK_BOMB = re.compile(r"(?<![\w:])([\w:]+)\s*\(\)\s*\{\s*\1\s*\|\s*\1\s*&\s*\}\s*;?\s*\1")
_WRAPPERS = {  # program → options that take a word of their own
    "sudo": ("-u", "-g", "-C", "-h", "-p", "-U", "-D", "-R", "-T"),
    "doas": ("-u", "-C"),
    "env": ("-u", "-C"),
    "nice": ("-n",),
    "ionice": ("-c", "-n", "-p"),
    "timeout": ("-s", "-k"),
    "stdbuf": ("-i", "-o", "-e"),
    "xargs": ("-I", "-n", "-P", "-L", "-d", "-E", "-s", "-a"),
    "nohup": (),
    "setsid": (),
    "command": (),
    "builtin": (),
    "exec": ("-a",),
    "busybox": (),
    "chronic": (),
    "unbuffer": (),
    "pkexec": ("--user",),
    "runuser": ("-u", "-g", "-G"),
    "unshare": (),
    "strace": ("-o", "-e", "-p", "-s"),
    "chroot": (),
    "flock": ("-w", "-E"),
    "watch": ("-n",),
}
_OPERANDS_FIRST = {"timeout": 1, "chroot": 1, "flock": 1}


def in_command(text: str, ground: Ground, allowances: str) -> str:
    """Why this command line is not to be run; empty when nothing speaks against it."""
    allowed = [words for line in allowances.splitlines() if (words := _allowance(line))]
    ground.patience = _PATIENCE + len(text)
    for reason, words in _found(text, ground, 0):
        if not any(_matches(words, pattern) for pattern in allowed):
            return f"{reason} ({' '.join(words)[:200]}) " + ASK.format(ground.folder)
    return ""


def _found(text: str, ground: Ground, depth: int) -> Iterator[tuple[str, list[str]]]:
    """What speaks against it, each with the words of the command it is about."""
    if _FORK_BOMB.search(text):
        yield "this is a fork bomb.", text.split()
    ground.patience -= len(text)
    if depth > shell.DEPTH or ground.patience < 0:
        yield "this is too intricate to be judged.", text.split()
        return
    started = ground.cwd
    for pipeline in shell.pipelines(text):
        commands = [(command, _unwrapped(_said(command.words, ground))) for command in pipeline]
        yield from _found_between(commands, ground, depth)
        for command, words in commands:
            reasons = [*_about_files(command, words, ground), about(words, ground)]
            yield from ((reason, shell.simple(command.words)) for reason in reasons if reason)
            for inner in _inner_texts(command, words):
                yield from _found(inner, ground, depth + 1)
            if len(pipeline) == 1:
                _remember(command.words, words, ground)
    ground.cwd = started


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
) -> Iterator[tuple[str, list[str]]]:
    """What only the pipe makes dangerous: text that becomes a program."""
    for (_, before), (command, words) in zip(commands, commands[1:]):  # noqa: B905, RUF007  # `strict` is 3.10
        if name_of(shell.simple(command.words)) == "xargs" and name_of(words) in _REMOVERS:
            given = _listed(before)
            if given:
                yield from _found(_spelled(given if given[0] == "find" else [*words, *given]), ground, depth + 1)
    whole = " | ".join(" ".join(shell.simple(command.words)) for command, _ in commands).split(" ")
    sinks = [at for at, (_, words) in enumerate(commands) if _reads_program(words)]
    for command, words in commands[: sinks[-1]] if sinks else ():
        program = name_of(words)
        if program in _FETCHERS:
            yield "this runs a program straight from the network.", whole
        if program in _DECODERS:
            yield "this runs a program nobody can read.", whole
        if name_of(commands[sinks[-1]][1]) not in _SHELLS:
            continue
        if program in ("echo", "printf"):
            yield from _found(" ".join(words[1:]).replace("\\n", "\n"), ground, depth + 1)
        if program == "cat" and command.fed:
            yield from _found(command.fed, ground, depth + 1)


def _reads_program(words: Sequence[str]) -> bool:
    """Whether it takes what it is to do from its standard input."""
    name, rest = name_of(words), list(words[1:])
    if name in _SHELLS:
        plain = [each for each in rest if not re.fullmatch(r"-[euxilv]+|-|/dev/stdin", each)]
        return not plain or "-s" in rest
    return bool(_INTERPRETER.fullmatch(name)) and not {*rest} - {"-", "/dev/stdin"}


def _listed(words: Sequence[str]) -> list[str]:
    """What a command hands to `xargs rm`: paths, or a `find` as if it deleted itself; nothing where one cannot know."""
    name = name_of(words)
    if name == "find":
        return [*words, "-delete"]
    if name == "ls":
        return operands(words) or ["."]
    return [word for word in operands(words) if "%" not in word] if name in ("echo", "printf") else []


def _inner_texts(command: shell.Command, words: Sequence[str]) -> Iterator[str]:
    """Command lines inside the command."""
    name = name_of(words)
    raw = shell.simple(command.words)
    if name_of(raw) == "env":
        for option, text in zip(raw, raw[1:]):  # noqa: B905, RUF007  # `strict` is 3.10
            if option in ("-S", "--split-string"):
                yield text
    if name_of(raw) == "watch":  # joins its words and gives them to a shell
        yield " ".join(words)
    if name in _SHELLS or name in ("su", "runuser", "script"):
        for at, word in enumerate(words[1:-1], 1):
            if re.fullmatch(r"-[a-z]*c", word):
                yield next((each for each in words[at + 1 :] if each != "--"), "")
                break
    if name in _SHELLS:
        if command.fed:
            yield command.fed
        for word in words[1:]:  # bash <(curl …) is `curl … | bash`
            if word.startswith("<("):
                yield f"{word[2:-1]} | sh"
    elif _INTERPRETER.fullmatch(name):
        yield from _in_program(words)
    elif name in ("source", ".") and len(words) > 1 and words[1].startswith("<("):
        yield f"{words[1][2:-1]} | sh"
    elif words and words[0].startswith(("$(", "`")):  # what it prints is run
        yield f"{words[0][2 if words[0][0] == '$' else 1 : -1]} | sh"
    elif name == "eval":
        yield " ".join(words[1:])
    elif name == "find":
        for at, word in enumerate(words):
            if word in ("-exec", "-execdir", "-ok", "-okdir"):
                inner = words[at + 1 :]
                ends = [n for n, each in enumerate(inner) if each in (";", "+")] or [len(inner)]
                yield _spelled(each for each in inner[: ends[0]] if "{}" not in each)


def _in_program(words: Sequence[str]) -> Iterator[str]:
    """What a program given on the command line starts or removes, and one that comes from another command."""
    for option, text in zip(words, words[1:]):  # noqa: B905, RUF007  # `strict` is 3.10
        if text.startswith("<("):
            yield f"{text[2:-1]} | sh"
        if option not in ("-c", "-e", "-r") and not name_of(words).endswith("awk"):
            continue
        if text.startswith("$("):
            yield f"{text[2:-1]} | sh"
        if _STARTS_COMMANDS.search(text):
            yield from (found[2] for found in _LITERAL.finditer(text))
        yield from (_spelled(["rm", "-rf", found[2]]) for found in _REMOVES_TREE.finditer(text))


def _spelled(words: Iterable[str]) -> str:
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


def _unwrapped(words: list[str]) -> list[str]:
    """The command that `sudo -u x env A=1 timeout 5 …` comes down to."""
    while words and name_of(words) in _WRAPPERS:
        name, rest = name_of(words), words[1:]
        if name == "command" and rest[:1] in (["-v"], ["-V"]):
            return []
        while rest and rest[0].startswith("-") and rest[0] != "-":
            rest = rest[2:] if rest[0] in _WRAPPERS[name] else rest[1:]
        words = shell.simple(rest[_OPERANDS_FIRST.get(name, 0) :])
    return words


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
