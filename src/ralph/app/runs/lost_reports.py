"""An agent that had ended before its run was killed, and whose report is on no record: its raw log is believed where it
ends with the agent's own closing event."""

import os

import msgspec

from ralph.app import registry
from ralph.app.paths import Paths
from ralph.core.outcome import classify_run
from ralph.engine.agent_run import NOTE_NAME, CallNote
from ralph.model.command import CommandExit
from ralph.model.errors import RalphError
from ralph.model.loop import Decision, Observation, Reported, RunAgent, TakeSnapshot
from ralph.model.ports import AgentOptions
from ralph.model.runs import RunRecord
from ralph.model.store_ports import Stores

MAX_LOG_BYTES = 24 << 20  # no log is larger: head, tail and a mark between them
CLOSED = ("success", "error")


def recover_report(stores: Stores, paths: Paths, record: RunRecord) -> bool:
    """Put it on record, as the run would have; whether there was one. The run must be dead: nobody else writes."""
    rows = stores.runs.list_transitions(record.id)
    brief = _find_open_call(rows)
    note_path = _locate_note(stores, paths, record)
    if brief is None or not note_path:
        return False
    reported = read_lost_report(note_path, record.changed_at)
    if reported is None:
        return False
    cost = record.cost_usd if reported.cost_usd is None else (record.cost_usd or 0.0) + reported.cost_usd
    wall = record.changed_at + reported.seconds
    seen = Observation(fact=reported, at=record.elapsed + reported.seconds, wall=wall)
    iteration = brief.brief.iteration
    return stores.runs.append_missing(
        (
            *(record.id, len(rows) + 1, wall, seen.at),
            *(iteration, record.limit, cost, "take_snapshot"),
            *(msgspec.json.encode(seen), msgspec.json.encode(TakeSnapshot(iteration))),
        )
    )


def read_lost_report(note_path: str, since: float) -> Reported | None:
    """What the log beside that note says, if it is of a call since then and was closed by the agent itself."""
    try:
        with open(note_path, "rb") as file:
            note = msgspec.json.decode(file.read(), type=CallNote)
        log = os.path.join(os.path.dirname(note_path), os.path.basename(note.stdout))
        with open(log, "rb") as file:
            output, ended_at = file.read(MAX_LOG_BYTES), os.fstat(file.fileno()).st_mtime
        options = AgentOptions(command=(note.adapter,))
        parser = registry.load_extension("agents", note.adapter).build(options).parser(note.mode)
    except (OSError, msgspec.MsgspecError, RalphError):
        return None
    if note.started_at < since or os.path.exists(f"{log}.tail"):  # of an earlier call, or in two parts
        return None
    parser.feed(output)
    parsed = parser.summarize_run()
    if parsed.closing not in CLOSED:
        return None
    exited = CommandExit(code=0 if parsed.closing == "success" else 1, seconds=max(0.0, ended_at - note.started_at))
    reported = classify_run(parsed, exited, "", ended_at)
    return msgspec.structs.replace(reported, unseen=True)


def _find_open_call(rows: list[tuple[bytes, bytes]]) -> RunAgent | None:
    try:
        decision = msgspec.json.decode(rows[-1][1], type=Decision) if rows else None
    except (msgspec.MsgspecError, ValueError):
        return None
    return decision if isinstance(decision, RunAgent) else None


def _locate_note(stores: Stores, paths: Paths, record: RunRecord) -> str:
    """In the run's own folder; a supervised task keeps each agent run in a folder of the task."""
    if record.kind != "supervise":
        return os.path.join(paths.run_dir(record.id), NOTE_NAME)
    attempts = stores.attempts.list_for_run(record.id)
    return os.path.join(attempts[-1].folder, NOTE_NAME) if attempts else ""
