"""What each setting means, in a sentence, and the JSON Schema editors check `.ralph/settings.json` with."""

from typing import Any, get_args

from ralph.config.complaints import build_settings_schema
from ralph.config.schema import NON_BLANK_PATTERN, SHELL_KIND
from ralph.model.sandbox import SandboxChoice

SCHEMA_FILE = ".ralph/settings.schema.json"
SCHEMA_REFERENCE = "./settings.schema.json"  # as settings.json, beside it, says it

SETTING_DESCRIPTIONS = {
    "Settings": {
        "$schema": "Where an editor finds the schema of this file.",
        "maximumIterations": "Agent runs before ralph stops with exit code 1.",
        "completionResponse": "What the agent says, inside the tag, to claim completion.",
        "outputTruncateChars": "How much of a failed guardrail's output goes into the next prompt; 0: all of it.",
        "streamAgentOutput": "Show what the agent does while it does it.",
        "includeIterationCountInPrompt": 'Begin each prompt with "Iteration X of Y, Z remaining."',
        "agent": "The coding agent and how it is called, or only its command. Without it, whichever is found on PATH.",
        "guardrails": "Checks that must all pass before work counts as done, run in this order.",
        "scm": "What to do with work that passed all guardrails.",
        "until": "How completion may be claimed: response, promise, file:PATH. Any one of them is enough.",
        "tellCompletion": "Add a line to prompts that do not name the signal: how to claim completion.",
        "maxTimeSeconds": "Start no agent after this many seconds.",
        "budgetUsd": "Start no agent after this many dollars are spent.",
        "budgetUsdPerDay": "As budgetUsd, for all runs of this machine since midnight.",
        "budgetReserve": "Share of the budget of tasks or a story loop to keep for reviews: 0.1 is a tenth.",
        "prices": "What tokens cost, by model or agent, where the agent reports no cost; estimates are marked ≈.",
        "snapshots": "Snapshot the work tree before and after every agent, for 30 days; see `ralph restore`.",
        "keepDays": "Later runs remove logs and records of runs that ended this many days ago; 0: keep everything.",
        "proofs": "What happens when the checks pass only because tests or their configuration were changed: warn"
        " (the agent reverts or explains it, and the last line says so), strict (the run fails), off.",
        "protected": 'Files no agent may change, whatever it says: "tests/acceptance/**", "*.lock".',
        "sandbox": "Where agents and checks run: auto, any, docker, podman, bubblewrap, seatbelt, agent or none; or an"
        " object with kind, network, protected, mounts. Without it, agents with all permissions run as with auto.",
        "setup": 'A command that prepares a work tree before the first agent, inside the sandbox: "npm ci".',
        "agents": "Settings of one agent, by its name: flags, permissions, allow, model.",
        "chain": 'Agents that replace each other: ["claude", "codex"]; `agents` as a list means the same.',
        "onLimit": "At a limit of the account: switch (to the next agent), wait, or stop; unset: switch where there is"
        " another agent, else wait.",
        "escalate": "Who takes over a stuck run: another agent, another model, or both.",
        "retry": "How to wait out trouble that is not the agent's: limits, overload, lost network.",
        "stuck": "What to do about iterations without progress.",
        "display": "How a run looks on a terminal.",
        "notify": "Who to notify about a run, besides the screen.",
        "supervise": "Settings of `ralph supervise` only.",
        "specflow": "The same keys as `ralph:` in .specflow/config.yaml; these win.",
    },
    "AgentSettings": {
        "command": "The program, e.g. claude, codex, amp, or any other that takes a prompt.",
        "flags": "Its flags. An item with spaces is split as a shell would.",
        "permissions": "What it may do without asking: checks (edit files, run the checks of this run and what allow"
        " names, commit), edits (edit files only) or all; unset: checks, and all in a sandbox. Its own flags win.",
        "allow": 'Commands it may run besides the checks: "npm test", "uv run *".',
        "model": "The model, as the agent calls it.",
        "adapter": "Which agent's output format it has, when its name does not say.",
        "timeoutSeconds": "Stop one agent run after this long.",
        "idleTimeoutSeconds": "Stop one agent run after this long without output.",
        "environment": "Extra environment variables for it.",
        "passEnvironment": "Names of variables it keeps although they look like another agent's.",
        "guard": "Refuse plainly destructive commands before they run, where the agent has hooks (Claude Code) and no"
        " sandbox is used.",
        "fallbackModel": "The model to use when its own is overloaded, where its CLI has such a flag (claude).",
    },
    "Guardrail": {
        "kind": "What kind of check it is: shell, or another that docs/extending.md and `ralph doctor` name.",
        "command": "A shell command; exit code 0 means passed.",
        "failAction": "Where its failure goes in the next prompt: after it, before it, or instead of it.",
        "hint": "Advice to the agent when it fails.",
        "timeoutSeconds": "Fails after this long.",
        "options": "Options of its kind; further keys of the guardrail mean the same.",
    },
    "OwnAgentSettings": {
        "flags": "Its flags, before those of `agent`.",
        "permissions": "As agent.permissions, for this agent.",
        "allow": "As agent.allow, for this agent.",
        "model": "Its model, unless agent.model names one.",
        "fallbackModel": "As agent.fallbackModel, for this agent.",
    },
    "TokenPrice": {
        "input": "US dollars for a million input tokens.",
        "output": "For a million output tokens.",
        "cacheRead": "For a million input tokens that came from a cache; unset: as input.",
        "cacheWrite": "For a million input tokens that were written to a cache; unset: as input.",
    },
    "Escalation": {
        "agent": "Its command; unset: the same agent.",
        "model": "Its model, as the agent calls it.",
    },
    "Scm": {
        "command": "The program, e.g. git.",
        "tasks": "Its subcommands in order; commit gets a message written by the agent.",
        "allowDirty": "Start despite uncommitted changes to tracked files; they go into the agent's commits.",
    },
    "Retry": {
        "attempts": "Attempts in a row before giving up.",
        "delaySeconds": "Delay before the second attempt; doubles each time.",
        "maximumDelaySeconds": "Maximum delay.",
        "emptyAnswers": "How often to retry after an empty answer.",
        "maxWaitSeconds": "Maximum time to wait for a usage limit of the account.",
    },
    "Stuck": {
        "tellAfter": "The next prompt says so, quotes what was tried and forbids it; 0: never.",
        "escalateAfter": "The agent or model that `escalate` names takes over, where it names one; 0: never.",
        "stopAfter": "The run ends as stuck, with exit code 1; 0: never.",
    },
    "Display": {
        "glyphs": "Which symbols to use.",
        "color": "Whether to use colours.",
        "timestamps": "Begin each line with the time; null: only where it helps.",
        "maxOutputLines": "Lines of tool output to show.",
        "maxOutputChars": "Characters of each line to show.",
        "maxCheckLines": "Lines of a failed check's output to show.",
        "keys": "Keys steer a run you watch: p pause, n note, q stop.",
        "plain": "Whole sentences, nothing redrawn, for screen readers; also RALPH_PLAIN=1.",
        "maxEditLines": "Lines of an edit to show; 0: only how many.",
    },
    "Notify": {
        "command": "A program and its arguments; gets each message as JSON on stdin.",
        "webhook": "An address that gets each message as JSON by POST.",
        "apprise": "Apprise URLs, such as tgram://…; needs the extra [notify].",
        "secretVariable": "The environment variable with the key that signs messages to the webhook.",
        "on": "Which events: ended, stuck, limited, budget, question.",
        "bell": "Ring the bell of the terminal when a run ends.",
    },
    "SandboxSettings": {
        "kind": "auto: the strongest that works, else no sandbox; any: the strongest that works; none: no sandbox.",
        "network": 'full, none, or the hosts that can be reached: ["api.anthropic.com", "localhost:5432"].',
        "protected": "Patterns of files that are read-only inside, besides settings and git hooks.",
        "mounts": "More folders to mount, read-only; with :rw at the end, writable.",
        "image": "The image for docker and podman.",
    },
    "Supervise": {
        "checks": "Commands that must pass before DONE counts, besides those of --check.",
    },
    "Specflow": {
        "enabled": "false: one pass per agent, no loop.",
        "default_max_iterations": "For agents that have no limit of their own.",
        "verify_promises": "Check what an agent promises.",
        "default_verification": "Method for agents without one; unset: by the task's acceptance criteria.",
        "promise_match": "strict: the tag alone on the last line; loose: anywhere, in any case.",
        "max_send_backs": "How often a reviewer, tester or qa may send a task back to the coder.",
        "circuit_breaker": "As stuck.stopAfter, for tasks; unset: that.",
        "adaptive": "Adapt limits to the iterations verified tasks took.",
        "task_budget_usd": "Start no agent of a task after this many dollars are spent on it.",
        "semantic": "judge: a model decides whether criteria are met; words: the agent's message decides.",
        "judge": "Who reads a diff and decides; unset: the agent's own vendor, its small model.",
        "coder": "The agent that writes the code.",
        "reviewer": "The agent that reads it.",
        "tester": "The agent that tests it.",
        "qa": "The agent that has the last word.",
    },
    "Stage": {
        "enabled": "false: one pass, no loop.",
        "max_iterations": "Runs before it counts as failed.",
        "completion_promise": "What it must promise.",
        "verify_promises": "Check what it promises; unset: as for all.",
        "agent": "Its command; without one, the agent of `ralph run`.",
        "model": "Its model, as the agent calls it.",
    },
    "Judge": {
        "agent": "Its command.",
        "model": "Its model, as the agent calls it; unset: its vendor's small one.",
    },
}
_STAGE_NAMES = ("Coder", "Reviewer", "Tester", "Qa")


def build_json_schema() -> dict[str, Any]:
    """The schema of a settings file, for editors: unknown keys are marked, every key is explained."""
    document = build_settings_schema()
    for name, definition in document["$defs"].items():
        definition["additionalProperties"] = False
        sentences = SETTING_DESCRIPTIONS["Stage" if name in _STAGE_NAMES else name]
        for key, node in definition["properties"].items():
            definition["properties"][key] = {"description": sentences[key], **node}
    _allow_shorthand(document["$defs"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Settings of ralph", **document}


def _allow_shorthand(definitions: dict[str, Any]) -> None:
    """What may be written short, and the keys that only a guardrail's kind knows."""
    settings, guardrail = definitions["Settings"]["properties"], definitions["Guardrail"]
    text = {"type": "string", "pattern": NON_BLANK_PATTERN}
    settings["agent"]["anyOf"] = [text, {"$ref": settings["agent"].pop("$ref")}]
    kinds = {"enum": list(get_args(SandboxChoice))}
    settings["sandbox"]["anyOf"] = [kinds, {"$ref": settings["sandbox"].pop("$ref")}]
    settings["agents"] = {
        "description": settings["agents"].pop("description"),
        "anyOf": [{"type": "array", "items": text}, settings["agents"]],
    }
    settings["guardrails"]["items"] = {"anyOf": [text, settings["guardrails"]["items"]]}
    del guardrail["additionalProperties"]
    guardrail["if"] = {"properties": {"kind": {"const": SHELL_KIND}}}
    guardrail["then"] = {"required": ["command"], "propertyNames": {"enum": sorted(guardrail["properties"])}}
