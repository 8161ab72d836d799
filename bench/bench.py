"""Measures ralph beside bare Python and a bash loop, in one run, and prints a table of ratios with their targets.

`make bench`, or `bench.py [--ralph SCRIPT] [PART ...]` with the parts start, iterations, tasks, stream, growth,
trees.
This process stays small and leaves heavy work to others: Linux counts the memory of whoever starts a program
into that program's peak.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
VENV = HERE.parent / ".cache" / "bench-venv"
PROMPT = "Make the failing test pass, then say so.\n" * 20
GUARDRAIL = "/bin/true"
AGENT_FLAGS = ("-p", "--output-format", "stream-json", "--verbose")
LONGEST = 60  # seconds one command may take
KB, MB = 1e3, 1e6
NOT_COMPLETE = 1  # the exit code of a run whose agent never says it is done


class Ended(NamedTuple):
    """One command, from its start to its end."""

    seconds: float
    peak: float  # bytes, of the command and of whatever it waited for


class Target(NamedTuple):
    """What to reach: at most or at least so much."""

    sign: str  # "≤" or "≥"
    value: float

    def reached(self, figure: float) -> bool:
        return figure <= self.value if self.sign == "≤" else figure >= self.value


@dataclass(frozen=True, kw_only=True)
class Row:
    """A line of the table; the verdict is on the median."""

    what: str
    median: float
    best: float
    unit: str
    target: Target | None
    detail: str


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What every part needs."""

    ralph: str
    python: str  # the interpreter that runs ralph
    agent: str
    scratch: Path
    environment: dict[str, str]


Case = tuple[str, ...]
Times = dict[str, list[float]]


# -- running commands -------------------------------------------------------------------------------
def once(bench: Bench, argv: Case, cwd: Path, expected: int = 0) -> Ended:
    """Run a command to its end with its output shown to no one."""
    with started(bench, argv, cwd) as (pid, began):
        _, status, usage = os.wait4(pid, 0)
        seconds = time.perf_counter() - began
    if (code := os.waitstatus_to_exitcode(status)) != expected:
        said = (bench.scratch / "stderr").read_text(errors="replace")[-2_000:]
        raise SystemExit(f"bench: exit code {code}, expected {expected}: {' '.join(argv)}\n{said}")
    return Ended(seconds, usage.ru_maxrss * 1024.0)


@contextlib.contextmanager
def started(bench: Bench, argv: Case, cwd: Path, shown: str = os.devnull) -> Iterator[tuple[int, float]]:
    """The process id of a command and when it began; whoever leaves before its end ends it."""
    opened = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    files = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, shown, opened, 0o644),
        (os.POSIX_SPAWN_OPEN, 2, str(bench.scratch / "stderr"), opened, 0o644),
    ]
    os.chdir(cwd)
    signal.alarm(LONGEST)
    began = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, bench.environment, file_actions=files)
    try:
        yield pid, began
    except BaseException as problem:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        if isinstance(problem, TimeoutError):
            raise SystemExit(f"bench: not ended after {LONGEST} s: {' '.join(argv)}") from None
        raise
    finally:
        signal.alarm(0)


def too_long(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError


def rounds(cases: dict[str, Callable[[], float]], most: int, seconds: float) -> Times:
    """Time each case in turn, round after round, so that all see the same weather; three rounds at least."""
    times: Times = {name: [] for name in cases}
    until = time.monotonic() + seconds
    for done in range(most):
        if done >= 3 and time.monotonic() > until:
            break
        for name, measure in cases.items():
            times[name].append(measure())
    return times


# -- what is run ------------------------------------------------------------------------------------
def repository(bench: Bench, name: str, *flags: str, guardrails: Sequence[str] = (GUARDRAIL,)) -> Path:
    """A git repository with a prompt, and settings that name the fake agent, its flags and the guardrails."""
    folder = bench.scratch / name
    (folder / ".ralph").mkdir(parents=True)
    (folder / "PROMPT.md").write_text(PROMPT)
    settings = {
        "agent": {"command": bench.agent, "flags": list(flags)},
        "guardrails": [{"command": each, "failAction": "APPEND"} for each in guardrails],
        "stuck": {"tellAfter": 0, "escalateAfter": 0, "stopAfter": 0},  # its agent never gets any further
    }
    (folder / ".ralph" / "settings.json").write_text(json.dumps(settings))
    git = ("git", "-C", str(folder), "-c", "user.name=bench", "-c", "user.email=bench@localhost")
    for command in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "A prompt")):
        subprocess.run([*git, *command], check=True, timeout=LONGEST)
    return folder


def run(bench: Bench, iterations: int) -> Case:
    return (bench.ralph, "run", "-f", "PROMPT.md", "-m", str(iterations))


def bash_loop(bench: Bench, iterations: int) -> Case:
    """What people write by hand; `/bin/true`, as bash's own `true` is no process. `git status` stands for ralph's look
    at the work tree."""
    body = f"cat PROMPT.md | {bench.agent} {' '.join(AGENT_FLAGS)}; git status --porcelain; {GUARDRAIL}"
    return ("/bin/bash", "-c", f"for ((i = 0; i < {iterations}; i++)); do {body}; done")


def prove(bench: Bench) -> None:
    """See that what will be timed is done at all: every iteration runs the agent, and its words are shown."""
    counter = bench.scratch / "proof-calls"
    folder = repository(bench, "proof", "--count", str(counter))
    shown = bench.scratch / "shown"
    with started(bench, run(bench, 41), folder, str(shown)) as (pid, _):
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    calls = counter.stat().st_size if counter.exists() else 0
    words = shown.read_text(errors="replace")
    if code != NOT_COMPLETE or calls != 41 or "still working" not in words:
        said = words[-1_000:] + (bench.scratch / "stderr").read_text(errors="replace")[-1_000:]
        raise SystemExit(f"bench: 41 iterations gave exit code {code} and {calls} agent calls; it said:\n{said}")


# -- the parts --------------------------------------------------------------------------------------
def start(bench: Bench) -> Iterator[Row]:
    """Whole commands beside bare Python."""
    idle, busy = repository(bench, "idle"), repository(bench, "busy")
    once(bench, run(bench, 1), idle, NOT_COMPLETE)
    times = rounds(
        {
            "bare": lambda: once(bench, (bench.python, "-I", "-c", "pass"), idle).seconds,
            "version": lambda: once(bench, (bench.ralph, "--version"), idle).seconds,
            "status": lambda: once(bench, (bench.ralph, "status", "--json"), idle).seconds,
            "run": lambda: once(bench, run(bench, 1), busy, NOT_COMPLETE).seconds,
        },
        most=40,
        seconds=30,
    )
    yield ratio("`ralph --version`, × bare Python", times["version"], times["bare"], Target("≤", 1.5))
    yield ratio("`ralph status --json`, × bare Python", times["status"], times["bare"], Target("≤", 5))
    yield ratio("`ralph run -m 1`, one instant iteration, × bare Python", times["run"], times["bare"], Target("≤", 10))


def iterations(bench: Bench) -> Iterator[Row]:
    """What one more iteration costs, from runs of 1 and of 41."""
    few, many = 1, 41
    folder = repository(bench, "iterations")

    def further(command: Callable[[Bench, int], Case], code: int) -> float:
        short, long = (once(bench, command(bench, count), folder, code).seconds for count in (few, many))
        return (long - short) / (many - few)

    times = rounds(
        {"bash": lambda: further(bash_loop, 0), "ralph": lambda: further(run, NOT_COMPLETE)}, most=15, seconds=30
    )
    what = "each further iteration, one guardrail, one look at the tree, × bash loop"
    yield ratio(what, times["ralph"], times["bash"], Target("≤", 2))


def tasks(bench: Bench) -> Iterator[Row]:
    """What one more task costs: a work tree, four agents, four checks and a merge, beside the same by hand."""
    for jobs, few, many, target in ((1, 1, 5, 4), (4, 4, 12, 2.5)):
        further = partial(further_task, bench, jobs=jobs, few=few, many=many)
        times = rounds({"shell": partial(further, by_hand), "ralph": partial(further, by_ralph)}, most=7, seconds=60)
        what = f"each further task, -j {jobs}, four stages with a check each, × shell script"
        yield ratio(what, times["ralph"], times["shell"], Target("≤", target))


TaskWork = Callable[[Bench, Path, int, Sequence[str]], Case]


def further_task(bench: Bench, work: TaskWork, *, jobs: int, few: int, many: int) -> float:
    short, long = (task_seconds(bench, work, jobs, count) for count in (few, many))
    return (long - short) / (many - few)


def task_seconds(bench: Bench, work: TaskWork, jobs: int, count: int) -> float:
    """In a repository of its own, of 200 files."""
    folder = bench.scratch / "tasks"
    shutil.rmtree(folder, ignore_errors=True)
    for number in range(200):
        path = folder / f"folder{number % 10}" / f"file{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"line {number}\n" * 20)
    environment = {**bench.environment, "GIT_CONFIG_GLOBAL": str(bench.scratch / "gitconfig")}
    Path(environment["GIT_CONFIG_GLOBAL"]).write_text(
        "[user]\nname = bench\nemail = bench@localhost\n[init]\ndefaultBranch = main\n"
    )
    here = replace(bench, environment=environment)
    for command in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "Files")):
        once(here, ("/usr/bin/env", "git", *command), folder)
    return once(here, work(here, folder, jobs, [f"TASK-{number:03}" for number in range(count)]), folder).seconds


def by_hand(bench: Bench, folder: Path, jobs: int, names: Sequence[str]) -> Case:
    return (str(HERE / "tasks.sh"), str(HERE / "taskagent.sh"), str(jobs), *names)


def by_ralph(bench: Bench, folder: Path, jobs: int, names: Sequence[str]) -> Case:
    """Its checks are red before the work, so that they prove it and nobody has to judge."""
    roles = ("coder", "reviewer", "tester", "qa")
    listed = [
        {
            "id": name,
            "title": f"Do {name}",
            "completion": {
                "outcome": f"{name}.txt says done",
                "acceptance_criteria": [f"{name}.txt says done"],
                **{
                    role: {
                        "verification_method": "external",
                        "verification_config": {"command": f"grep -q done {name}.txt"},
                    }
                    for role in roles
                },
            },
        }
        for name in names
    ]
    file = bench.scratch / "tasks.json"
    file.write_text(json.dumps(listed))  # which is YAML, too
    once(bench, (bench.ralph, "task", "import", str(file), "--spec", "bench"), folder)
    return (bench.ralph, "execute", "-j", str(jobs), "--agent", str(HERE / "taskagent.sh"))


def stream(bench: Bench) -> Iterator[Row]:
    """A talkative agent: 200 MB in lines of all sizes, then one line of 50 MB."""
    data = generated(bench, "stream")
    folder = repository(bench, "stream", "--emit", str(data), guardrails=())
    size = data.stat().st_size
    decoder = (bench.python, str(HERE / "decode.py"), str(data))
    peaks: list[float] = []

    def by_ralph() -> float:
        ended = once(bench, run(bench, 1), folder, NOT_COMPLETE)
        peaks.append(ended.peak)
        return ended.seconds

    times = rounds({"decoder": lambda: once(bench, decoder, folder).seconds, "ralph": by_ralph}, most=7, seconds=40)
    data.unlink()
    decoded, ralph = ([size / MB / seconds for seconds in times[name]] for name in ("decoder", "ralph"))
    rate = f"{statistics.median(ralph):.0f} / {statistics.median(decoded):.0f} MB/s"
    middle, best = statistics.median(ralph), max(ralph)
    yield Row(
        what="200 MB stream, of msgspec decoding the same lines",
        median=middle / statistics.median(decoded),
        best=best / max(decoded),
        unit="×",
        target=Target("≥", 0.4),
        detail=rate,
    )
    yield Row(
        what="200 MB stream, parsed, logged, shown",
        median=middle,
        best=best,
        unit="MB/s",
        target=Target("≥", 150),
        detail=f"{len(ralph)} rounds",
    )
    yield memory("200 MB stream, peak memory", peaks)
    yield from long_line(bench)


def long_line(bench: Bench) -> Iterator[Row]:
    data = generated(bench, "line")
    folder = repository(bench, "line", "--emit", str(data), guardrails=())
    ended = [once(bench, run(bench, 1), folder, NOT_COMPLETE) for _ in range(3)]
    seconds = [each.seconds for each in ended]
    size = f"one line of {data.stat().st_size / MB:.0f} MB"
    data.unlink()
    yield Row(
        what=f"{size}, whole command",
        median=statistics.median(seconds),
        best=min(seconds),
        unit="s",
        target=None,
        detail=f"{len(seconds)} rounds",
    )
    yield memory(f"{size}, peak memory", [each.peak for each in ended])


def growth(bench: Bench) -> Iterator[Row]:
    """Resident memory of the harness around its 50th and its 500th iteration."""
    early, late, window = 50, 500, 10
    counter = bench.scratch / "growth-calls"
    counter.touch()
    folder = repository(bench, "growth", "--count", str(counter))
    seen: dict[int, list[float]] = {early: [], late: []}
    with started(bench, run(bench, late + window), folder) as (pid, began):
        while os.waitpid(pid, os.WNOHANG) == (0, 0):
            done = counter.stat().st_size
            for mark, samples in seen.items():
                if mark <= done < mark + window:
                    samples.append(resident(pid))
            time.sleep(0.002)
        seconds = time.perf_counter() - began
    if not all(seen.values()):
        raise SystemExit(f"bench: {late + window} iterations ended after {counter.stat().st_size} agent calls")
    before, after = (statistics.median(seen[mark]) for mark in (early, late))
    lowest = min(seen[late]) - min(seen[early])
    figures = f"{before / MB:.1f} → {after / MB:.1f} MB in {seconds:.1f} s"
    yield Row(
        what="memory, 500th iteration less 50th",
        median=(after - before) / MB,
        best=lowest / MB,
        unit="MB",
        target=Target("≤", 1),
        detail=figures,
    )


def trees(bench: Bench) -> Iterator[Row]:
    """A look at a work tree of which little changed, and which of its changes a check rests on."""
    for count, slowest_look, slowest_comparison in ((2_000, 0.1, 0.03), (50_000, 0.3, 0.3)):
        folder = bench.scratch / f"trees-{count}"
        words = [bench.python, str(HERE / "trees.py"), str(folder), str(count), "9"]
        said = subprocess.run(
            words, check=True, stdout=subprocess.PIPE, text=True, timeout=10 * LONGEST, env=bench.environment
        )
        times: Times = json.loads(said.stdout)
        beside = f"`git status` {statistics.median(times['git status']) * KB:.0f} ms"
        yield duration(f"snapshot, {count:,} files, three changed", times["snapshot"], slowest_look, beside)
        yield duration(f"proofs compared, {count:,} files", times["comparison"], slowest_comparison, "9 rounds")


def duration(what: str, times: list[float], most: float, detail: str) -> Row:
    return Row(
        what=what,
        median=statistics.median(times) * KB,
        best=min(times) * KB,
        unit="ms",
        target=Target("≤", most * KB),
        detail=detail,
    )


def generated(bench: Bench, kind: str) -> Path:
    """The generator's work, by a process of its own: its memory must not become ours."""
    out = bench.scratch / f"{kind}.ndjson"
    subprocess.run([sys.executable, HERE / "generate.py", kind, out], check=True, timeout=LONGEST)
    return out


def resident(pid: int) -> float:
    """Bytes of memory a process holds now."""
    return float(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# -- the table --------------------------------------------------------------------------------------
def ratio(what: str, times: list[float], base: list[float], target: Target) -> Row:
    """Median over median, minimum over minimum."""
    middle, low = statistics.median(times), statistics.median(base)
    detail = f"{middle * KB:.1f} / {low * KB:.1f} ms, {len(times)} rounds"
    return Row(what=what, median=middle / low, best=min(times) / min(base), unit="×", target=target, detail=detail)


def memory(what: str, peaks: list[float]) -> Row:
    return Row(
        what=what,
        median=statistics.median(peaks) / MB,
        best=min(peaks) / MB,
        unit="MB",
        target=Target("≤", 56),
        detail=f"at most {max(peaks) / MB:.1f}",
    )


def verdict(row: Row) -> str:
    if row.target is None:
        return "–"
    return "OK" if row.target.reached(row.median) else "over"


def cells(row: Row) -> tuple[str, ...]:
    """A row in words."""
    target = "–" if row.target is None else f"{row.target.sign} {row.target.value:g} {row.unit}"
    return row.what, figure(row.median, row.unit), figure(row.best, row.unit), target, verdict(row), row.detail


def figure(value: float, unit: str) -> str:
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.2f} {unit}"


def table(rows: Sequence[Row]) -> str:
    """Markdown that is also readable as it is."""
    head = ("what", "median", "best", "to reach", "", "figures")
    lines = [head, *map(cells, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    padded = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([padded[0], rule, *padded[1:]])


def circumstances(load_before: float) -> str:
    """How busy the machine was: with more to run than cores, the figures tell of the neighbours."""
    python = ".".join(map(str, sys.version_info[:3]))
    return f"Python {python}, {os.cpu_count()} cores, load {load_before:.1f} before and {os.getloadavg()[0]:.1f} after."


# -- setting up -------------------------------------------------------------------------------------
PARTS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "start": start,
    "iterations": iterations,
    "tasks": tasks,
    "stream": stream,
    "growth": growth,
    "trees": trees,
}


def fake_agent(folder: Path) -> str:
    """The compiled fake agent, or the shell's where no compiler is; named `claude`: ralph goes by the name."""
    folder.mkdir()
    agent = folder / "claude"
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        print("no C compiler: the fake agent is a shell script", file=sys.stderr)
        shutil.copy(HERE / "fakeagent.sh", agent)
    else:
        subprocess.run([compiler, "-O2", "-o", agent, HERE / "fakeagent.c"], check=True, timeout=LONGEST)
    return str(agent)


def installed() -> str:
    """Where the checkout was installed as users would; slow enough to be told about."""
    print(f"installing into {VENV}", file=sys.stderr)
    command = [sys.executable, str(HERE / "install.py"), str(VENV)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=300).stdout.strip()


def interpreter(script: str) -> str:
    """What a console script runs on: its shebang, or the `exec` after it where a path is too long for one."""
    first, second, *_ = Path(script).read_text().splitlines()
    program = first.removeprefix("#!").split()[0]
    return second.split()[1] if program == "/bin/sh" else program


def prepared(ralph: str, scratch: Path) -> Bench:
    agent = fake_agent(scratch / "bin")
    home = scratch / "home"
    home.mkdir()
    environment = {"PATH": f"{scratch / 'bin'}:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
    return Bench(ralph=ralph, python=interpreter(ralph), agent=agent, scratch=scratch, environment=environment)


def main() -> None:
    """Measure the parts asked for, all by default."""
    parser = argparse.ArgumentParser(description="ralph beside bare Python and a bash loop")
    parser.add_argument("--ralph", help="a console script to measure (default: this checkout, installed from a wheel)")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")
    given = parser.parse_args()
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"no part named {', '.join(sorted(unknown))}; known: {', '.join(PARTS)}")
    signal.signal(signal.SIGALRM, too_long)
    ralph = os.path.abspath(given.ralph) if given.ralph else installed()
    rows: list[Row] = []
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="ralph-bench-") as scratch:
        bench = prepared(ralph, Path(scratch))
        prove(bench)
        for name in given.parts or PARTS:
            print(f"measuring {name}", file=sys.stderr)
            rows.extend(PARTS[name](bench))
        os.chdir("/")
    print(f"{table(rows)}\n\n{circumstances(before)}")


if __name__ == "__main__":
    main()
