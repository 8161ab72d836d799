"""Kills ralph at every named point and at random moments, fails and fills its disk, tears its files and turns its
clock; resumes, and asserts what must hold. `python tests/torture/crashes.py [MOST [KIND…]]` writes to the page."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict, deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from zlib import crc32

import msgspec
from msgspec import Struct

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.processes import find_processes_started_with
from support.workshop import RALPH_ARGV
from torture.crash_memory import check_legal_states, check_nothing_lost, remember
from torture.crash_points import BY_NAME
from torture.crash_scenes import LOOPS, Scene, play_to_the_end
from torture.full_disk import CALLS, FREE_KB, can_mount, play_in_namespace, strike_with_full_disk

REACHES = 3  # of a point that is reached often: the first, one in the middle, the last
RANDOM_KILLS = 20  # a loop, and of each kind
ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "build/crashes.ndjson"
PAGE = ROOT / "docs/reliability.md"
DISK_KINDS = ("ENOSPC", "EIO", "full")
TORN = ("events.ndjson", "call.json", "place.json")  # agents' logs are what the money is measured by


class Blow(Struct, frozen=True, kw_only=True):
    """One thing that goes wrong."""

    loop: str
    kind: str  # kill, ENOSPC, EIO, full, random, torn, clock
    where: str = ""
    side: str = ""
    number: int = 1

    @property
    def name(self) -> str:
        return f"{self.loop}: {self.kind} {self.side} {self.where} #{self.number}"


def list_blows(census: dict[str, dict[str, int]]) -> list[Blow]:
    """All of them: every reached point on both sides, failing disks where something is written, and the rest."""
    found = []
    for loop, counts in census.items():
        for where, count in counts.items():
            ways = [("kill", "before"), ("kill", "after")]
            ways += [("ENOSPC", "before"), ("EIO", "before")] if BY_NAME[where].fails else []
            reached = sorted({1, (count + 1) // 2, count})[:REACHES]
            for number in reached:
                found += [Blow(loop=loop, kind=kind, where=where, side=side, number=number) for kind, side in ways]
            if BY_NAME[where].fails == "disk":  # each write of it, with one of both
                rest = sorted({*range(1, count + 1)} - {*reached})
                found += [
                    Blow(loop=loop, kind=("ENOSPC", "EIO")[n % 2], where=where, side="before", number=n) for n in rest
                ]
        if can_mount():
            found += [
                Blow(loop=loop, kind="full", where=str(call), side=side, number=free)
                for call in range(1, CALLS[loop] + 1)
                for side in ("before", "after")
                for free in FREE_KB
            ]
        for whom in ("ralph", "both", "guardian"):
            found += [Blow(loop=loop, kind="random", where=whom, number=n) for n in range(RANDOM_KILLS)]
        found += [Blow(loop=loop, kind="torn", where=name) for name in TORN]
        found += [Blow(loop=loop, kind="clock", where=way) for way in ("forward", "back")]
    return found


def take_census(scene: Scene) -> dict[str, int]:
    """How often each point is reached when nothing goes wrong."""
    path = scene.folder / "census"
    done = scene.play("census", CENSUS=str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, int] = json.loads(path.read_text())
    return found


def strike(scene: Scene, blow: Blow) -> str:
    """Once; what ralph said, where it could say anything."""
    match blow.kind:
        case "random":
            return _strike_at_random(scene, blow)
        case "full":
            return strike_with_full_disk(scene, blow.side, blow.where, blow.number)
        case "torn":
            scene.play("engine.journal:Journal.append", "before", "4", "kill")
            for path in (scene.repo / ".git/ralph").rglob(blow.where):
                path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
            return ""
        case "clock":
            turn = 90_000.0 if blow.where == "forward" else -90_000.0
            scene.play("engine.journal:Journal.append", "before", "4", "kill", TURN_CLOCK=str(turn))
            return ""
        case _:
            done = scene.play(blow.where, blow.side, str(blow.number), blow.kind)
            return done.stdout + done.stderr


def _strike_at_random(scene: Scene, blow: Blow) -> str:
    with subprocess.Popen(
        [*RALPH_ARGV, *scene.words],
        cwd=scene.repo,
        env=scene.shop.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as ralph:
        time.sleep(random.uniform(0.05, 1.6))
        guardians = [] if blow.where == "ralph" else _find_guardians(ralph.pid)
        for pid in ([] if blow.where == "guardian" else [ralph.pid]) + guardians:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        ralph.wait(timeout=120)
    return ""


def _find_guardians(parent: int) -> list[int]:
    try:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    except OSError:
        return []
    return [int(pid) for pid in children]


def play_one(template: Scene, blow: Blow, folder: Path) -> list[str]:
    """Its faults; where the disk is to be full, on one of its own."""
    if blow.kind == "full":
        return play_in_namespace(template, msgspec.json.encode(blow), folder)
    return find_faults(template, blow, folder)


def find_faults_of(template: Scene, blow: str, folder: Path) -> list[str]:
    """In the namespace where the folder is a small disk."""
    return find_faults(template, msgspec.json.decode(blow, type=Blow), folder)


def find_faults(template: Scene, blow: Blow, folder: Path) -> list[str]:
    scene = template.copy_to(folder)
    scene.disk_failed = blow.kind in DISK_KINDS
    try:
        said = strike(scene, blow)
        faults = (
            ["it calls itself broken: " + said[-300:]] if "internal error" in said or "a bug in ralph" in said else []
        )
        memory = remember(scene)
        faults += check_legal_states(scene)
        done = play_to_the_end(scene)
        if done.returncode != 0 and not scene.is_complete:
            return [*faults, f"does not come to its end: {done.returncode} {(done.stdout + done.stderr)[-300:]}"]
        return [*faults, *check_nothing_lost(scene, memory), *scene.find_faults()]
    except Exception:  # noqa: BLE001  # a harness that breaks is a fault, too
        return [traceback.format_exc()[-400:]]
    finally:
        for pid in find_processes_started_with(f"HOME={scene.shop.home}"):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


def play_all(blows: list[Blow], templates: dict[str, Scene], folder: Path, workers: int = 2) -> dict[Blow, list[str]]:
    """Each that is not in `RESULTS` yet, so that a run that was cut off goes on; a fault is played again."""
    found = read_results()
    RESULTS.parent.mkdir(exist_ok=True)

    def play(numbered: tuple[int, Blow]) -> None:
        number, blow = numbered
        faults = play_one(templates[blow.loop], blow, folder / f"blow-{number}")
        print("✗" if faults else "✓", blow.name, *faults, flush=True)
        found[blow] = faults
        with RESULTS.open("ab") as file:
            file.write(msgspec.json.encode((blow, faults)) + b"\n")

    with ThreadPoolExecutor(workers) as pool:
        deque(pool.map(play, ((n, blow) for n, blow in enumerate(blows) if found.get(blow) != [])), maxlen=0)
    return found


def read_results() -> dict[Blow, list[str]]:
    if not RESULTS.exists():
        return {}
    return dict(msgspec.json.decode(line, type=tuple[Blow, list[str]]) for line in RESULTS.read_bytes().splitlines())


def render_figures(found: dict[Blow, list[str]]) -> str:
    kinds = ("kill", "random", "ENOSPC", "EIO", "full", "torn", "clock")
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for blow, faults in found.items():
        sums[blow.loop][blow.kind] += 1
        sums[blow.loop]["faults"] += bool(faults)
    lines = [
        "| loop | at a named point | at a random moment | ENOSPC | EIO | full disk | torn files | clock | faults |",
        "|---" * 9 + "|",
    ]
    lines += [
        f"| {loop} | " + " | ".join(str(sums[loop][kind]) for kind in (*kinds, "faults")) + " |" for loop in LOOPS
    ]
    points = len({(blow.where, blow.side) for blow in found if blow.kind == "kill"})
    kills = sum(blow.kind in ("kill", "random", "torn", "clock") for blow in found)
    return "\n".join([*lines, "", f"{points} named points, {kills} kills, {len(found)} trials in all."])


def write_page(figures: str) -> None:
    """Its table and the sentence below it."""
    page = PAGE.read_text()
    table = re.compile(r"^\| loop \|.*? trials in all\.", re.MULTILINE | re.DOTALL)
    PAGE.write_text(table.sub(lambda _: figures, page, count=1))


def main() -> int:
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    workers = int(os.environ.get("CRASH_WORKERS", "2"))
    folder = Path(tempfile.mkdtemp(prefix="crashes-"))
    templates, census = {}, {}
    for loop in LOOPS:
        (folder / loop).mkdir()
        templates[loop] = Scene(loop, folder / loop)
        census[loop] = take_census(templates[loop].copy_to(folder / f"{loop}-census"))
    blows = [blow for blow in list_blows(census) if not sys.argv[2:] or blow.kind in sys.argv[2:]]
    faults = {blow for blow, found in read_results().items() if found}
    # faults of before first, then the kills; mixed, and the same each time: who plays more of them later goes on
    blows.sort(key=lambda blow: (blow not in faults, blow.kind in DISK_KINDS, crc32(blow.name.encode())))
    found = play_all(blows[:most], templates, folder, workers)
    print(figures := render_figures(found))
    write_page(figures)
    shutil.rmtree(folder, ignore_errors=True)
    return int(any(found.values()))


if __name__ == "__main__":
    sys.exit(main())
