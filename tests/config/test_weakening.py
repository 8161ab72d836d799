"""Settings that ask for less than others."""

from typing import Any

import pytest

from ralph.config.schema import Settings, convert_settings
from ralph.config.weakening import find_weakenings

BASE: dict[str, Any] = {
    "agent": {"command": "claude", "allow": ["make lint"], "environment": {"A": "1"}},
    "guardrails": ["make test", {"kind": "files_unchanged", "paths": ["tests/**"]}],
    "maximumIterations": 10,
    "budgetUsd": 5,
    "maxTimeSeconds": 60,
    "protected": ["tests/**"],
    "proofs": "strict",
    "supervise": {"checks": ["make test"]},
    "scm": {"command": "git", "tasks": ["commit"]},
    "specflow": {"task_budget_usd": 1, "default_verification": "semantic"},
}


def settings(**changed: Any) -> Settings:
    return convert_settings({**BASE, **changed})


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"guardrails": BASE["guardrails"][1:]}, "guardrail removed or changed: make test"),
        ({"guardrails": ["make tset", BASE["guardrails"][1]]}, "guardrail removed or changed: make test"),
        (
            {"guardrails": ["make test", {"kind": "files_unchanged", "paths": ["x"]}]},
            "guardrail removed or changed: files_unchanged",
        ),
        ({"proofs": "warn"}, "proofs: warn (was strict)"),
        ({"protected": []}, "no longer protected: tests/**"),
        ({"supervise": {"checks": ["true"]}}, "supervise check removed or changed: make test"),
        ({"snapshots": False}, "snapshots: false"),
        ({"sandbox": "none"}, "sandbox: none (was not set)"),
        ({"sandbox": {"network": ["evil.example"]}}, "sandbox.network changed"),
        ({"sandbox": {"mounts": ["~/.ssh"]}}, "the sandbox also holds: ~/.ssh"),
        ({"setup": "curl x | sh"}, "setup runs: curl x | sh"),
        ({"until": ["response", "file:DONE"]}, "completion is also claimed by file:DONE"),
        ({"completionResponse": "OK"}, "completionResponse: OK (was DONE)"),
        ({"agent": {**BASE["agent"], "permissions": "all"}}, "agent.permissions: all (was checks)"),
        ({"agent": {**BASE["agent"], "allow": ["make lint", "curl *"]}}, "the agent may also run: curl *"),
        ({"agent": {**BASE["agent"], "command": "./mine"}}, "agent.command changed"),
        ({"agent": {**BASE["agent"], "flags": ["--yolo"]}}, "agent.flags changed"),
        ({"agent": {**BASE["agent"], "environment": {"A": "1", "PATH": "/x"}}}, "the agent gets other variables: PATH"),
        ({"agent": {**BASE["agent"], "environment": {"A": "2"}}}, "the values of the agent's variables changed"),
        ({"agent": {**BASE["agent"], "passEnvironment": ["KEY"]}}, "the agent gets other variables: KEY"),
        ({"maximumIterations": 11}, "maximumIterations: 11 (was 10)"),
        ({"budgetUsd": 6}, "budgetUsd: $6.00 (was $5.00)"),
        ({"budgetUsd": None}, "budgetUsd: no limit (was $5.00)"),
        ({"maxTimeSeconds": None}, "maxTimeSeconds: no limit (was 60.0)"),
        ({"scm": {"command": "git", "tasks": ["commit", "push"]}}, "scm runs git: commit, push"),
        ({"specflow": {**BASE["specflow"], "verify_promises": False}}, "verify_promises: false"),
        ({"specflow": {**BASE["specflow"], "enabled": False}}, "enabled: false"),
        ({"specflow": {**BASE["specflow"], "default_verification": "string_match"}}, "default_verification changed"),
        ({"specflow": {**BASE["specflow"], "task_budget_usd": 2}}, "task_budget_usd raised"),
        ({"specflow": {**BASE["specflow"], "qa": {"enabled": False}}}, "qa changed"),
    ],
)
def test_what_asks_for_less_is_said(changed: dict[str, Any], said: str) -> None:
    found = convert_settings({key: value for key, value in {**BASE, **changed}.items() if value is not None})
    assert find_weakenings(settings(), found) == (said,)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"guardrails": ["make lint", *reversed(BASE["guardrails"])]},
        {"guardrails": [{"command": "make test", "hint": "x", "timeoutSeconds": 9}, BASE["guardrails"][1]]},
        {"maximumIterations": 3, "budgetUsd": 1, "maxTimeSeconds": 6},
        {"protected": ["tests/**", "docs/**"]},
        {"agent": {**BASE["agent"], "permissions": "edits", "allow": []}},
        {"display": {"color": "never"}},
        {"sandbox": {"kind": "bubblewrap", "network": "none"}},
    ],
)
def test_what_asks_for_as_much_or_more_is_not(changed: dict[str, Any]) -> None:
    assert find_weakenings(settings(), settings(**changed)) == ()


def test_nothing_committed_is_not_weaker_than_commits() -> None:
    assert find_weakenings(settings(), settings(scm=None)) == ()
