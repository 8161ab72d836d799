"""What was on record right after a blow, and must still be there at the end, whatever was resumed in between."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from torture.crash_scenes import Scene

KEPT_ROWS = {
    "transition": "run, seq, iteration, cost_usd, seen, decision",
    "run": "id, kind, folder, started_at",
    "attempt": "id, run, number, started_at",
    "verification": "task, run, agent, iteration, verified, reason",
    "iteration": "task, run, stage, iteration, outcome",
    "spend": "task, run, stage, iteration, cost_usd",
    "applied": "key",
}
AGENT_RUNS = {"run": 2, "story": 2, "supervise": 2, "execute": 4}  # of one that nothing happens to, without questions


class Memory(Struct, frozen=True):
    """Rows by table, what files began with, the commit that was checked out."""

    rows: dict[str, frozenset[tuple[object, ...]]]
    files: dict[str, bytes]
    head: str


def remember(scene: "Scene") -> Memory:
    there = {name for (name,) in scene.query("SELECT name FROM sqlite_master")} if scene.database.exists() else set()
    rows = {
        table: frozenset(scene.query(f"SELECT {columns} FROM {table}"))
        for table, columns in KEPT_ROWS.items()
        if table in there
    }
    files = [*_list_agent_logs(scene), *scene.repo.glob("tasks/**/*BUS.md")]
    return Memory(
        rows=rows,
        files={str(path): path.read_bytes() for path in files},
        head=scene.shop.git("rev-parse", "HEAD").strip(),
    )


def check_legal_states(scene: "Scene") -> Iterator[str]:
    """Right after the blow: no task is nowhere, or in two places."""
    if not scene.database.exists() or not scene.query("SELECT 1 FROM sqlite_master WHERE name = 'task'"):
        return
    if scene.query("PRAGMA integrity_check") != [("ok",)]:
        yield "the database is damaged right after the blow"
    for task, status, stage, worker in scene.query("SELECT id, status, stage, worker FROM task"):
        if status not in ("todo", "in_progress", "done") or (status == "todo" and worker):
            yield f"{task} is {status} in {stage} by {worker!r} right after the blow"


def check_nothing_lost(scene: "Scene", memory: Memory) -> Iterator[str]:
    """What was acknowledged is there, to the letter."""
    for table, rows in memory.rows.items():
        now = frozenset(scene.query(f"SELECT {KEPT_ROWS[table]} FROM {table}"))
        if lost := rows - now:
            yield f"{len(lost)} rows of {table} are lost: {next(iter(lost))!r:.200}"
    now_there = {str(path): path.read_bytes() for path in _list_agent_logs(scene)}
    now_there |= {str(path): path.read_bytes() for path in scene.repo.glob("tasks/**/*BUS.md")}
    for name, began in memory.files.items():
        if not now_there.get(name, b"").startswith(began):
            yield f"{name} does not begin as it did"
    if scene.shop.git("merge-base", memory.head, "HEAD").strip() != memory.head:
        yield f"commit {memory.head} is not in the branch any more"


def check_agents_ended_once(scene: "Scene") -> Iterator[str]:
    """An agent run that had told its end is not had again, and no answer of it is counted twice."""
    logs = [path for path in _list_agent_logs(scene) if not path.with_suffix(".question.json").exists()]
    ended = [path.name for path in logs if b'"total_cost_usd"' in path.read_bytes() and "judge" not in path.name]
    if len(ended) > AGENT_RUNS[scene.loop]:
        yield f"agent runs that had ended were had again: {sorted(ended)}"


def check_commits(scene: "Scene") -> Iterator[str]:
    """Each is there once. What an agent commits that dies with ralph before its end may be missing, or done again; in
    `ralph run` the next agent finds its work and goes on to the end, and one commit has both. A commit that failed
    because the guardian died is told, and the next one has its files."""
    subjects = scene.shop.git("log", "--format=%s").splitlines()
    wanted = {
        "run": ["Add the file"] * 2,
        "story": ["feat: [US-1] - Title of US-1", "review: [US-1] - approved"],
        "supervise": [],
        "execute": ["Do"],
    }[scene.loop]
    told = _list_told_failures(scene)
    cut_off = len(told) + (_count_cut_off(scene) if scene.loop in ("run", "story") else 0)
    made = [subject for subject in subjects if subject not in ("Start", "Plan")]
    if not {*made} <= {*wanted} or abs(len(made) - len(wanted)) > cut_off:
        yield f"commits: {made}"
    if scene.loop == "run" and not told and not {"a.txt", "b.txt"} <= {*scene.shop.git("ls-files").split()}:
        yield "work is not committed, and nobody says so"


def _list_told_failures(scene: "Scene") -> list[object]:
    """Commits that came to nothing, and are on record as such."""
    facts = [json.loads(bytes(seen))["fact"] for (seen,) in scene.query("SELECT seen FROM transition")]
    return [fact for fact in facts if fact["type"] == "saved" and fact.get("problems")]


def _count_cut_off(scene: "Scene") -> int:
    """Agents that were called and told no end."""
    called = int((scene.shop.home / "count").read_text())
    return called - sum(b'"total_cost_usd"' in path.read_bytes() for path in _list_agent_logs(scene))


def _list_agent_logs(scene: "Scene") -> list[Path]:
    runs = scene.repo / ".git/ralph/runs"
    return [*runs.rglob("agent_*.log"), *runs.rglob("judge_*.log"), *scene.folder.rglob("agent-stdout.txt")]
