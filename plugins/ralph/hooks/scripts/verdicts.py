"""What speaks against single commands, by the name of their program."""

from __future__ import annotations

import os
import re

from places import braces, in_wiping, located
from shell import has, name_of, operands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from places import Ground


def about(words: Sequence[str], ground: Ground) -> str:
    """Why this simple command is not to be run; empty when nothing speaks against it."""
    name = name_of(words)
    if name in _NEVER or name.startswith("grub-"):
        return f"{name} {_NEVER.get(name, 'changes the way the machine starts.')}"
    if name.startswith(("mkfs", "mke2fs", "mkswap")):
        return _format(words, ground)
    judge = _JUDGES.get(name)
    return judge(words, ground) if judge else ""


def _format(words: Sequence[str], ground: Ground) -> str:
    """An image in the project is a file like others."""
    places = [located(word, ground) for word in operands(words)]
    own = any(at and ground.owns(at) and not at.startswith("/dev/") for at in places[-1:])
    return "" if own else f"{name_of(words)} destroys disks."


def _rm(words: Sequence[str], ground: Ground) -> str:
    if not has(words, "rR", "--recursive"):
        return ""
    named = (each for word in operands(words) for each in braces(word))
    return _first(in_wiping(at, ground) for word in named if (at := located(word, ground)))


def _rimraf(words: Sequence[str], ground: Ground) -> str:
    return _rm(["rm", "-r", *words[1:]], ground)


def _find(words: Sequence[str], ground: Ground) -> str:
    removing = re.search(r"-(exec|ok)(dir)? (.*[ ;/])?(rm|shred|unlink) ", " ".join(words))
    if not removing and "-delete" not in words:
        return ""
    start = next(
        (at for at, word in enumerate(words) if at and (word.startswith("-") or word in ("(", "!"))), len(words)
    )
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
    rest = operands(words)
    if has(words, "R", "--recursive"):
        for word in rest[1:]:
            at = located(word, ground)
            if at and not ground.owns(at) and ground.in_project(at) is None:
                return f"{at} lies outside the project."
    return ""


def _move(words: Sequence[str], ground: Ground) -> str:
    rest = operands(words)
    if rest[-1:] == ["/dev/null"]:
        return "this throws files away."
    for word in rest[:-1]:
        at = located(word, ground) or ""
        whole = os.path.dirname(at) if "*" in os.path.basename(at) else at
        if whole in ("/", ground.home):
            return in_wiping(whole, ground)
    return ""


def _git(words: Sequence[str], ground: Ground) -> str:
    words, at = _git_words(words, ground)
    action, rest = (words[1] if len(words) > 1 else ""), words[1:]
    main = bool({"main", "master"} & set(rest))
    if action == "push":
        return _push(rest, main)
    if action in ("filter-branch", "filter-repo") or (action == "reflog" and "expire" in rest):
        return f"git {action} destroys history."
    if action == "branch" and has(rest, "dD", "--delete") and main:
        return "this deletes the main branch."
    if action == "stash" and "clear" in rest:
        return "this throws away what was put aside, the user's too."
    if action == "gc" and has(rest, "", "--prune") and not has(rest, "", "--no-prune"):
        return "this makes what was deleted unrecoverable."
    if action == "update-ref" and has(rest, "d") and any(re.search(r"/(main|master)$", word) for word in rest):
        return "this deletes the main branch."
    if action == "config" and has(rest, "", "--global", "--system") and _sets_option(rest):
        return "this is the user's own configuration."
    if _discards(action, rest, ground) and at and ground.in_project(at) is not None:
        return "this throws work away: `git stash` keeps what is not committed, `git revert` undoes commits."
    if action == "rm" and has(rest, "r") and not has(rest, "", "--cached"):
        return _first(in_wiping(found, ground) for word in operands(rest) if (found := located(word, ground)))
    narrow = [word for word in operands(rest) if located(word, ground) != ground.root]
    if action == "clean" and has(rest, "xX") and not has(rest, "n", "--dry-run") and not narrow:
        return "this also deletes what git ignores: settings, environments, the loop's marker."
    if (action == "clean" or "--hard" in rest) and at and not ground.owns(at + "/"):
        return f"{at} lies outside the project."
    return ""


def _discards(action: str, rest: Sequence[str], ground: Ground) -> bool:
    """Whether all that is not committed goes: `git checkout .` does what `git reset --hard` does."""
    if action == "reset":
        return has(rest, "", "--hard", "--merge")
    if action in ("checkout", "switch") and has(rest, "f", "--force", "--discard-changes"):
        return not has(rest, "bBcC", "--orphan")
    if action == "stash":
        return False
    everything = any(word in (":/", "*") or located(word, ground) == ground.root for word in operands(rest))
    if action == "restore":
        return everything and (not has(rest, "S", "--staged") or has(rest, "W", "--worktree"))
    return action == "checkout" and everything


def _push(rest: Sequence[str], main: bool) -> str:
    forced = has(rest, "f", "--force", "--mirror") or any(word.startswith("+") for word in operands(rest))
    if forced or (main and has(rest, "", "--force-with-lease")):
        return "this rewrites the history others have."
    if has(rest, "d", "--delete", "--prune") or any(word.startswith(":") for word in operands(rest)[1:]):
        return "this deletes what others have."
    return ""


def _sets_option(rest: Sequence[str]) -> bool:
    asks = has(rest, "l", "--get", "--get-all", "--get-regexp", "--list")
    return not asks and (len(operands(rest)) > 1 or has(rest, "e", "--unset", "--unset-all", "--edit"))


def _git_words(words: Sequence[str], ground: Ground) -> tuple[list[str], str | None]:
    """Without the options before the action, and where it acts."""
    rest, at = list(words[1:]), ground.cwd
    while rest and rest[0].startswith("-"):
        if rest[0] in ("-C", "--work-tree") and len(rest) > 1:
            at = located(rest[1], ground) or ""
        rest = rest[2:] if rest[0] in ("-C", "-c", "--work-tree", "--git-dir") else rest[1:]
    return ["git", *rest], at


def _netcat(words: Sequence[str], _: Ground) -> str:
    return "this opens a shell to another machine." if has(words, "ec", "--exec", "--sh-exec") else ""


def _socat(words: Sequence[str], _: Ground) -> str:
    return "this opens a shell to another machine." if re.search(r"(?i)\b(exec|system):", " ".join(words)) else ""


def _kill(words: Sequence[str], _: Ground) -> str:
    rest = list(words[1:])
    if len(rest) > 1 and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in ("-s", "-n") else rest[1:]
    return "this ends every process, or the first one." if {"1", "-1", "0"} & set(rest) else ""


def _kill_by_name(words: Sequence[str], _: Ground) -> str:
    own = re.compile(r".*(ralph|claude).*|python[\d.]*|node|bash|sh")
    if any(own.fullmatch(word) for word in operands(words)):
        return "this would end the loop itself, and others: name the process by its pid."
    everything = has(words, "uU", "--euid", "--uid", "--user") and not [w for w in operands(words)[1:] if w]
    return "this would end everything of that user." if everything else ""


def _rsync(words: Sequence[str], ground: Ground) -> str:
    if not any(word.startswith("--delete") for word in words) or has(words, "n", "--dry-run"):
        return ""
    targets = [word for word in operands(words)[-1:] if ":" not in word]
    return _first(in_wiping(at, ground) for word in targets if (at := located(word, ground)))


def _docker(words: Sequence[str], _: Ground) -> str:
    text = " ".join(words)
    if "prune" in words or re.search(r"\b(rm|rmi|kill|stop)\b.*(\$\(|`)\s*(docker|podman)\b", text):
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
    **dict.fromkeys("fdisk parted gdisk sgdisk cfdisk sfdisk wipefs blkdiscard efibootmgr".split(), "destroys disks."),
    **dict.fromkeys("shutdown reboot poweroff halt killall5".split(), "stops the machine."),
    **dict.fromkeys("useradd adduser userdel usermod groupdel passwd chpasswd visudo".split(), "changes accounts."),
    **dict.fromkeys("insmod rmmod modprobe nsenter iptables nft ufw swapoff setcap".split(), "changes the system."),
    "shred": "destroys files beyond recovery.",
}
_JUDGES: dict[str, Callable[[Sequence[str], Ground], str]] = {
    "rm": _rm,
    **dict.fromkeys(("rimraf", "trash", "trash-put", "del-cli"), _rimraf),
    "find": _find,
    **dict.fromkeys(("chmod", "chown", "chgrp"), _modes),
    "mv": _move,
    "git": _git,
    **dict.fromkeys(("nc", "ncat", "netcat"), _netcat),
    "socat": _socat,
    "kill": _kill,
    **dict.fromkeys(("pkill", "killall"), _kill_by_name),
    "rsync": _rsync,
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
    "gh": _deletes(r"^(repo|release) delete\b|^api .*(-X ?|--method[= ])DELETE", _CLOUD),
    "doctl": _deletes(r" delete( |$)", _CLOUD),
    "vercel": _deletes(r"^(rm|remove|projects? (rm|remove))\b", _CLOUD),
    "heroku": _deletes(r"^(apps|addons|domains):destroy\b|^pg:reset\b", _CLOUD),
    **dict.fromkeys(("fly", "flyctl"), _deletes(r"^(\w+ )?destroy\b", _CLOUD)),
    "netlify": _deletes(r"^sites:delete\b", _CLOUD),
    "wrangler": _deletes(r"(^| )delete( |$)", _CLOUD),
    "firebase": _deletes(r"^\w+:delete\b", _CLOUD),
    "gsutil": _deletes(r"(^| )(rb|rm .*-[a-zA-Z]*[rR])", _CLOUD),
    "dropdb": _deletes(r"^(?!.*test)", "this destroys a whole database."),
    "diskutil": _deletes(r"(?i)^(erase|secureErase|partition)", "this destroys a disk."),
    "npm": _deletes(r"^(publish|unpublish)\b", _PUBLISHES),
    "pnpm": _deletes(r"^(publish|unpublish)\b", _PUBLISHES),
    "yarn": _deletes(r"^(npm )?publish\b", _PUBLISHES),
    "cargo": _deletes(r"^(publish|yank)\b", _PUBLISHES),
    "gem": _deletes(r"^(push|yank)\b", _PUBLISHES),
    "twine": _deletes(r"^upload\b", _PUBLISHES),
    "systemctl": _deletes(r"^(--\S+ )*(stop|disable|mask|poweroff|reboot|halt|isolate)\b", _SERVICES),
    "launchctl": _deletes(r"^(unload|bootout|remove|load|bootstrap)\b", _SERVICES),
    "crontab": _deletes(r"^(?!-l\b)", "this changes what the machine runs by itself."),
    **dict.fromkeys(("init", "telinit"), _deletes(r"^[06]$", "this stops the machine.")),
    "sysctl": _deletes(r"-w\b|=", "this changes the kernel."),
    "hdparm": _deletes(r"--security-erase", "this destroys a disk."),
    "cryptsetup": _deletes(r"luksFormat|erase", "this destroys a disk."),
}
