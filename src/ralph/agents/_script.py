"""The script that the scripted agent and the scripted model (`ralph dev llm`) both play.

A script (JSON, or YAML by its suffix) is a list of runs; when there are more runs than entries, the last one is played
again and again. A run is a list of steps, or `{steps: [...], message: "..."}` with the answer to a request for a commit
message, and `judge: "..."` with the answer of a judge. A step is one of

    say: text                       think: text                   todo: [plan the work, "[x] done", "[>] active"]
    write: {path, content}          edit: {path, old, new}        bash: command, really run, in the current folder
    tool: {name, input}             any tool of the client, by its name
    sleep: seconds                  hang: true                    raw: text, sent as it is
    cost: US dollars                usage: {input_tokens, …}      result: text, instead of the last `say`
    error: {status, message}        the service's error           overload: true, which is error 529
    empty: true                     an answer without a word      cut: true, the answer breaks off
    exit: code                      gone at once, without a result

`docs/agents.md` tells how the two play them.
"""

import json
from collections.abc import Sequence
from typing import Any

Step = dict[str, Any]
STEP_NAMES = (
    "say think write edit bash todo tool sleep hang raw cost usage result error overload empty cut exit".split()
)
DEFAULT_TOKENS = {
    "input_tokens": 100,
    "output_tokens": 20,
    "cache_read_input_tokens": 0,
    "cache_creation_input_tokens": 0,
}
COMMIT_QUESTION = "Provide a short imperative commit message"
NO_JUDGEMENT = "NOT_VERIFIED: the script has no `judge`"
OVERLOAD_ERROR = {"status": 529, "message": "Overloaded"}
TODO_MARKS = {"[x] ": "completed", "[>] ": "in_progress", "[ ] ": "pending"}


class ScriptError(Exception):
    """The script does not make sense."""


class ScriptRun:
    """One entry of a script."""

    def __init__(self, entry: object) -> None:
        told: dict[str, Any] = entry if isinstance(entry, dict) else {"steps": entry}
        steps = told.get("steps")
        if not isinstance(steps, list):
            raise ScriptError(f"{entry!r} is not a run: it must be a list of steps, or have one as `steps`")
        self.steps: list[Step] = steps
        said = [step["say"] for step in steps if isinstance(step, dict) and "say" in step]
        self.last_word: str = said[-1] if said else ""
        self.message: str = told.get("message", self.last_word)  # the answer to a request for a commit message
        self.judgement: str = told.get("judge", "")  # the answer to a judge's question


def find_judgement(runs: Sequence[ScriptRun]) -> str:
    """What the script says as a judge: a script that is silent about it finds nothing proven."""
    return next((run.judgement for run in runs if run.judgement), NO_JUDGEMENT)


def load_script(path: str) -> list[ScriptRun]:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        runs = parse_script(path, text)
    except (OSError, ValueError) as wrong:
        raise ScriptError(f"cannot read the script {path!r}: {wrong}") from wrong
    if not isinstance(runs, list) or not runs:
        raise ScriptError(f"{path!r} is not a script: it must be a list of runs")
    return [ScriptRun(entry) for entry in runs]


def parse_script(path: str, text: str) -> object:
    if not path.endswith((".yaml", ".yml")):
        return json.loads(text)
    import yaml  # slow to import, and most scripts are JSON

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as wrong:
        raise ValueError(str(wrong)) from wrong


def parse_step(step: object) -> tuple[str, Any]:
    """A step's name and what it is given."""
    if not isinstance(step, dict) or len(step) != 1 or next(iter(step)) not in STEP_NAMES:
        raise ScriptError(f"{step!r} is not a step; a step is one of {', '.join(STEP_NAMES)}")
    return next(iter(step.items()))


def parse_todo(item: str) -> dict[str, str]:
    """An item of a plan; how it begins tells its state."""
    status = TODO_MARKS.get(item[:4], "pending")
    text = item[4:] if item[:4] in TODO_MARKS else item
    return {"content": text, "status": status, "activeForm": text}
