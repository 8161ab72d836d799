"""From a shell line to the programs that judge: through `env`, `timeout`, `uv run`, `npx`, `bash -c`, `python3 -m` …"""

import re

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.proofs.shell_line import SimpleCommand, join_path, parse_shell_line

_MAX_DEPTH = 8
_ASSIGNMENT = r"[A-Za-z_]\w*\+?="
_PYTHON = r"(python|pypy)[\d.]*"
_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash"))
_INTERPRETERS = frozenset(("node", "ruby", "perl", "php", "lua", "tsx", "ts-node", "Rscript", "julia", "osascript"))

# A program that runs another one → its options that take a value. What follows is the other one.
_WRAPPERS = {
    "env": ("-u", "-C", "--chdir", "--unset"),
    "timeout": ("-k", "-s", "--kill-after", "--signal"),
    "gtimeout": ("-k", "-s", "--kill-after", "--signal"),
    "nice": ("-n",),
    "ionice": ("-c", "-n"),
    "nohup": (),
    "setsid": (),
    "time": ("-f", "-o"),
    "command": (),
    "exec": ("-a",),
    "builtin": (),
    "sudo": ("-u", "-g"),
    "doas": ("-u",),
    "stdbuf": (),
    "chronic": (),
    "unbuffer": (),
    "caffeinate": (),
    "xvfb-run": ("-s", "-n", "-e", "--server-args"),
    "xargs": ("-n", "-P", "-I", "-L", "-d", "-s", "-a"),
    "cross-env": (),
    "env-cmd": ("-f", "-e"),
    "dotenv": ("-e", "-f"),
    "npx": ("-p", "--package", "-c", "-w"),
    "bunx": (),
    "pnpx": (),
    "uvx": ("--from", "--with", "-p", "--python"),
}
# The same where a second word says so.
_WRAPPING_SUBCOMMANDS = {
    ("uv", "run"): (
        *("--with", "--python", "-p", "--group", "--extra", "--project", "--directory", "--package", "--index"),
        *("--env-file", "--with-requirements", "--with-editable", "--only-group", "--no-group"),
    ),
    ("uv", "tool"): ("--from", "--with", "-p", "--python"),
    ("poetry", "run"): (),
    ("pipenv", "run"): (),
    ("pdm", "run"): ("-p",),
    ("rye", "run"): (),
    ("pixi", "run"): ("-e", "--environment", "--manifest-path"),
    ("conda", "run"): ("-n", "-p", "--name", "--prefix", "--cwd"),
    ("mamba", "run"): ("-n", "-p"),
    ("micromamba", "run"): ("-n", "-p"),
    ("pipx", "run"): ("--spec", "--python"),
    ("bundle", "exec"): (),
    ("npm", "exec"): ("-p", "--package", "-w"),
    ("npm", "x"): ("-p", "--package", "-w"),
    ("pnpm", "exec"): ("-C", "--filter", "-F"),
    ("pnpm", "dlx"): (),
    ("yarn", "exec"): (),
    ("yarn", "dlx"): ("-p",),
    ("bun", "x"): (),
    ("mise", "exec"): (),
    ("mise", "x"): (),
    ("direnv", "exec"): (),
    ("dotenvx", "run"): ("-f",),
    ("coverage", "run"): ("--rcfile", "--source", "--omit", "--include", "--data-file", "--context"),
}
_SKIPS_ONE_WORD = frozenset(("timeout", "gtimeout", "flock", "direnv"))  # a duration, a lock, a folder


class Call(Struct, frozen=True, kw_only=True):
    """One program that is run, by the name its runner is known by."""

    name: str  # pytest, make, npm, script …
    program: str = ""  # as it was written: `.venv/bin/pytest`
    arguments: tuple[str, ...] = ()
    folder: str = ""  # where it runs, from the root of the tree
    script: str = ""  # the file that is run, from the root of the tree; for the name "script"
    launchers: tuple[str, ...] = ()  # what runs it: uv, npx, python3
    is_compared: bool = False  # another command reads what it prints
    is_sourced: bool = False  # the shell reads it as a part of its own script


def find_calls(line: str, folder: str = "", depth: int = 0) -> list[Call]:
    """The programs a shell line runs, wrappers looked through. Total: any text gives a list."""
    found: list[Call] = []
    for command in parse_shell_line(line, folder):
        found += _unwrap(command, (), depth)
    return found


def _unwrap(command: SimpleCommand, launchers: tuple[str, ...], depth: int) -> list[Call]:
    words = _drop_assignments(command.words)
    if not words or depth > _MAX_DEPTH:
        return []
    program, name = words[0], words[0].rpartition("/")[2]
    inner = _find_wrapped(name, words)
    if inner is not None:
        folder = _find_other_folder(words, command.folder)
        wrapped = replace(command, words=inner, folder=folder)
        return _unwrap(wrapped, (*launchers, program), depth + 1)
    if name in _SHELLS:
        return _read_shell(command, words, launchers, depth)
    if name in (".", "source") and len(words) > 1:
        call = _build_script_call(command, words[1], words[2:], ())
        return [replace(call, program="", name="script", is_sourced=True)]
    if name in ("concurrently", "run-s", "run-p", "npm-run-all"):
        return _read_parallel(name, command, words, depth)
    if name in ("nix-shell", "nix") and (line := _find_value(words, ("--run", "--command", "-c"))):
        return find_calls(line, command.folder, depth + 1)
    if re.fullmatch(_PYTHON, name):
        return _read_python(command, words, launchers, depth)
    if name in _INTERPRETERS and (script := _find_script(words[1:])):
        return [_build_script_call(command, script, words[words.index(script) + 1 :], (*launchers, program))]
    if name in _INTERPRETERS and command.reads and len(words) == 1:
        return _read_input(command, words, launchers)
    if "/" in program or program.endswith((".sh", ".py")):
        return [_build_program_call(command, words, launchers)]
    return [_build_call(command, name, words, launchers)]


def _drop_assignments(words: tuple[str, ...]) -> tuple[str, ...]:
    while words and (not words[0] or re.match(_ASSIGNMENT, words[0])):
        words = words[1:]
    return words


def _find_wrapped(name: str, words: tuple[str, ...]) -> tuple[str, ...] | None:
    """The words of the command that this one runs; None: it runs none."""
    if name in _WRAPPERS:
        rest, valued = words[1:], _WRAPPERS[name]
    elif (pair := (name, words[1] if len(words) > 1 else "")) in _WRAPPING_SUBCOMMANDS:
        rest, valued = words[2:], _WRAPPING_SUBCOMMANDS[pair]
        if pair == ("uv", "tool"):
            rest = rest[1:]
    elif name == "flock":
        rest, valued = words[1:], ("-w", "-E", "-x")
    else:
        return None
    while rest and (rest[0].startswith("-") or re.match(_ASSIGNMENT, rest[0])):
        if rest[0] in ("-m", "--module"):
            return ("python3", *rest)
        if rest[0] in ("-c", "-S", "--split-string", "--call") and rest[0] not in valued:
            return ("sh", "-c", *rest[1:])
        rest = rest[2:] if rest[0] in valued else rest[1:]
    rest = rest[1:] if name in _SKIPS_ONE_WORD else rest
    if rest and rest[0].endswith(".py") and name in ("uv", "coverage"):
        return ("python3", *rest)
    return rest


def _find_other_folder(words: tuple[str, ...], folder: str) -> str:
    """`uv run --directory sub`, `env -C sub`: it runs there."""
    there = _find_value(words, ("--directory", "-C", "--chdir", "--cwd"))
    return join_path(folder, there) if there else folder


def _find_value(words: tuple[str, ...], options: tuple[str, ...]) -> str:
    for index, word in enumerate(words[1:], 1):
        option, equals, value = word.partition("=")
        if option in options:
            return value if equals else "".join(words[index + 1 : index + 2])
    return ""


def _read_shell(command: SimpleCommand, words: tuple[str, ...], launchers: tuple[str, ...], depth: int) -> list[Call]:
    """`bash -euc "line"`, `bash script.sh`."""
    for index, word in enumerate(words[1:], 1):
        if word.startswith("-") and not word.startswith("--") and "c" in word:
            return find_calls("".join(words[index + 1 : index + 2]), command.folder, depth + 1)
        if word == "-o":
            continue
        if not word.startswith(("-", "+")) and words[index - 1] != "-o":
            return [_build_script_call(command, word, words[index + 1 :], (*launchers, words[0]))]
    return _read_input(command, words, launchers)


def _read_input(command: SimpleCommand, words: tuple[str, ...], launchers: tuple[str, ...]) -> list[Call]:
    """`sh < check.sh`, `cat check.py | python3`"""
    return [_build_script_call(command, path, (), (*launchers, words[0])) for path in command.reads]


def _read_parallel(name: str, command: SimpleCommand, words: tuple[str, ...], depth: int) -> list[Call]:
    """`concurrently "npm:lint" "jest"`, `run-s lint test`: each word is a line, or the name of a script."""
    found: list[Call] = []
    for word in words[1:]:
        if word.startswith("-"):
            continue
        script = word.removeprefix("npm:") if name == "concurrently" else word
        line = word if name == "concurrently" and script == word else f"npm run {script}"
        found += find_calls(line, command.folder, depth + 1)
    return found


def _read_python(command: SimpleCommand, words: tuple[str, ...], launchers: tuple[str, ...], depth: int) -> list[Call]:
    """`python3 -m pytest`, `python3 check.py`; what `-c` runs names no file."""
    rest = words[1:]
    while rest and rest[0].startswith("-"):
        if rest[0] == "-m":
            inner = replace(command, words=rest[1:])
            return _unwrap(inner, (*launchers, words[0], "-m"), depth + 1)
        if rest[0] == "-c":
            return [_build_call(command, "python", words, launchers)]
        rest = rest[2:] if rest[0] in ("-W", "-X", "--check-hash-based-pycs") else rest[1:]
    if not rest or rest[0] == "-":
        return _read_input(command, words, launchers)
    if rest[0].rpartition("/")[2] == "manage.py" and rest[1:2] == ("test",):
        return [_build_call(command, "django", rest, (*launchers, words[0]))]
    return [_build_script_call(command, rest[0], rest[1:], (*launchers, words[0]))]


def _find_script(words: tuple[str, ...]) -> str:
    if any(word in ("-e", "--eval", "-p", "--print", "--test", "-r") for word in words):
        return ""
    return next((word for word in words if not word.startswith("-")), "")


def _build_program_call(command: SimpleCommand, words: tuple[str, ...], launchers: tuple[str, ...]) -> Call:
    """A program given by its path: an installed runner, or a script of the project."""
    folders, _, name = words[0].rpartition("/")
    if (folders.endswith(("bin", ".bin")) and not name.endswith((".sh", ".py"))) or name in ("gradlew", "mvnw"):
        return _build_call(command, name, words, launchers)
    return _build_script_call(command, words[0], words[1:], launchers)


def _build_script_call(
    command: SimpleCommand, script: str, arguments: tuple[str, ...], launchers: tuple[str, ...]
) -> Call:
    name = script.rpartition("/")[2]
    is_runner = "/bin/" in f"/{script}" or "/.bin/" in script or "node_modules/" in script
    return Call(
        name=name.partition(".")[0] if is_runner else "script",
        program=script,
        arguments=arguments,
        folder=command.folder,
        script=join_path(command.folder, script),
        launchers=launchers,
        is_compared=command.is_compared,
    )


def _build_call(command: SimpleCommand, name: str, words: tuple[str, ...], launchers: tuple[str, ...]) -> Call:
    return Call(
        name=name,
        program=words[0],
        arguments=words[1:],
        folder=command.folder,
        script=join_path(command.folder, words[0]) if "/" in words[0] else "",
        launchers=launchers,
        is_compared=command.is_compared,
    )
