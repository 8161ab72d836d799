"""What must agree with the database after the last resume: the files that are made of it; and where a run is complete,
its work, for which there is a stored pass."""

import json
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ralph.app.runs.living_runs import LivingRun
from ralph.app.runs.proofs.evidence import read_evidence
from ralph.app.runs.run_info import write_run_info
from ralph.core.check_evidence import digest_checks
from ralph.model.supervised import AttemptRecord

if TYPE_CHECKING:
    from torture.crash_scenes import Scene

Fact = dict[str, Any]
WORK = ("a.txt", "b.txt", "work.txt", "T.txt", "ralph/tasks.json", "tasks/app/job/half", "tasks/app/job/DONE")


def check_projections(scene: "Scene") -> list[str]:
    """Every file and every sum that is made of the journal says what the journal says."""
    return [
        *_check_receipts(scene),
        *_check_sums(scene),
        *_check_announcements(scene),
        *{
            "run": lambda _: [],
            "story": _check_story_list,
            "supervise": _check_run_infos,
            "execute": _check_board,
        }[scene.loop](scene),
    ]


def check_stored_passes(scene: "Scene") -> list[str]:
    """No run is complete without checks that passed after its last agent, on the files that are there."""
    complete = {run for (run,) in scene.query("SELECT id FROM run WHERE outcome = 'completed'")}
    facts = _read_facts(scene)
    faults = ["no run is complete"] if not complete else []
    for run in complete:
        since = _list_since_last_agent(facts[run])
        if not any(_is_pass(fact) for fact in since):
            faults.append(f"{run} is complete without a pass after its last agent")
        if any(fact["type"] == "reported" for fact in facts[run]):
            faults += [f"{run} passed with another {name}" for name in _list_other_files(scene, str(run))]
    return faults


def _is_pass(fact: Fact) -> bool:
    match fact["type"]:
        case "checked":
            return bool(fact["results"]) and all(result["passed"] for result in fact["results"])
        case "verified":
            return bool(fact.get("verified")) and bool(fact.get("evidence"))
        case _:
            return False


def _list_since_last_agent(facts: Sequence[Fact]) -> Sequence[Fact]:
    last = max((at for at, fact in enumerate(facts) if fact["type"] == "reported"), default=-1)
    return facts[last + 1 :]


def _read_facts(scene: "Scene") -> dict[object, list[Fact]]:
    found: dict[object, list[Fact]] = defaultdict(list)
    for run, seen in scene.query(
        "SELECT run, seen FROM transition JOIN run ON run.id = run ORDER BY started_at, run, seq"
    ):
        found[run].append(json.loads(bytes(seen))["fact"])
    return found


def _list_other_files(scene: "Scene", run: str) -> Iterator[str]:
    """Which are not as they were in the tree that the run's receipt names."""
    tree = _read_receipt(scene, run).get("tree", "")
    if not tree and scene.disk_failed:
        return  # what could not be kept is not named
    stores = scene.folder.glob("**/ralph/trees/repo-*/store")  # where home cannot be written to, in the project
    said = subprocess.run(
        ["git", "ls-tree", "-r", tree],
        cwd=scene.repo,
        env={**scene.shop.environment, "GIT_ALTERNATE_OBJECT_DIRECTORIES": ":".join(map(str, stores))},
        capture_output=True,
        text=True,
        check=False,
    )
    kept = {line.partition("\t")[2]: line.split()[2] for line in said.stdout.splitlines()}
    for name in WORK:
        path = scene.repo / name
        now = scene.shop.git("hash-object", str(path)).strip() if path.exists() else None
        if now != kept.get(name):
            yield name


def _read_receipt(scene: "Scene", run: object) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((scene.repo / f".git/ralph/runs/{run}/receipt.json").read_text())
    except (OSError, ValueError):
        return {}
    return found


def _check_receipts(scene: "Scene") -> Iterator[str]:
    for run, outcome, why, ended in scene.query("SELECT id, outcome, why, ended_at FROM run"):
        rows = scene.query(f"SELECT seen, decision FROM transition WHERE run = '{run}' ORDER BY seq")
        if not rows:
            continue  # killed before its first step
        if not (receipt := _read_receipt(scene, run)):
            scene.shop.ralph("show", str(run))  # whoever asks for a missing one has it made
            receipt = _read_receipt(scene, run)
        if not receipt:
            yield f"{run} ({outcome}) has no receipt"
            continue
        ((cost,),) = scene.query(f"SELECT max(cost_usd) FROM transition WHERE run = '{run}'")
        checks = read_evidence((bytes(a), bytes(b)) for a, b in rows).checks
        told = (receipt["outcome"], receipt["why"], receipt["ended_at"], receipt["cost_usd"], receipt["digest"])
        if told != (outcome, why, ended, cost, digest_checks(checks)):
            yield f"the receipt of {run} says {told}, the database {(outcome, why, ended, cost, digest_checks(checks))}"


def _check_sums(scene: "Scene") -> Iterator[str]:
    """What `status` reads without decoding."""
    for run, facts in _read_facts(scene).items():
        told = sum(fact.get("cost_usd") or 0.0 for fact in facts)
        costs = "SELECT coalesce(max(cost_usd), 0) FROM transition"
        ((cost,),) = scene.query(f"{costs} WHERE run = '{run}'")
        ((before,),) = scene.query(f"{costs} WHERE run = '{run}' AND seq = 1")  # a task's next run goes on counting
        if abs(told - (float(str(cost)) - float(str(before)))) > 1e-6:
            yield f"the facts of {run} cost ${told:.2f}, its rows say ${cost}"


def _check_announcements(scene: "Scene") -> Iterator[str]:
    for path in scene.shop.home.rglob("living/*.json"):
        if msgspec.json.decode(path.read_bytes(), type=LivingRun).is_alive:  # the rest is removed by who reads it next
            yield f"{path.name} says that a run is under way"


def _check_story_list(scene: "Scene") -> Iterator[str]:
    *_, last = (fact for facts in _read_facts(scene).values() for fact in facts if fact["type"] == "surveyed")
    if json.loads(last["text"]) != json.loads((scene.repo / "ralph/tasks.json").read_text()):
        yield "tasks.json is not the list that was judged"
    if list(scene.repo.glob("**/.ralph-active")):
        yield "the marker for hooks is left"


def _check_run_infos(scene: "Scene") -> Iterator[str]:
    columns = "id, run, number, previous, project, folder, pid, started_at, ended_at, exit_code, status, error"
    for row in scene.query(f"SELECT {columns} FROM attempt"):
        attempt = AttemptRecord(**dict(zip(columns.split(", "), row, strict=True)))
        ((task, agent, parent),) = scene.query(f"SELECT task, agent, parent FROM run WHERE id = '{attempt.run}'")
        path = Path(attempt.folder) / "run-info.yaml"
        there = path.read_text() if path.exists() else ""
        write_run_info(attempt, str(task), str(agent), str(parent or ""))
        if there != path.read_text():
            yield f"run-info.yaml of {attempt.id} is not its record: {there!r}"
        if attempt.status == "running":
            yield f"{attempt.id} runs on in the database"


def _check_board(scene: "Scene") -> Iterator[str]:
    """The rows of the task are those of its journal, each once."""
    facts = [fact for facts in _read_facts(scene).values() for fact in facts]
    if scene.query("SELECT passed FROM task") != [("coder reviewer tester qa",)]:
        yield f"the board has passed: {scene.query('SELECT passed FROM task')}"
    passed = scene.query("SELECT agent, iteration FROM verification WHERE verified AND promise_found ORDER BY id")
    roles, turns = [role for role, _ in passed], {turn for _, turn in passed}
    if roles != ["coder", "reviewer", "tester", "qa"] or not (turns == {1} or scene.disk_failed):
        yield f"stages passed as {passed}"
    unproven = "verified AND promise_found AND (by_words OR (judge = '' AND red_before IS NOT 1))"
    if weak := scene.query(f"SELECT agent, reason FROM verification WHERE {unproven}"):
        yield f"passed by words, or by a check that nobody saw red: {weak}"
    paid = [fact for fact in facts if fact.get("cost_usd") is not None]
    # An agent that could not be asked cost nothing: its row on the board, like its fact in the journal, has no cost.
    if scene.query("SELECT count(*) FROM spend WHERE cost_usd IS NOT NULL") != [(len(paid),)]:
        yield f"{len(paid)} costs in the journal, {scene.query('SELECT stage, iteration, run FROM spend')}"
