"""What is told to the agent as a warning and not refused: seldom wrong, but worth a second look."""

from __future__ import annotations

import os
import re

from places import located
from shell import has, name_of, operands, simple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from places import Ground
    from shell import Command

_LOCAL = re.compile(r"(https?://)?(localhost|127\.|0\.0\.0\.0|\[::1\]|host\.docker\.internal|\$)")
_SECRET_VARIABLE = re.compile(r"\$\{?\w*(SECRET|PASSWORD|PASSWD|API_KEY|ACCESS_KEY|TOKEN|CREDENTIAL)\w*\}?")
_INJECTED = re.compile(r"(LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV|PROMPT_COMMAND|GIT_SSH_COMMAND)=.")
_KEY_FILE = re.compile(r".+\.(pem|key|p12|pfx|ppk)")
_READERS = frozenset("cat less more head tail base64 xxd strings bat".split())


def caution_about(command: Command, words: Sequence[str], ground: Ground) -> str:
    """The warning; empty when there is none."""
    name, rest = name_of(words), list(words[1:])
    if any(_INJECTED.match(word) for word in command.words):
        return "this variable makes every program that follows run something else."
    if name in ("curl", "wget"):
        return _upload(words)
    if name in ("scp", "rsync", "sftp", "ftp"):
        return _copy_away(name, words)
    if name == "git":
        return _git(words) if ground.in_project(ground.cwd) is not None else ""
    if name in ("echo", "printf") and not command.outputs and any(map(_SECRET_VARIABLE.search, rest)):
        return "this prints a secret; what is printed is kept in logs."
    if name in _READERS and any(_reads_secret(word, ground) for word in operands(words)):
        return "this prints what may be a secret; what is printed is kept in logs."
    return _other(name, words, command)


def _other(name: str, words: Sequence[str], command: Command) -> str:
    text = " ".join(words[1:])
    raw = simple(command.words)
    if name_of(raw) in ("sudo", "doas") and (not words or has(raw[:2], "is", "--login", "--shell") or name == "su"):
        return "this opens a shell with all rights."
    if name == "chmod" and re.search(r"(^| )([0-7]?777|[2467][0-7]{3}|[ugo]*\+[rwx]*s)( |$)", text):
        return "this gives more rights than a program needs."
    for program, pattern, reason in _PATTERNS:
        if name in program and re.search(pattern, text):
            return reason
    return ""


def _upload(words: Sequence[str]) -> str:
    """A file that leaves the machine."""
    sends = has(words, "T", "--upload-file", "--post-file", "--body-file")
    for option, value in zip(words, words[1:]):  # noqa: B905, RUF007  # `strict` is 3.10
        if re.fullmatch(r"-[a-zA-Z]*[dF]|--(data\w*|data-binary|form)", option):
            sends = sends or value.startswith("@") or "=@" in value
    outside = [word for word in operands(words) if re.match(r"(https?|ftp)://", word) and not _LOCAL.match(word)]
    return "this sends a file to another machine." if sends and outside else ""


def _copy_away(name: str, words: Sequence[str]) -> str:
    if name in ("sftp", "ftp"):
        return "this moves files to or from another machine."
    away = operands(words)[-1:]
    return "this sends files to another machine." if away and re.match(r"[\w.@-]+:(?!\\)", away[0]) else ""


def _git(words: Sequence[str]) -> str:
    rest = [word for word in words[1:] if word != "--no-pager"]
    action = rest[0] if rest else ""
    if action == "clean" and has(rest, "f", "--force") and not has(rest, "n", "--dry-run") and not operands(rest):
        return "this deletes every new file that is not committed; `git clean -n` lists them first."
    if action == "stash" and rest[1:2] == ["drop"]:
        return "what was put aside may be the user's."
    if action == "config" and any("credential" in word for word in operands(rest)[:1]):
        return "this changes how git stores passwords."
    return ""


def _reads_secret(word: str, ground: Ground) -> bool:
    name = os.path.basename(word)
    at = located(word, ground) or ""
    is_home = at.startswith(ground.home.rstrip("/") + "/") and ground.in_project(at) is None
    return bool(_KEY_FILE.fullmatch(name)) or (is_home and name.endswith("_history"))


_EMPTIES = "this empties a database; make sure which one it is."
_PATTERNS = (
    ({"ngrok", "localtunnel", "bore"}, r"", "this opens a service of this machine to everybody."),
    ({"cloudflared"}, r"\btunnel\b", "this opens a service of this machine to everybody."),
    ({"ssh"}, r"(^| )-\w*[RLD]( |\d|$)", "this opens a tunnel to another machine."),
    ({"sshd", "telnetd"}, r"", "this lets others log in."),
    ({"nmap", "masscan"}, r"", "this scans other machines."),
    ({"tmux"}, r"^new(-session)?\b.*-d", "what it starts is ended with the run."),
    ({"screen"}, r"-dm", "what it starts is ended with the run."),
    ({"npm", "pnpm", "yarn"}, r"^config set (\S+:)?registry\b", "this takes packages from somewhere else from now on."),
    ({"gem"}, r"--source[= ]http://", "these packages come unencrypted."),
    ({"fallocate"}, r"-l ?\d+[TP]|-l ?\d{3,}G", "this may fill the disk."),
    ({"docker", "podman"}, r"--net(work)?[= ]host\b|--cap-add[= ]", "this gives a container more than it needs."),
    ({"kubectl"}, r"^(exec|run|drain|cordon)\b", "this works on a cluster, not on this project."),
    ({"strace", "gdb", "ltrace"}, r"(^| )-p ?\d", "this reads the memory of another process."),
    ({"mount"}, r"--bind|/dev/|-o ", "this changes what the machine has mounted."),
    ({"at", "batch"}, r"", "this runs when nobody watches."),
    ({"rails", "rake"}, r"\bdb:(drop|reset|purge)\b(?!.*RAILS_ENV=test)", _EMPTIES),
    ({"prisma"}, r"^migrate reset\b|--force-reset\b", _EMPTIES),
    ({"php", "artisan"}, r"\b(migrate:(fresh|reset)|db:wipe)\b", _EMPTIES),
    ({"mix"}, r"^ecto\.(drop|reset)\b", _EMPTIES),
    ({"sequelize", "sequelize-cli", "knex", "typeorm"}, r"\b(db:drop|schema:drop|migrate:rollback --all)\b", _EMPTIES),
    ({"python", "python3", "manage.py", "django-admin"}, r"(^|manage\.py )(flush|reset_db|sqlflush)\b", _EMPTIES),
    (
        {"psql", "mysql", "mariadb", "sqlplus", "sqlite3"},
        r"(?i)\b(delete\s+from\s+[\w.\"]+\s*;?\s*$|truncate\s+(table\s+)?\w|drop\s+table\s+(?!if\b))(?!.*test)",
        "this deletes everything in a table.",
    ),
)
