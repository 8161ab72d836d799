"""Whether a user's command needs a shell. Allow-list: when in doubt `sh -c`, which is always right."""

import os
from collections.abc import Mapping

_PLAIN_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+:,./- ")
SHELL_WORDS = frozenset(  # reserved words and builtins
    "! . : [[ { [ alias bg break builtin case cd command continue coproc declare do done echo elif else enable esac"
    " eval exec exit export false fc fg fi for function getopts hash help history if in jobs kill let local logout"
    " mapfile popd printf pushd pwd read readonly return select set shift shopt source suspend test then time times"
    " trap type typeset ulimit umask unalias unset until wait while".split()
)


def build_shell_argv(command: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """What runs `command` exactly as `sh -c` would, without the shell where that is certain."""
    words = command.split(" ")
    if (
        _PLAIN_CHARS.issuperset(command)
        and all(words)
        and words[0] not in SHELL_WORDS
        and not any(name.startswith("BASH_FUNC_") for name in environment)
        and (program := find_program(words[0], environment))
        and _is_directly_executable(program)
    ):
        return (program, *words[1:])
    return ("/bin/sh", "-c", command)


def find_program(name: str, environment: Mapping[str, str], folder: str = "") -> str | None:
    """The absolute path by the *child's* PATH; a name with a slash counts from `folder`."""
    if "/" in name:
        path = os.path.join(folder, name) if folder or name.startswith("/") else ""
        return path if path and _is_program(path) else None
    for entry in environment.get("PATH", os.defpath).split(":"):
        path = f"{entry}/{name}" if entry.startswith("/") else os.path.join(folder, entry, name) if folder else ""
        if not path:
            return None  # a relative entry comes first: the shell's business
        if _is_program(path):
            return path
    return None


def _is_program(path: str) -> bool:
    return os.access(path, os.X_OK) and os.path.isfile(path)


def _is_directly_executable(path: str) -> bool:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(4).startswith((b"#!", b"\x7fELF"))  # else ENOEXEC, which a shell would interpret
    except OSError:
        return False
