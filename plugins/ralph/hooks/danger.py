"""Which commands are plainly destructive. In doubt one is not: the sandbox is the boundary, this prevents accidents."""

from __future__ import annotations

import os
import re

import shell
from places import in_reading, in_wiping, in_writing, located

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from places import Ground

ASK = "If this project really needs it, a person can add the line to {}/allowed-commands.txt."


# -- commands -------------------------------------------------------------------------------------
_SHELLS = frozenset("sh bash zsh dash ksh ash fish".split())
_FETCHERS = frozenset("curl wget fetch http https aria2c".split())
_DECODERS = frozenset("base64 base32 xxd openssl uudecode".split())
_KEY_USERS = frozenset(
    "ssh ssh-add ssh-keygen ssh-copy-id git ls stat test [ [[ file find echo printf mkdir cd pushd".split()
)
_FORK_BOMB = re.compile(r"([\w:]+)\s*\(\)\s*\{\s*\1\s*\|\s*\1\s*&\s*\}\s*;?\s*\1")
_WRAPPERS = {  # program → options that take a word of their own
    "sudo": ("-u", "-g", "-C", "-h", "-p", "-U", "-D", "-R", "-T"),
    "doas": ("-u", "-C"),
    "env": ("-u", "-C", "-S"),
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
}


def in_command(text: str, ground: Ground, allowances: str) -> str:
    """Why this command line is not to be run; empty when nothing speaks against it."""
    allowed = [words for line in allowances.splitlines() if (words := _allowance(line))]
    for reason, words in _found(text, ground, 0):
        if not any(_matches(words, pattern) for pattern in allowed):
            return f"{reason} ({' '.join(words)[:200]}) " + ASK.format(ground.folder)
    return ""


def _found(text: str, ground: Ground, depth: int) -> Iterator[tuple[str, list[str]]]:
    """What speaks against it, each with the words of the command it is about."""
    if _FORK_BOMB.search(text):
        yield "this is a fork bomb.", text.split()
    if depth > shell.DEPTH:
        return
    started = ground.cwd
    for pipeline in shell.pipelines(text):
        commands = [(command, _unwrapped(shell.simple(command.words))) for command in pipeline]
        yield from _found_between(commands, ground, depth)
        for command, words in commands:
            reasons = [*_about_files(command, words, ground), _about(words, ground)]
            yield from ((reason, shell.simple(command.words)) for reason in reasons if reason)
            for inner in _inner_texts(command, words):
                yield from _found(inner, ground, depth + 1)
            if _name(words) in ("cd", "pushd") and len(pipeline) == 1:
                ground.cwd = located(words[1] if len(words) > 1 else "~", ground) or ""
    ground.cwd = started


def _found_between(
    commands: Sequence[tuple[shell.Command, list[str]]], ground: Ground, depth: int
) -> Iterator[tuple[str, list[str]]]:
    """What only the pipe makes dangerous: text that becomes a program."""
    whole = " | ".join(" ".join(shell.simple(command.words)) for command, _ in commands).split(" ")
    sinks = [at for at, (_, words) in enumerate(commands) if _reads_program(words)]
    for command, words in commands[: sinks[-1]] if sinks else ():
        program = _name(words)
        if program in _FETCHERS:
            yield "this runs a program straight from the network.", whole
        if program in _DECODERS:
            yield "this runs a program nobody can read.", whole
        if program in ("echo", "printf"):
            yield from _found(" ".join(words[1:]).replace("\\n", "\n"), ground, depth + 1)
        if program == "cat" and command.fed:
            yield from _found(command.fed, ground, depth + 1)


def _reads_program(words: Sequence[str]) -> bool:
    """Whether it takes what it is to do from its standard input."""
    name, rest = _name(words), list(words[1:])
    if name in _SHELLS:
        return not rest or "-s" in rest or rest == ["-"] or all(re.fullmatch(r"-[euxilv]+", each) for each in rest)
    return bool(re.fullmatch(r"python[\d.]*|perl|ruby|node|php", name)) and (not rest or rest == ["-"])


def _inner_texts(command: shell.Command, words: Sequence[str]) -> Iterator[str]:
    """Command lines inside the command."""
    name = _name(words)
    if name in _SHELLS:
        for at, word in enumerate(words[1:-1], 1):
            if re.fullmatch(r"-[a-z]*c", word):
                yield words[at + 1]
                break
        if command.fed:
            yield command.fed
        for word in words[1:]:  # bash <(curl …) is `curl … | bash`
            if word.startswith("<("):
                yield f"{word[2:-1]} | sh"
    elif name in ("source", ".") and len(words) > 1 and words[1].startswith("<("):
        yield f"{words[1][2:-1]} | sh"
    elif words and words[0].startswith(("$(", "`")):  # what it prints is run
        yield f"{words[0].strip('$`')} | sh"
    elif name == "eval":
        yield " ".join(words[1:])
    elif name == "find":
        for at, word in enumerate(words):
            if word in ("-exec", "-execdir", "-ok", "-okdir"):
                inner = words[at + 1 :]
                ends = [n for n, each in enumerate(inner) if each in (";", "+")] or [len(inner)]
                yield _spelled(each for each in inner[: ends[0]] if "{}" not in each)


def _spelled(words: Iterable[str]) -> str:
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


def _unwrapped(words: list[str]) -> list[str]:
    """The command that `sudo -u x env A=1 timeout 5 …` comes down to."""
    while words and _name(words) in _WRAPPERS:
        name, rest = _name(words), words[1:]
        if name == "command" and rest[:1] in (["-v"], ["-V"]):
            return []
        while rest and rest[0].startswith("-") and rest[0] != "-":
            rest = rest[2:] if rest[0] in _WRAPPERS[name] else rest[1:]
        words = shell.simple(rest[1:] if name == "timeout" else rest)
    return words


def _name(words: Sequence[str]) -> str:
    return os.path.basename(words[0]) if words else ""


def _operands(words: Sequence[str]) -> list[str]:
    """The words that are no options."""
    rest = list(words[1:])
    if "--" in rest:
        at = rest.index("--")
        return [*(word for word in rest[:at] if not word.startswith("-")), *rest[at + 1 :]]
    return [word for word in rest if not word.startswith("-")]


def _has(words: Sequence[str], letters: str, *names: str) -> bool:
    """Whether one of these short or long options is given."""
    for word in words[1:]:
        if word == "--":
            return False
        if word.split("=")[0] in names:
            return True
        if re.fullmatch(r"-[A-Za-z0-9]+", word) and set(word[1:]) & set(letters):
            return True
    return False


def _about_files(command: shell.Command, words: Sequence[str], ground: Ground) -> Iterator[str]:
    """Where it writes, and what it reads."""
    for target in (*command.outputs, *_written(words)):
        if target.startswith(("/dev/tcp/", "/dev/udp/")):
            yield "this opens a connection to another machine."
        elif at := located(target, ground):
            yield in_writing(at, ground)
    if _name(words) not in _KEY_USERS:
        options = ("-i",) if _name(words) in ("scp", "sftp", "rsync") else ()
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
    name, operands = _name(words), _operands(words)
    if name in ("tee", "truncate", "touch", "rm", "unlink", "shred", "rmdir"):
        return operands
    if name in ("cp", "install", "ln", "rsync", "scp"):
        return [each for each in operands[-1:] if ":" not in each]
    if name == "mv":
        return operands
    if name in ("chmod", "chown", "chgrp") or (name in ("sed", "perl") and _has(words, "i", "--in-place")):
        return operands[1:]
    if name == "dd":
        return [word[3:] for word in words if word.startswith("of=")]
    return []


# -- commands by name -----------------------------------------------------------------------------
def _about(words: Sequence[str], ground: Ground) -> str:
    name = _name(words)
    if name in _NEVER or name.startswith(("mkfs", "grub-")):
        return f"{name} {_NEVER.get(name, 'changes disks or the way the machine starts.')}"
    judge = _JUDGES.get(name)
    return judge(words, ground) if judge else ""


def _rm(words: Sequence[str], ground: Ground) -> str:
    if not _has(words, "rR", "--recursive"):
        return ""
    return _first(in_wiping(at, ground) for word in _operands(words) if (at := located(word, ground)))


def _find(words: Sequence[str], ground: Ground) -> str:
    removing = re.search(r"-(exec|ok)(dir)? (sudo )?(\S*/)?(rm|shred|unlink) ", " ".join(words))
    if not removing and "-delete" not in words:
        return ""
    start = next((at for at, word in enumerate(words) if at and (word.startswith("-") or word in "(!")), len(words))
    picky = any(
        re.match(r"-(i?name|i?path|i?regex|empty|[acm](time|min)|newer|size|perm|user)", word) for word in words
    )
    for at in (located(word, ground) for word in words[1:start] or ["."]):
        if at and not ground.owns(at + "/"):
            return f"{at} lies outside the project."
        if at and not picky and (reason := in_wiping(at, ground)):
            return reason
    return ""


def _modes(words: Sequence[str], ground: Ground) -> str:
    operands = _operands(words)
    if _has(words, "R", "--recursive"):
        for word in operands[1:]:
            at = located(word, ground)
            if at and not ground.owns(at) and ground.in_project(at) is None:
                return f"{at} lies outside the project."
    return ""


def _move(words: Sequence[str], ground: Ground) -> str:
    operands = _operands(words)
    if operands[-1:] == ["/dev/null"]:
        return "this throws files away."
    return _first(
        in_wiping(at, ground) for word in operands[:-1] if (at := located(word, ground)) in ("/", ground.home)
    )


def _git(words: Sequence[str], ground: Ground) -> str:
    words, at = _git_words(words, ground)
    action, rest = (words[1] if len(words) > 1 else ""), words[1:]
    main = bool({"main", "master"} & set(rest))
    if action == "push":
        return _push(rest, main)
    if action in ("filter-branch", "filter-repo") or (action == "reflog" and "expire" in rest):
        return f"git {action} destroys history."
    if action == "branch" and _has(rest, "dD", "--delete") and main:
        return "this deletes the main branch."
    if action == "clean" and _has(rest, "xX") and not _has(rest, "n", "--dry-run") and not _operands(rest):
        return "this also deletes what git ignores: settings, environments, the loop's marker."
    if (action == "clean" or "--hard" in rest) and at and not ground.owns(at + "/"):
        return f"{at} lies outside the project."
    return ""


def _push(rest: Sequence[str], main: bool) -> str:
    forced = _has(rest, "f", "--force", "--mirror") or any(word.startswith("+") for word in _operands(rest))
    if forced or (main and _has(rest, "", "--force-with-lease")):
        return "this rewrites the history others have."
    if _has(rest, "d", "--delete") or any(word.startswith(":") for word in _operands(rest)[1:]):
        return "this deletes what others have."
    return ""


def _git_words(words: Sequence[str], ground: Ground) -> tuple[list[str], str | None]:
    """Without the options before the action, and where it acts."""
    rest, at = list(words[1:]), ground.cwd
    while rest and rest[0].startswith("-"):
        if rest[0] in ("-C", "--work-tree") and len(rest) > 1:
            at = located(rest[1], ground) or ""
        rest = rest[2:] if rest[0] in ("-C", "-c", "--work-tree", "--git-dir") else rest[1:]
    return ["git", *rest], at


def _netcat(words: Sequence[str], _: Ground) -> str:
    return "this opens a shell to another machine." if _has(words, "ec", "--exec", "--sh-exec") else ""


def _socat(words: Sequence[str], _: Ground) -> str:
    return "this opens a shell to another machine." if re.search(r"(?i)\b(exec|system):", " ".join(words)) else ""


def _kill(words: Sequence[str], _: Ground) -> str:
    rest = list(words[1:])
    if len(rest) > 1 and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in ("-s", "-n") else rest[1:]
    return "this ends every process, or the first one." if {"1", "-1", "0"} & set(rest) else ""


def _kill_by_name(words: Sequence[str], _: Ground) -> str:
    own = any(re.search(r"ralph|claude", word) for word in _operands(words))
    return "this would end the loop itself." if own else ""


def _docker(words: Sequence[str], _: Ground) -> str:
    text = " ".join(words)
    if "prune" in words:
        return "this deletes containers, images or volumes of other projects."
    if re.search(r"--privileged\b|--pid[= ]host\b|(-v|--volume)[= ]/:|source=/,|docker\.sock", text):
        return "this gives a container the whole machine."
    return ""


def _database(words: Sequence[str], _: Ground) -> str:
    text = " ".join(words).casefold()
    found = re.search(r"\bdrop\s+(database|schema)\b|dropdatabase|\bflush(all|db)\b", text)
    return "this destroys a whole database." if found and "test" not in text else ""


def _deletes(pattern: str, reason: str) -> Callable[[Sequence[str], Ground], str]:
    compiled = re.compile(pattern)
    return lambda words, _: reason if compiled.search(" ".join(words[1:])) and "--dry-run" not in words else ""


def _first(reasons: Iterable[str]) -> str:
    return next(filter(None, reasons), "")


_CLOUD = "this destroys infrastructure."
_PUBLISHES = "this publishes to everybody, for good."
_SERVICES = "this changes the machine's services."
_NEVER = {
    **dict.fromkeys("fdisk parted gdisk cfdisk sfdisk wipefs blkdiscard mkswap efibootmgr".split(), "destroys disks."),
    **dict.fromkeys("shutdown reboot poweroff halt".split(), "stops the machine."),
    **dict.fromkeys("useradd adduser userdel usermod groupdel passwd chpasswd visudo".split(), "changes accounts."),
    **dict.fromkeys("insmod rmmod modprobe nsenter iptables nft ufw swapoff setcap".split(), "changes the system."),
    "shred": "destroys files beyond recovery.",
}
_JUDGES: dict[str, Callable[[Sequence[str], Ground], str]] = {
    "rm": _rm,
    "find": _find,
    **dict.fromkeys(("chmod", "chown", "chgrp"), _modes),
    "mv": _move,
    "git": _git,
    **dict.fromkeys(("nc", "ncat", "netcat"), _netcat),
    "socat": _socat,
    "kill": _kill,
    **dict.fromkeys(("pkill", "killall"), _kill_by_name),
    **dict.fromkeys(("docker", "podman"), _docker),
    **dict.fromkeys("psql mysql mariadb mongo mongosh redis-cli sqlplus".split(), _database),
    "terraform": _deletes(r"(^| )(destroy\b|apply\b.*-auto-approve)", _CLOUD),
    "tofu": _deletes(r"(^| )(destroy\b|apply\b.*-auto-approve)", _CLOUD),
    "pulumi": _deletes(r"^(destroy|stack rm)\b", _CLOUD),
    "kubectl": _deletes(r"(^| )delete ", _CLOUD),
    "helm": _deletes(r"^(uninstall|delete)\b", _CLOUD),
    "aws": _deletes(r" (delete|terminate)-|^s3 (rb|rm .*--recursive)", _CLOUD),
    "gcloud": _deletes(r" delete( |$)", _CLOUD),
    "az": _deletes(r" delete( |$)", _CLOUD),
    "npm": _deletes(r"^(publish|unpublish)\b", _PUBLISHES),
    "pnpm": _deletes(r"^(publish|unpublish)\b", _PUBLISHES),
    "yarn": _deletes(r"^(npm )?publish\b", _PUBLISHES),
    "cargo": _deletes(r"^(publish|yank)\b", _PUBLISHES),
    "gem": _deletes(r"^(push|yank)\b", _PUBLISHES),
    "twine": _deletes(r"^upload\b", _PUBLISHES),
    "systemctl": _deletes(r"^(--\S+ )*(stop|disable|mask|poweroff|reboot|halt|isolate)\b", _SERVICES),
    "launchctl": _deletes(r"^(unload|bootout|remove|load|bootstrap)\b", _SERVICES),
    "crontab": _deletes(r"^(?!-l\b)", "this changes what the machine runs by itself."),
    "init": _deletes(r"^[06]$", "this stops the machine."),
    "sysctl": _deletes(r"-w\b|=", "this changes the kernel."),
    "hdparm": _deletes(r"--security-erase", "this destroys a disk."),
    "cryptsetup": _deletes(r"luksFormat|erase", "this destroys a disk."),
}


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
