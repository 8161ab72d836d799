"""The plugin's hooks, run as Claude Code runs them: a process, an event on its standard input."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PLUGIN_FOLDER = Path(__file__).resolve().parents[2] / "plugins" / "ralph"
HOOK_SAMPLES_FILE = Path(__file__).resolve().parents[1] / "transcripts" / "claude_plugin.hook_stdin.jsonl"


def load_sample_event(name: str, **fields: Any) -> dict[str, Any]:
    """What Claude Code 2.1.197 really sent for this event, with some fields of our own."""
    events = [json.loads(line) for line in HOOK_SAMPLES_FILE.read_text().splitlines()]
    event = next(event for event in events if event["hook_event_name"] == name)
    return {key: value for key, value in event.items() if not key.startswith("_")} | fields


class HookResult:
    """What a hook did."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        assert done.returncode == 0, done.stderr  # a hook never fails
        self.out = done.stdout
        self.err = done.stderr
        self.answer: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}

    @property
    def reason(self) -> str:
        """Why it blocked or denied; empty when it did not."""
        specific = self.answer.get("hookSpecificOutput", {})
        if specific.get("permissionDecision") == "deny":
            return str(specific["permissionDecisionReason"])
        return str(self.answer["reason"]) if self.answer.get("decision") == "block" else ""


def run_hook(
    script: str, event: dict[str, Any] | str, temporary: Path, *arguments: str, **variables: str
) -> HookResult:
    """As hooks.json starts it."""
    return HookResult(
        subprocess.run(
            [sys.executable, "-ESs", str(PLUGIN_FOLDER / "hooks" / "scripts" / script), *arguments],
            input=event if isinstance(event, str) else json.dumps(event),
            env={"PATH": os.environ["PATH"], "TMPDIR": str(temporary), "HOME": str(temporary), **variables},
            cwd=temporary,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    )
