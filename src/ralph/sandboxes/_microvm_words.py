"""What Docker Sandboxes are told, by `docker sandbox` and by the newer `sbx`, word by word. Pure."""

import shlex
from collections.abc import Mapping, Sequence

from msgspec import Struct

from ralph.model.sandbox import NetworkPolicy

SETTLE_SECONDS = 2  # until what was written inside is there outside
MAX_PUSHED_FILES = 20  # more than that: it is quicker to start the sandbox anew
MAX_PROMPT_ARGUMENT_BYTES = 100_000  # the kernel takes 128 KB
EVERY_HOST = "**"
COMMIT_IDENTITY = ("ralph@localhost", "Ralph Loop")
# The login lives in a folder of the host, so that it outlives the sandbox.
LOGIN_SCRIPT = """set -e
state="$1" home="${RALPH_SANDBOX_HOME:-/home/agent}"
for name in .claude .claude.json; do
  rm -rf "${home:?}/$name"
  ln -s "$state/$name" "$home/$name"
  chown -h agent:agent "$home/$name" 2>/dev/null || true
done"""
IDENTITY_SCRIPT = 'git config --global user.email "$1" && git config --global user.name "$2"'
# All of its user, but for the first process of the sandbox and this one.
END_ALL_SCRIPT = "kill -KILL -1"
_PUT_SCRIPT = 'mkdir -p "$(dirname "$1")" && cat > "$1"'
# A sandbox does not see what the host writes to a file that it has already. Such files are written once more from
# inside; where they are many, or git's own, the sandbox starts anew, which costs seconds.
_HOST_SCRIPT = """\
put() {{ {client} exec --interactive --user root {name} sh -c {put} sh "$1" <"$1"; }}
renew() {{ {client} stop {name}; {restart}; }}
list() {{ find {folders} \\( -name node_modules {hidden} \\) -prune -o -type f ! -name '*.log' -newer {stamp} -print; }}
changed=$(list | head -n {many})
count=$(printf %s "$changed" | grep -c '')
case "$changed" in
*/.git/*) count={many} ;;
esac
if [ "$count" -ge {many} ]; then
  renew </dev/null >/dev/null 2>&1
elif [ "$count" -gt 0 ]; then
  printf '%s\\n' "$changed" | while IFS= read -r file; do put "$file"; done
fi
"$@"
code=$?
{settle}
: >{stamp}
exit $code"""
_REACH_SCRIPT = 'exec curl -fsS -o /dev/null -m 5 "$1"'
FORBIDDEN_URL = "https://example.com"


class Dialect(Struct, frozen=True, kw_only=True):
    """Where the two command lines differ."""

    words: tuple[str, ...]  # after which the rest comes
    separator: str  # of words in a name
    removal: tuple[str, ...]
    has_policy_scope: bool = False  # sbx: rules are added one by one, and deny wins
    runs_agents: bool = False  # docker sandbox: `run NAME -- ARGS` starts the agent; sbx: `exec` does, as documented


DOCKER_SANDBOX = Dialect(words=("docker", "sandbox"), separator="_", removal=("rm",), runs_agents=True)
SBX = Dialect(words=("sbx",), separator="-", removal=("rm", "--force"), has_policy_scope=True)
DIALECTS = (SBX, DOCKER_SANDBOX)


def list_creation_words(name: str, agent: str, folders: Sequence[str], image: str = "") -> tuple[str, ...]:
    template = ("--template", image) if image else ()
    return ("create", "--name", name, *template, agent, *folders)


def list_policy_words(dialect: Dialect, name: str, network: NetworkPolicy) -> tuple[str, ...]:
    """Nothing is reached but what is named; `full` says so in as many words."""
    if dialect.has_policy_scope:
        if network == "none":
            return ("policy", "deny", "network", "--sandbox", name, EVERY_HOST)
        hosts = EVERY_HOST if network == "full" else ",".join(network)
        return ("policy", "allow", "network", "--sandbox", name, hosts)
    if network == "full":
        return ("network", "proxy", name, "--policy", "allow")
    hosts_allowed = () if network == "none" else network
    return ("network", "proxy", name, "--policy", "deny", *(f"--allow-host={host}" for host in hosts_allowed))


def list_exec_words(
    name: str,
    argv: Sequence[str],
    *,
    cwd: str = "",
    variables: Mapping[str, str] | None = None,
    named: Sequence[str] = (),
) -> tuple[str, ...]:
    """`named`: variables whose values the client has itself, so that they are no argument."""
    given = (f"--env={key}={value}" for key, value in sorted((variables or {}).items()))
    workdir = (f"--workdir={cwd}",) if cwd else ()
    return ("exec", "--interactive", *workdir, *given, *(f"--env={key}" for key in named), name, *argv)


def list_end_words(name: str) -> tuple[str, ...]:
    return ("exec", name, "sh", "-c", END_ALL_SCRIPT)


def list_reach_words(name: str) -> tuple[str, ...]:
    """Succeeds where a host that nobody allowed is reached."""
    return ("exec", name, "sh", "-c", _REACH_SCRIPT, "sh", FORBIDDEN_URL)


def render_host_script(
    client: Sequence[str], name: str, *, folders: Sequence[str], hidden: Sequence[str], stamp: str, is_agent: bool
) -> str:
    """What runs on the host around one command; the command is its arguments. `hidden`: where ralph itself writes all
    the time, and nobody inside looks."""
    restart = shlex.join((*client, "run", name, "--", "--version")) if is_docker_sandbox(client) else ":"
    values = {
        "client": shlex.join(client),
        "name": shlex.quote(name),
        "folders": shlex.join(folders),
        "hidden": " ".join(f"-o -path {shlex.quote(path)}" for path in hidden),
        "stamp": shlex.quote(stamp),
        "restart": restart,
        "put": shlex.quote(_PUT_SCRIPT),
        "many": str(MAX_PUSHED_FILES + 1),
        "settle": f"sleep {SETTLE_SECONDS}" if is_agent else ":",
    }
    return _HOST_SCRIPT.format_map(values)


def is_docker_sandbox(client: Sequence[str]) -> bool:
    """Its `exec` does not start a sandbox that was stopped; `run` does."""
    return len(client) > 1


def render_transfers(client: Sequence[str], name: str, reads: Sequence[str], writes: Sequence[str]) -> str:
    """For a command that reads or writes files outside the work tree: they are carried in and out."""
    say, into = shlex.join(client), shlex.quote(name)
    put = f"{say} exec --interactive --user root {into} sh -c {shlex.quote(_PUT_SCRIPT)} sh"
    carried_in = [f"{put} {shlex.quote(path)} <{shlex.quote(path)}" for path in reads]
    carried_out = [f"{say} exec {into} cat {shlex.quote(path)} >{shlex.quote(path)}" for path in writes]
    return "\n".join((*carried_in, '"$@"', "code=$?", *carried_out, "exit $code"))
