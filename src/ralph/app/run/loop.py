"""Use case: run the prompt loop, new or resumed."""

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.app import wiring
from ralph.app.agent_command import AgentCommand, resolve_agent
from ralph.app.guardrails import check_guardrails, list_guardrail_commands
from ralph.app.paths import Paths, find_paths, list_commit_folders
from ralph.app.proof_gates import build_proof_gates
from ralph.app.relocation import COPIED_MARK, settle_moved_repository
from ralph.app.run.dirty_tree import refuse_uncommitted_changes
from ralph.app.run.resume import describe_differences, take_todays_agent
from ralph.app.run.scm_tasks import build_scm_runner
from ralph.app.run.worktree import (
    conclude_worktree,
    create_worktree,
    find_worktree_paths,
    is_in_worktree,
    move_signal,
    plan_worktree,
    reopen_worktree,
)
from ralph.app.runs.status import explain_lost_records, explain_missing_run, name_resume_command
from ralph.app.sandbox.choice import Isolation
from ralph.app.sandboxed_session import contain_session
from ralph.app.session import Callbacks, Session, open_session
from ralph.app.stores import open_stores
from ralph.app.suggested_checks import suggest_guardrails
from ralph.config.schema import Settings
from ralph.core.prompt import add_completion_line, find_completion_line
from ralph.core.prompt_title import take_prompt_title
from ralph.core.text.questions import QUESTION_LINE
from ralph.core.text.utf8 import BYTE_ORDER_MARK
from ralph.engine.emit import emit
from ralph.engine.journal import read_last_limits
from ralph.engine.loops.run import RunConfig, RunEffects
from ralph.model.errors import NoSuchRun, UsageError
from ralph.model.events import Event, Noted, Warned
from ralph.model.loop import Began, Interrupted, Outcome, Resumed, Stop, Verified
from ralph.model.runs import RunRecord
from ralph.model.store_ports import RunStore
from ralph.process.atomic_file import read_regular_file
from ralph.process.spawner import GuardianHandle
from ralph.workspaces.worktree import Worktree

KIND = "run"
MAX_RUNS_TO_RESUME = 50  # the latest, among which one is looked for
MAX_PROMPT_CHARS = 64 << 20  # characters; an agent may put anything in the place of its prompt


class RunRequest(Struct, frozen=True, kw_only=True):
    """All that is needed to start a run, and to go on with it in another life."""

    settings: Settings
    prompt: str | None = None
    prompt_file: str | None = None
    baseline: bool = False
    tells_completion: bool = False  # as settings said at its start; a run of 0.1 sent its prompt as it was
    worktree: Worktree | None = None  # of its own, beside the user's checkout
    isolation: Isolation = Isolation()
    title: str = ""  # the first line of the prompt as it was at the start


def plan_in_worktree(request: RunRequest, name: str, paths: Paths, variables: Mapping[str, str]) -> RunRequest:
    """The same in a work tree of its own, which is made when the run starts. The prompt stays the user's own file;
    files that claim completion are looked for where the agent works."""
    tree = plan_worktree(name, paths, variables)
    signals = tuple(move_signal(signal, tree, paths) for signal in request.settings.until)
    prompt_file = request.prompt_file and os.path.join(paths.folder, request.prompt_file)
    settings = replace(request.settings, until=signals)
    return replace(request, settings=settings, prompt_file=prompt_file, worktree=tree)


def start_run(
    request: RunRequest,
    paths: Paths,
    *,
    variables: Mapping[str, str],
    guardian: GuardianHandle | None,
    callbacks: Callbacks,
    run: str = "",
) -> Stop:
    """A new run, under the id `run` where one is given."""
    settings, tree = request.settings, request.worktree
    command = _require_tools(settings, paths, variables)
    read_prompt(request)  # a missing file is told before anything starts
    events: list[Event] = []
    here = paths
    if tree is None:
        refuse_uncommitted_changes(settings, paths, variables)
    else:
        events = create_worktree(tree, paths, variables)
        here = find_worktree_paths(tree, paths)
        command = replace(command, git_folders=list_commit_folders(here.folder) if command.git_folders else ())
    with open_session(
        here,
        run=run,
        kind=KIND,
        agent_name=command.adapter,
        lock=here.lock,
        variables=variables,
        guardian=guardian,
        callbacks=callbacks,
        prompt_file=request.prompt_file or "",
    ) as session:
        rules = wiring.build_rules(settings, baseline=request.baseline)
        with _contain(session, request, command) as contained:
            contained.record(replace(request, title=take_prompt_title(_read_own_prompt(request))))
            events += map(Warned, wiring.list_unknown_costs(command, settings))
            events += [Warned(f"added to the prompt: {line}") for line in list_added_lines(request)]
            emit(contained.watchers, 0, *events)
            stop = contained.play(rules, _build_effects(contained, request, command), Began(settings.limits))
    _tell_result(tree, session.run, stop, paths=paths, variables=variables, callbacks=callbacks)
    return stop


def _tell_result(
    tree: Worktree | None, run: str, stop: Stop, *, paths: Paths, variables: Mapping[str, str], callbacks: Callbacks
) -> None:
    """After the run's own last word: what a work tree of its own holds now."""
    if tree is not None:
        is_completed = stop.outcome is Outcome.COMPLETED
        events = conclude_worktree(tree, run, is_completed=is_completed, paths=paths, variables=variables)
        emit(callbacks.watchers, 0, *events)


def resume_run(
    name: str,
    overrides: Callable[[Settings], Settings],
    *,
    today: Settings,
    paths: Paths,
    variables: Mapping[str, str],
    guardian: GuardianHandle | None,
    callbacks: Callbacks,
    worktree: str | None = None,
    isolation: Isolation | None = None,
) -> Stop:
    """Go on where the journal of a run ends: with today's agent, under the limits `overrides` gives. `worktree`: a run
    in the work tree of that name, in any of them where it is empty."""
    record, request = load_resumable_run(name, overrides, paths, worktree, variables=variables)
    began, tree = request.settings, request.worktree
    if tree is not None:
        reopen_worktree(tree, paths, variables)
    here = find_paths_of_run(record.folder, paths)
    request = replace(resume_with(request, today), isolation=isolation or Isolation())
    settings = request.settings
    command = _require_tools(settings, here if tree is None else paths, variables)
    command = replace(command, git_folders=list_commit_folders(here.folder) if command.git_folders else ())
    with open_session(
        here,
        run=record.id,
        kind=KIND,
        agent_name=command.adapter,
        lock=here.lock,
        variables=variables,
        guardian=guardian,
        callbacks=callbacks,
        prompt_file=request.prompt_file or "",
    ) as session:
        rules = wiring.build_rules(settings, baseline=request.baseline)
        with _contain(session, request, command) as contained:
            replayed = contained.take_over(wiring.build_rules(began, baseline=request.baseline))
            emit(contained.watchers, 0, *map(Noted, describe_differences(began, today)))
            emit(contained.watchers, 0, *map(Warned, wiring.list_unknown_costs(command, settings)))
            is_same = began.agent == settings.agent
            going_on = Resumed(settings.limits, waits_on=is_same, rechecks=True)
            fact = going_on if replayed.state else Began(settings.limits)
            stop = contained.play(rules, _build_effects(contained, request, command), fact, replayed=replayed)
    _tell_result(tree, record.id, stop, paths=paths, variables=variables, callbacks=callbacks)
    return stop


def find_paths_of_run(folder: str, paths: Paths) -> Paths:
    """Where a run works that began in that folder: it may be in another work tree than the user is now."""
    found = find_paths(folder) if os.path.isdir(folder) else replace(paths, folder=folder)
    return replace(found, started_in=paths.started_in)


def resume_with(request: RunRequest, today: Settings) -> RunRequest:
    """The run's own request, with today's agent and sandbox."""
    return replace(request, settings=replace(take_todays_agent(request.settings, today), sandbox=today.sandbox))


def load_resumable_run(
    name: str,
    overrides: Callable[[Settings], Settings],
    paths: Paths,
    worktree: str | None = None,
    *,
    variables: Mapping[str, str],
) -> tuple[RunRecord, RunRequest]:
    """A run that can go on, and what with: as it began, under the limits it had last, but for these changes."""
    with open_stores(paths) as stores:
        settle_moved_repository(stores, paths, variables)
        runs = stores.runs
        record = _choose_run_to_resume(runs, name, paths, worktree)
        request = msgspec.json.decode(runs.read_request(record.id), type=RunRequest)
        last = read_last_limits(runs.list_transitions(record.id))
    settings = request.settings if last is None else request.settings.with_limits(last)
    # It was typed in the run's folder, wherever the user is now.
    prompt_file = request.prompt_file and os.path.join(record.folder, request.prompt_file)
    return record, replace(request, settings=overrides(settings), prompt_file=prompt_file)


def _require_tools(settings: Settings, paths: Paths, variables: Mapping[str, str]) -> AgentCommand:
    """The agent's command. What is missing is told before anything is written."""
    checks = list_permitted_checks(settings, paths.folder)
    command = resolve_agent(settings.agent, paths.folder, variables, checks=checks, commits_in=paths.folder)
    wiring.refuse_unenforceable_budget(command, settings.budget_usd or settings.budget_usd_per_day)
    wiring.refuse_missing_scm(settings, paths.folder, variables)
    check_guardrails(settings.guardrails)
    return command


def list_permitted_checks(settings: Settings, folder: str) -> list[str]:
    """The guardrails; where there are none, the checks the repository itself suggests: an agent that may not run the
    tests cannot fix them."""
    commands = list_guardrail_commands(settings.guardrails)
    return commands or [suggestion.command for suggestion in suggest_guardrails(folder)]


def _contain(session: Session, request: RunRequest, command: AgentCommand) -> AbstractContextManager[Session]:
    settings = request.settings
    return contain_session(
        session,
        request.isolation,
        settings.sandbox,
        paths=session.paths,
        commands=(command,),
        protected=settings.protected,
        used=(os.path.abspath(request.prompt_file),) if request.prompt_file else (),
        setup=settings.setup,
    )


def _build_effects(session: Session, request: RunRequest, command: AgentCommand) -> RunEffects:
    """All that `ralph run` may touch."""
    settings, paths = request.settings, session.paths
    keep = session.keep_snapshots(settings.snapshots, paths)
    gates = build_proof_gates(
        session,
        settings.guardrails,
        keep=keep,
        folder=paths.folder,
        mode=settings.proofs,
        protected=settings.protected,
        ask_judge=_build_proof_judge(session, settings),
        output_limit=settings.output_truncate_chars,
    )
    config = RunConfig(
        folder=paths.folder,
        dot_ralph=paths.dot_ralph,
        run=session.run,
        run_dir=session.run_dir,
        signals=settings.until,
        count_iterations=settings.include_iteration_count_in_prompt,
        mode=wiring.choose_output_mode(settings),
    )
    return RunEffects(
        config,
        read_prompt=lambda: read_prompt(request),
        runner=session.prepare_agent(command, settings.agent, folder=paths.folder, keep=keep),
        gates=gates,
        inbox=session.inbox,
        watchers=session.watchers,
        scm=build_scm_runner(session, settings),
    )


def _build_proof_judge(session: Session, settings: Settings) -> Callable[[str], Verified | Interrupted]:
    def ask(question: str) -> Verified | Interrupted:
        from ralph.app.run.proof_judge import ProofJudge  # most runs ask none, and start without it

        judge = wiring.find_proof_judge(settings.agent, settings.specflow.judge)
        if judge is None:
            return Verified(verified=False, reason="there is no judge to ask")
        return ProofJudge(session, settings.agent, judge, folder=session.paths.folder).ask(question)

    return ask


def read_prompt(request: RunRequest) -> str:
    """The base prompt: the text or the file as it is now, and how to claim completion where that does not say it."""
    prompt = _read_own_prompt(request)
    return add_completion_line(prompt, _find_added_line(request, prompt))


def list_added_lines(request: RunRequest) -> list[str]:
    """What the agent reads besides the user's own prompt."""
    return [line] if (line := _find_added_line(request, _read_own_prompt(request))) else []


def _find_added_line(request: RunRequest, prompt: str) -> str:
    settings = request.settings
    if not request.tells_completion:
        return ""
    line = find_completion_line(prompt, settings.until, settings.completion_response)
    return f"{line} {QUESTION_LINE}" if line and "<question>" not in prompt else line


def _read_own_prompt(request: RunRequest) -> str:
    if request.prompt_file is None:
        return request.prompt or ""
    try:
        text = read_regular_file(request.prompt_file, MAX_PROMPT_CHARS, "surrogateescape").removeprefix(BYTE_ORDER_MARK)
    except OSError as error:
        raise UsageError(
            f"cannot read the prompt file {request.prompt_file!r}: {error.strerror}", "give a readable file with -f"
        ) from error
    if not text.strip():
        raise UsageError(f"the prompt file {request.prompt_file!r} is empty", "write the prompt for the agent into it")
    return text


def _is_below(folder: str, root: str) -> bool:
    """A run in another work tree of the repository goes on when it is named, or from there."""
    return f"{folder}/".startswith(f"{root}/")


def _suggest_instead(runs: RunStore) -> str:
    """Where the last run is one of another loop and was cut off, how that goes on."""
    last = next(iter(runs.list_latest(1)), None)
    if last is None or last.kind == KIND or last.outcome not in ("lost", "interrupted"):
        return "start one with `ralph run -p PROMPT`"
    return f"the last run was one of `ralph {last.kind}`: resume it with: {name_resume_command(last)}"


def _choose_run_to_resume(runs: RunStore, name: str, paths: Paths, worktree: str | None) -> RunRecord:
    def is_wanted(record: RunRecord) -> bool:
        return worktree is None or is_in_worktree(record.folder, worktree, paths)

    if name:
        record = runs.find_record(name)
        if record is None:
            raise explain_missing_run(runs.list_latest(MAX_RUNS_TO_RESUME), name)
        if not is_wanted(record):
            raise UsageError(f"run {record.id} works in {record.folder}", "leave out --worktree")
    else:
        latest = (r for r in runs.list_latest(MAX_RUNS_TO_RESUME) if r.kind == KIND and r.outcome != "completed")
        ours = (r for r in latest if worktree is not None or _is_below(r.folder, paths.root))
        record = next(filter(is_wanted, ours), None)
        if record is None:
            where = "" if worktree is None else f" in the work tree {worktree!r}" if worktree else " in a work tree"
            missing = NoSuchRun(f"there is no run to resume{where}", _suggest_instead(runs))
            raise explain_lost_records(paths) or missing
    if record.kind != KIND:
        hint = f"resume it with: {name_resume_command(record)}"
        raise NoSuchRun(f"{record.id} is not a run of `ralph run`", hint)
    if runs.has_wish(record.id, COPIED_MARK):
        whose = "the repository this one was copied from"
        raise NoSuchRun(f"run {record.id} belongs to {whose}", "resume it there, or start a new run here")
    if not os.path.isdir(record.folder) and worktree is None and not is_in_worktree(record.folder, "", paths):
        raise NoSuchRun(f"run {record.id} worked in {record.folder}, which does not exist", "restore that folder first")
    if record.outcome == "completed":
        raise NoSuchRun(f"run {record.id} is completed", "start a new one with `ralph run -p PROMPT`")
    return record
