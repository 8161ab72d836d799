"""What a run that has ended leaves for a person to do, and the command to type for it."""

import shlex

from msgspec import Struct

_LOST_OUTCOME = "lost"  # its process is gone


class NextStep(Struct, frozen=True, kw_only=True):
    """One thing that waits for somebody."""

    about: str  # a run or a task
    reason: str
    command: str


class EndedRun(Struct, frozen=True, kw_only=True):
    """As much of it as decides that."""

    run: str
    kind: str
    outcome: str
    why: str = ""
    task: str = ""
    task_status: str = ""  # as the board has it now
    iterations: int = 0  # its limit
    suspect_proofs: tuple[str, ...] = ()  # files its checks rest on, changed, and nobody has looked at it
    by_words_only: bool = False
    question: str = ""  # of its agent, which nobody has answered
    branch: str = ""  # of a work tree of its own, with commits nobody has merged
    folder: str = ""  # of a supervised task, as it is typed


def find_next_step(ended: EndedRun) -> NextStep | None:
    """None where nothing is left to do."""
    if ended.question:
        name = ended.task or ended.run
        return _build_step(ended, f"asks: {ended.question}", f"ralph answer {shlex.quote(name)} 'YOUR ANSWER'")
    if ended.task_status in ("blocked", "todo", "in_progress", "cancelled"):
        return _find_task_step(ended)
    if ended.outcome != "completed":
        return _build_step(ended, ended.why, _build_retry_command(ended))
    if ended.suspect_proofs:
        files = ", ".join(ended.suspect_proofs)
        return _build_step(ended, f"completed, but it changed {files}", f"ralph diff {ended.run} --proofs")
    if ended.by_words_only:
        where = f"; its work is on branch {ended.branch}" if ended.branch else ""
        return _build_step(
            ended, f"completed by the agent's word only, nothing was checked{where}", f"ralph diff {ended.run}"
        )
    if ended.branch:
        return _build_step(ended, f"its work is on branch {ended.branch}", f"git merge {shlex.quote(ended.branch)}")
    return None


def _find_task_step(ended: EndedRun) -> NextStep | None:
    task = shlex.quote(ended.task)
    match ended.task_status:
        case "blocked":
            return _build_step(ended, f"blocked: {ended.why}", f"ralph task edit {task} --status todo")
        case "cancelled":
            return None  # a person wanted that
        case "in_progress":
            return _build_step(ended, ended.why, build_resume_command(ended))
        case _:
            return _build_step(ended, ended.why, f"ralph execute {task}")


def _build_retry_command(ended: EndedRun) -> str:
    match ended.kind, ended.outcome:
        case _, "unusable":
            return "ralph doctor"
        case "run", "exhausted":
            return f"ralph run --resume {ended.run} -m {2 * max(1, ended.iterations)}"
        case "run", "over_budget":
            return f"ralph run --resume {ended.run} --budget USD"
        case "run", "stuck" | "blocked":
            return f"ralph run --resume {ended.run}"
        case _, "interrupted" | "lost":
            return build_resume_command(ended)
        case _:
            return f"ralph show {ended.run}"


def build_resume_command(ended: EndedRun) -> str:
    """What starts the same work again where it was left."""
    match ended.kind:
        case "run":
            return f"ralph run --resume {ended.run}"
        case "story":
            return "ralph story run"
        case "supervise" if ended.folder:
            return f"ralph supervise {shlex.quote(ended.folder)}"
        case "execute":
            return f"ralph execute {shlex.quote(ended.task)} --resume" if ended.task else "ralph execute --resume"
        case _:
            return f"ralph show {ended.run}"


def _build_step(ended: EndedRun, reason: str, command: str) -> NextStep:
    words = reason if ended.outcome != _LOST_OUTCOME else f"cut off: {reason}"
    return NextStep(about=ended.task or ended.run, reason=words, command=command)
