"""Use case: tell what a run would do, and do nothing."""

import os
import shlex
from collections.abc import Mapping

from ralph.app import wiring
from ralph.app.agent_command import resolve_agent
from ralph.app.guardrails import check_guardrails
from ralph.app.paths import Paths
from ralph.app.run.dirty_tree import refuse_uncommitted_changes
from ralph.app.run.loop import RunRequest, list_added_lines, list_permitted_checks, read_prompt
from ralph.app.run.worktree import describe_base, locate_work
from ralph.config.schema import Settings
from ralph.core.prompt import compose_prompt
from ralph.core.text.quantities import format_duration, pluralize
from ralph.core.text.secrets import redact, redact_argv
from ralph.model.command import Invocation
from ralph.model.loop import Brief
from ralph.model.runs import RunRecord


def describe_dry_run(
    request: RunRequest, paths: Paths, variables: Mapping[str, str], earlier: RunRecord | None = None
) -> str:
    """Agent, prompt, guardrails, SCM tasks and limits, as they would be used, for an earlier run to go on with too."""
    settings, tree = request.settings, request.worktree
    wiring.refuse_missing_scm(settings, paths.folder, variables)
    if earlier is None and request.worktree is None:
        refuse_uncommitted_changes(settings, paths, variables)
    titles = check_guardrails(settings.guardrails)
    done = earlier.iteration if earlier else 0
    prompt, invocation = _build_invocation(request, paths, variables, done)
    lines = [
        *([f"Resumes:     {earlier.id}, after {pluralize(done, 'iteration')}"] if earlier else ()),
        f"Folder:      {locate_work(tree, paths) if tree and not earlier else paths.folder}",
        *([f"Work tree:   new, on branch {tree.branch} from {describe_base(tree)}"] if tree and not earlier else ()),
        f"Agent:       {shlex.join(redact_argv(invocation.argv))}",
        f"Prompt:      {len(prompt)} characters{' on stdin' if invocation.stdin else ''}",
        *(f"  | {line}" for line in prompt.splitlines()),
        *(f"Added:       {line}" for line in list_added_lines(request)),
        f"Done when:   {_describe_signals(settings)} and every guardrail passes",
    ]
    when = "before the first agent and after each" if request.baseline else "after each agent"
    lines += [
        f"Guardrail:   {redact(title)}  ({when}; on failure {guardrail.fail_action})"
        for title, guardrail in zip(titles, settings.guardrails, strict=True)
    ]
    if not settings.guardrails:
        lines.append("Guardrails:  none: the agent's word alone will end the run")
    if settings.scm and settings.scm.tasks:
        lines.append(f"SCM:         {redact(settings.scm.command)} {', '.join(settings.scm.tasks)}")
    return "\n".join([*lines, f"Limits:      {_describe_limits(settings)}", "Nothing was run."])


def summarize_dry_run(request: RunRequest, paths: Paths, variables: Mapping[str, str]) -> list[tuple[str, str]]:
    """The same in short, as names and values."""
    settings = request.settings
    _, invocation = _build_invocation(request, paths, variables, done=0)
    own = next(line for line in read_prompt(request).splitlines() if line.strip())
    checks = ", ".join(redact(title) for title in check_guardrails(settings.guardrails))
    proof = f" and {checks} {'pass' if len(settings.guardrails) > 1 else 'passes'}" if checks else "; nothing checks it"
    return [
        ("Command", shlex.join((os.path.basename(invocation.argv[0]), *redact_argv(invocation.argv)[1:]))),
        ("Prompt", f"{request.prompt_file}: {own.strip()}" if request.prompt_file else own.strip()),
        ("Done when", f"{_describe_signals(settings)}{proof}"),
        ("Limits", _describe_limits(settings)),
    ]


def _build_invocation(
    request: RunRequest, paths: Paths, variables: Mapping[str, str], done: int
) -> tuple[str, Invocation]:
    """The prompt of the next iteration, and how the agent would be called with it."""
    settings = request.settings
    checks = list_permitted_checks(settings, paths.folder)
    command = resolve_agent(settings.agent, paths.folder, variables, checks=checks, commits_in=paths.folder)
    brief = Brief(iteration=done + 1, limit=settings.maximum_iterations, budget_usd=settings.budget_usd)
    prompt = compose_prompt(read_prompt(request), brief, count_iterations=settings.include_iteration_count_in_prompt)
    mode = wiring.choose_output_mode(settings)
    return prompt, wiring.build_agent(command).invocation(prompt, mode, settings.budget_usd)


def _describe_limits(settings: Settings) -> str:
    limits = [pluralize(settings.maximum_iterations, "iteration")]
    limits += [format_duration(settings.max_time_seconds)] if settings.max_time_seconds else []
    limits += [f"${settings.budget_usd:.2f}"] if settings.budget_usd else []
    return ", ".join(limits)


def _describe_signals(settings: Settings) -> str:
    expected = settings.completion_response
    words = {
        "response": f"the agent answers <response>{expected}</response>",
        "promise": f"the agent promises <promise>{expected}</promise>",
    }
    return " or ".join(words.get(signal, f"the file {signal[5:]} exists") for signal in settings.until)
