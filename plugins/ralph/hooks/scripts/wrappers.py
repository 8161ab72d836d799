"""Looks through commands that run others: `sudo`, `sh -c`, `find -exec`, git aliases, interpreters and their like."""

from __future__ import annotations

import re

import shell
from aliases import read_alias
from shell import name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from places import Ground

SHELLS = frozenset("sh bash zsh dash ksh ash fish".split())
INTERPRETER = re.compile(r"python[\d.]*|pypy[\d.]*|perl|ruby|node|bun|deno|php|lua|[gmn]?awk")
_LITERAL = re.compile(r"""(['"])(.*?)\1""", re.DOTALL)
_WORD_LIST = re.compile(r"""[\[(]\s*((?:(['"])[^'"\n]*\2\s*,?\s*){2,})[\])]""")
_STARTS_COMMANDS = re.compile(
    r"\b(system|popen|exec\w*|spawn\w*|subprocess|check_call|check_output|shell_exec|passthru|run)\b"
)
_REMOVES_TREE = re.compile(
    r"""\b(?:rmtree|rmSync|rmdirSync|rm_rf?|remove_dir_all|rm|rimraf|remove_tree|rmdir|unlink\s+glob)\s*\(?\s*"""
    r"""(?:(?:os\.path\.expanduser|Path|path\.resolve)\s*\(\s*)?(['"])(.*?)\1"""
)
_WRITES_FILE = re.compile(
    r"""\bopen\s*\(\s*(['"])([^'"]+)\1\s*,\s*['"][wax+]|\bwriteFileSync\s*\(\s*(['"])([^'"]+)\3"""
)
_PROGRAM_OPTIONS = ("-c", "-e", "-r", "-E", "-p", "-ne", "-pe", "--eval", "--print", "-Ec")
_SSH_OPTIONS = tuple(f"-{letter}" for letter in "BbcDEeFIiJLlmOoPpQRSWw")
_WRAPPERS = {  # program → options that take a word of their own
    "sudo": ("-u", "-g", "-C", "-h", "-p", "-U", "-D", "-R", "-T"),
    "doas": ("-u", "-C"),
    "env": ("-u", "-C"),
    "nice": ("-n",),
    "ionice": ("-c", "-n", "-p"),
    "timeout": ("-s", "-k"),
    "gtimeout": ("-s", "-k"),
    "stdbuf": ("-i", "-o", "-e"),
    "xargs": ("-I", "-n", "-P", "-L", "-d", "-E", "-s", "-a"),
    "parallel": ("-j", "--jobs", "-a", "-I", "-n", "-N", "--delay"),
    "nohup": (),
    "setsid": (),
    "command": (),
    "builtin": (),
    "exec": ("-a",),
    "busybox": (),
    "toybox": (),
    "chronic": (),
    "unbuffer": (),
    "caffeinate": ("-t", "-w"),
    "pkexec": ("--user",),
    "gosu": (),
    "su-exec": (),
    "runuser": ("-u", "-g", "-G"),
    "unshare": (),
    "strace": ("-o", "-e", "-p", "-s"),
    "ltrace": ("-o", "-e", "-p", "-s"),
    "chroot": (),
    "flock": ("-w", "-E"),
    "watch": ("-n",),
    "time": ("-f", "-o"),
    "taskset": (),
    "chrt": (),
    "systemd-run": ("-p", "-u", "--unit"),
    "xvfb-run": ("-n", "-s"),
    "direnv": (),
    "dumb-init": (),
    "tini": (),
}
_OPERANDS_FIRST = {
    **dict.fromkeys("timeout gtimeout chroot flock taskset chrt gosu su-exec".split(), 1),
    "direnv": 2,
}
_RUNNERS = {  # program and the word after which a command begins
    **dict.fromkeys("uv poetry pipenv pdm hatch rye mise".split(), ("run", "exec")),
    "bundle": ("exec",),
    "npm": ("exec",),
    "pnpm": ("exec", "dlx"),
    "yarn": ("exec", "dlx"),
}


def unwrapped(words: list[str]) -> list[str]:
    """The command that `sudo -u x env A=1 timeout 5 …` comes down to."""
    while words:
        name, rest = name_of(words), words[1:]
        if name in _RUNNERS and rest and rest[0] in _RUNNERS[name]:
            words = _after_options(rest[1:], ("--with", "--python", "-p", "--package"))
        elif name == "npx":
            words = _after_options(rest, ("-p", "--package"))
        elif name not in _WRAPPERS:
            return words
        elif name == "command" and rest[:1] in (["-v"], ["-V"]):
            return []
        else:
            rest = _after_options(rest, _WRAPPERS[name])
            words = shell.simple(rest[_OPERANDS_FIRST.get(name, 0) :])
    return words


def _after_options(rest: list[str], with_value: Sequence[str]) -> list[str]:
    while rest and rest[0].startswith("-") and rest[0] != "-":
        rest = rest[2:] if rest[0] in with_value else rest[1:]
    return rest


def inner_texts(command: shell.Command, words: Sequence[str], ground: Ground) -> Iterator[str]:
    """Command lines inside the command."""
    name = name_of(words)
    yield from _in_wrapper(shell.simple(command.words), words)
    if name in SHELLS or name in ("su", "runuser", "script"):
        yield from _in_shell(command, words)
    elif INTERPRETER.fullmatch(name):
        yield from _in_interpreter(command, words)
    elif name in ("source", ".") and len(words) > 1 and words[1].startswith("<("):
        yield f"{words[1][2:-1]} | sh"
    elif words and words[0].startswith(("$(", "`")):  # what it prints is run
        yield f"{words[0][2 if words[0][0] == '$' else 1 : -1]} | sh"
    elif name == "eval":
        yield " ".join(words[1:])
    elif name == "trap" and len(words) > 2:
        yield words[1]
    elif name == "alias":
        yield from (word.partition("=")[2] for word in words[1:])
    elif name == "find":
        yield from _in_find(words)
    elif name == "ssh":  # on another machine it does the same
        yield " ".join(_after_options(list(words[1:]), _SSH_OPTIONS)[1:])
    elif name == "git":
        yield from _in_git(words, ground)


def _in_wrapper(raw: list[str], words: Sequence[str]) -> Iterator[str]:
    if name_of(raw) == "env":
        for option, text in zip(raw, raw[1:]):  # noqa: B905, RUF007  # `strict` is 3.10
            if option in ("-S", "--split-string"):
                yield text
    if name_of(raw) in ("watch", "parallel") and len(words) == 1:  # joins its words and gives them to a shell
        yield " ".join(words)
    if name_of(raw) == "parallel" and ":::" in words:
        at = list(words).index(":::")
        joined = " ".join(words[:at])
        yield from (joined.replace("{}", each) if "{}" in joined else f"{joined} {each}" for each in words[at + 1 :])


def _in_shell(command: shell.Command, words: Sequence[str]) -> Iterator[str]:
    for at, word in enumerate(words[1:-1], 1):
        if re.fullmatch(r"-[a-z]*c", word):
            text = next((each for each in words[at + 1 :] if each != "--"), "")
            yield text
            if text.startswith("$(") and text.endswith(")"):  # what it prints is run
                yield f"({text[2:-1]}\n) | sh"
            break
    if name_of(words) in SHELLS:
        if command.fed:
            yield command.fed
        for word in words[1:]:  # bash <(curl …) is `curl … | bash`
            if word.startswith("<("):
                yield f"{word[2:-1]} | sh"


def _in_find(words: Sequence[str]) -> Iterator[str]:
    """`{}` is something below the first folder."""
    start = words[1] if len(words) > 1 and not words[1].startswith(("-", "(", "!")) else "."
    for at, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            inner = words[at + 1 :]
            ends = [n for n, each in enumerate(inner) if each in (";", "+")] or [len(inner)]
            found = f"{start.rstrip('/')}/found"
            yield spelled(each.replace("{}", found) for each in inner[: ends[0]] if each != "{}")


def _in_git(words: Sequence[str], ground: Ground) -> Iterator[str]:
    """An alias, of this command line or of the settings; and what is to become one."""
    rest, defined = list(words[1:]), {}
    while rest and rest[0].startswith("-"):
        if rest[0] == "-c" and len(rest) > 1 and rest[1].lower().startswith("alias."):
            key, _, value = rest[1].partition("=")
            defined[key[6:]] = value
        rest = rest[2:] if rest[0] in ("-C", "-c", "--work-tree", "--git-dir") else rest[1:]
    if not rest:
        return
    if rest[0] == "config":
        yield from (value for key, value in zip(rest, rest[1:]) if key.lower().startswith("alias."))  # noqa: B905, RUF007  # `strict` is 3.10
        yield from (value[1:] for value in rest if value.startswith("!"))
    told = defined.get(rest[0]) or read_alias(rest[0], ground)
    if told.startswith("!"):
        yield f"{told[1:]} {spelled(rest[1:])}"
    elif told:
        yield f"git {told} {spelled(rest[1:])}"
    if rest[:2] in (["submodule", "foreach"], ["bisect", "run"]) or (rest[0] == "rebase" and "--exec" in rest):
        yield " ".join(each for each in rest[2:] if not each.startswith("--"))


def _in_interpreter(command: shell.Command, words: Sequence[str]) -> Iterator[str]:
    """What a program given on the command line or as a here-document starts or removes."""
    if command.fed and not [word for word in words[1:] if word != "-" and not word.startswith("-")]:
        yield from _in_program(command.fed)
    for option, text in zip(words, words[1:]):  # noqa: B905, RUF007  # `strict` is 3.10
        if text.startswith("<("):
            yield f"{text[2:-1]} | sh"
        if option not in _PROGRAM_OPTIONS and not name_of(words).endswith("awk"):
            continue
        if text.startswith("$("):
            yield f"{text[2:-1]} | sh"
        yield from _in_program(text)
        if name_of(words) in ("perl", "ruby", "php"):
            yield from (found[1] for found in re.finditer(r"`([^`\n]+)`", text))


def _in_program(text: str) -> Iterator[str]:
    if _STARTS_COMMANDS.search(text):
        yield from (found[2] for found in _LITERAL.finditer(text))
        for found in _WORD_LIST.finditer(text):
            yield spelled(each[2] for each in _LITERAL.finditer(found[1]))
    yield from (spelled(["rm", "-rf", found[2]]) for found in _REMOVES_TREE.finditer(text))
    yield from (f": > {spelled([found[2] or found[4]])}" for found in _WRITES_FILE.finditer(text))


def spelled(words: Iterable[str]) -> str:
    """As a command line that means these very words."""
    return " ".join(_quoted(word) for word in words)


def _quoted(word: str) -> str:
    if word.startswith("~"):  # a home stays one
        head, slash, rest = word.partition("/")
        return head + slash + (_quoted(rest) if rest else "")
    return "'" + word.replace("'", "'\\''") + "'"
