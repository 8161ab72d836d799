"""Use case: tell what a run would do, and do nothing."""

import shlex
from collections.abc import Mapping

from ralph.app import wiring
from ralph.app.places import Places
from ralph.app.run import RunRequest, read_prompt
from ralph.config.schema import Settings
from ralph.core.prompt import composed
from ralph.core.quantities import duration
from ralph.model.loop import Brief


def plan(request: RunRequest, places: Places, variables: Mapping[str, str]) -> str:
    """Agent, prompt, guardrails, SCM tasks and limits, as they would be used."""
    settings = request.settings
    crew = wiring.recruited(settings.agent, places.folder, variables)
    brief = Brief(1, settings.maximum_iterations, budget_usd=settings.budget_usd)
    prompt = composed(read_prompt(request), brief, count_iterations=settings.include_iteration_count_in_prompt)
    invocation = wiring.built(crew).invocation(prompt, wiring.mode(settings), settings.budget_usd)
    lines = [
        f"Folder:      {places.folder}",
        f"Agent:       {shlex.join(invocation.argv)}",
        f"Prompt:      {len(prompt)} characters{' on stdin' if invocation.stdin else ''}",
        *(f"  | {line}" for line in prompt.splitlines()),
        f"Done when:   {_signals(settings)} and every guardrail passes",
    ]
    when = "before the first agent and after each" if request.baseline else "after each agent"
    lines += [f"Guardrail:   {g.command}  ({when}; on failure {g.fail_action})" for g in settings.guardrails]
    if not settings.guardrails:
        lines.append("Guardrails:  none: the agent's word alone will end the run")
    if settings.scm and settings.scm.tasks:
        lines.append(f"SCM:         {settings.scm.command} {', '.join(settings.scm.tasks)}")
    limits = [f"{settings.maximum_iterations} iterations"]
    limits += [duration(settings.max_time_seconds)] if settings.max_time_seconds else []
    limits += [f"${settings.budget_usd:.2f}"] if settings.budget_usd else []
    return "\n".join([*lines, f"Limits:      {', '.join(limits)}", "Nothing was run."])


def _signals(settings: Settings) -> str:
    said = settings.completion_response
    words = {
        "response": f"<response>{said}</response> is answered",
        "promise": f"<promise>{said}</promise> is promised",
    }
    return " or ".join(words.get(signal, f"the file {signal[5:]} is there") for signal in settings.until)
