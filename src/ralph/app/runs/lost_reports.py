"""An agent that had ended before its run was killed, and whose report is on no record: its raw log is believed where it
ends with the agent's own closing event."""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

import msgspec

from ralph.app import registry
from ralph.app.paths import Paths
from ralph.core.outcome import classify_run
from ralph.core.step import LOST_ANSWER_REASON
from ralph.core.text.raw_secrets import find_secret_spans, list_raw_secrets
from ralph.engine.agent_run import NOTE_NAME, QUESTION_NOTE_SUFFIX, CallNote
from ralph.model.command import CommandExit
from ralph.model.errors import RalphError
from ralph.model.events import NO_USAGE
from ralph.model.loop import (
    AnswersLost,
    Check,
    Decision,
    Fact,
    Interrupted,
    Observation,
    Reported,
    RunAgent,
    Save,
    TakeSnapshot,
    Verify,
    Wait,
)
from ralph.model.ports import AgentOptions
from ralph.model.runs import RunRecord
from ralph.model.store_ports import AttemptStore, RunStore
from ralph.process.output import mask_secrets

MAX_LOG_BYTES = 24 << 20  # no log is larger: head, tail and a mark between them
CLOSING_KINDS = ("success", "error")


def recover_report(runs: RunStore, attempts: AttemptStore, paths: Paths, record: RunRecord) -> bool:
    """Put it on record, as the run would have; whether there was one. The run must be dead: nobody else writes."""
    rows = runs.list_transitions(record.id)
    decision = _read_last_decision(rows)
    fact: Reported | AnswersLost | None
    if isinstance(decision, RunAgent):
        note_path, iteration = _locate_note(attempts, paths, record), decision.brief.iteration
        fact = read_lost_report(note_path, record.changed_at) if note_path else None
        following: Decision = TakeSnapshot(iteration)
        seconds = fact.seconds if fact else 0.0
    else:
        asks, iteration, seconds = isinstance(decision, Check | Save | Verify), record.iteration, 0.0
        fact = sum_lost_answers(paths.run_dir(record.id), record.changed_at) if asks else None
        following = Wait(0.0, LOST_ANSWER_REASON)
    if fact is None:
        return False
    cost = record.cost_usd if fact.cost_usd is None else (record.cost_usd or 0.0) + fact.cost_usd
    # Later than the notes of its questions, so that nobody counts them again.
    wall = record.changed_at + seconds if isinstance(fact, Reported) else time.time()
    seen = Observation(fact=fact, at=record.elapsed + seconds, wall=wall)
    return runs.append_missing(
        (
            *(record.id, len(rows) + 1, wall, seen.at),
            *(iteration, record.limit, cost, str(following.__struct_config__.tag)),
            *(msgspec.json.encode(seen), msgspec.json.encode(following)),
        )
    )


def mask_lost_logs(run_dir: str, variables: Mapping[str, str]) -> None:
    """Of a run that is dead: a living one hides secrets in each log when it closes it."""
    hide = partial(find_secret_spans, values=list_raw_secrets(variables))
    try:
        names = [name for name in os.listdir(run_dir) if name.endswith((".log", ".tail"))]
    except OSError:
        return
    for name in names:
        with suppress(OSError):
            fd = os.open(os.path.join(run_dir, name), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                mask_secrets(fd, hide)
            finally:
                os.close(fd)


def sum_lost_answers(run_dir: str, since: float) -> AnswersLost | None:
    """What questions beside the loop's own agents cost, that were asked since then and answered: those for a commit
    message, those to a judge."""
    try:
        names = sorted(name for name in os.listdir(run_dir) if name.endswith(QUESTION_NOTE_SUFFIX))
    except OSError:
        return None
    found = [read_lost_report(os.path.join(run_dir, name), since) for name in names]
    priced = [reported for reported in found if reported is not None and reported.cost_usd is not None]
    if not priced:
        return None
    return AnswersLost(
        cost_usd=sum(reported.cost_usd or 0.0 for reported in priced),
        usage=sum((reported.usage for reported in priced), NO_USAGE),
        agent=priced[-1].agent,
    )


def add_lost_answers(perform: Callable[[Decision], Fact | None], run_dir: str) -> Callable[[Decision], Fact | None]:
    """The same, so that a step which is cut short tells what its questions cost that were answered by then."""

    def perform_and_count(decision: Decision) -> Fact | None:
        began = time.time()
        fact = perform(decision)
        if not isinstance(fact, Interrupted) or isinstance(decision, RunAgent):
            return fact
        spent = sum_lost_answers(run_dir, began)
        return msgspec.structs.replace(fact, cost_usd=spent.cost_usd, usage=spent.usage) if spent else fact

    return perform_and_count


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
    if parsed.closing not in CLOSING_KINDS:
        return None
    exited = CommandExit(code=0 if parsed.closing == "success" else 1, seconds=max(0.0, ended_at - note.started_at))
    reported = classify_run(parsed, exited, "", ended_at)
    return msgspec.structs.replace(reported, unseen=True, agent=note.adapter)


def _read_last_decision(rows: list[tuple[bytes, bytes]]) -> Decision | None:
    try:
        return msgspec.json.decode(rows[-1][1], type=Decision) if rows else None
    except (msgspec.MsgspecError, ValueError):
        return None


def _locate_note(attempts: AttemptStore, paths: Paths, record: RunRecord) -> str:
    """In the run's own folder; a supervised task keeps each agent run in a folder of the task."""
    if record.kind != "supervise":
        return os.path.join(paths.run_dir(record.id), NOTE_NAME)
    found = attempts.list_for_run(record.id)
    return os.path.join(found[-1].folder, NOTE_NAME) if found else ""
