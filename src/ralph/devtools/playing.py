"""A script played to whoever asks: which run a conversation is in, and what it is answered next."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ralph.agents._script import COMMIT_QUESTION, OVERLOAD_ERROR, ScriptError, ScriptRun, find_judgement, parse_step
from ralph.devtools.conversation import (
    Disconnect,
    ModelReply,
    ModelRequest,
    Pause,
    RawText,
    ReplyPart,
    ReplyText,
    ReplyTokens,
    ServiceError,
    ToolCall,
)
from ralph.devtools.tool_names import CallBatch, Toolbox
from ralph.model.judge import JUDGE_QUESTION

FOREVER_SECONDS = 86_400.0
SIDE_REPLY = ModelReply((ReplyText("ok"),))  # to a request without tools: a title, a quota
TROUBLE_STEPS = frozenset(
    {"error", "overload", "empty", "cut", "exit", "hang"}
)  # ends an answer; the last one is repeated


class RunPlayback:
    """One run of the script, as far as it was played."""

    def __init__(self, number: int, run: ScriptRun) -> None:
        self.number = number
        self.has_answered = False  # something whole was given
        self.is_over = False  # the last word was given
        self._run = run
        self._next = 0
        self._error_count = 0  # the error at hand was given
        self._final: str | None = None
        self._tokens = ReplyTokens()
        self._batches: list[CallBatch] = []
        self._tasks: dict[str, str] = {}

    def build_next_reply(self, toolbox: Toolbox) -> ModelReply:
        """The steps up to the next tool, trouble or end."""
        parts: list[ReplyPart] = []
        while not self._batches and self._next < len(self._run.steps):
            step = parse_step(self._run.steps[self._next])
            self._next += 1
            try:
                if step[0] in TROUBLE_STEPS:
                    return self._build_reply(*parts, *self._play_trouble(step))
                self._play_step(step, parts, toolbox)
            except (KeyError, TypeError, ValueError, AttributeError, msgspec.ValidationError) as wrong:
                raise ScriptError(f"{step[1]!r} is not what {step[0]!r} needs: {wrong!r}") from wrong
        self.has_answered = True
        if self._batches:
            return self._build_reply(*parts, *self._batches.pop(0))
        self.is_over = True
        return self._build_reply(*parts, *self._build_final_parts(parts))

    def _play_step(self, step: tuple[str, Any], parts: list[ReplyPart], toolbox: Toolbox) -> None:
        match step:
            case "say", text:
                parts.append(ReplyText(text))
            case "think", text:
                parts.append(ReplyText(text, thought=True))
            case "sleep", seconds:
                parts.append(Pause(float(seconds)))
            case "raw", text:
                parts.append(RawText(text))
            case "result", text:
                self._final = text
            case "usage", tokens:
                self._tokens = msgspec.structs.replace(self._tokens, **tokens)
            case "bash", command:
                self._batches += toolbox.run_command(command)
            case "write", given:
                self._batches += toolbox.write_file(given)
            case "edit", given:
                self._batches += toolbox.edit_file(given)
            case "tool", given:
                self._batches.append((ToolCall(given["name"], given.get("input", {})),))
            case "todo", items:
                self._batches += toolbox.write_plan(items, self._tasks)
            case _:
                pass  # `cost`: a client counts its money itself

    def _play_trouble(self, step: tuple[str, Any]) -> Sequence[ReplyPart]:
        name, given = step
        wanted = given.get("times", 1) if name == "error" else 1
        self._error_count += 1
        if self._error_count < wanted or self._next == len(self._run.steps):
            self._next -= 1  # once more
        else:
            self._error_count = 0
        match name:
            case "error":
                return (msgspec.convert({key: given[key] for key in given if key != "times"}, ServiceError),)
            case "overload":
                return (msgspec.convert(OVERLOAD_ERROR, ServiceError),)
            case "cut" | "exit":
                return (Disconnect(),)
            case "hang":
                return (Pause(FOREVER_SECONDS),)
            case _:
                return ()

    def _build_final_parts(self, parts: Sequence[ReplyPart]) -> Sequence[ReplyPart]:
        """A client needs a last word: a run that ends with a tool says its last one again."""
        if self._final is None and any(isinstance(part, ReplyText) and not part.thought for part in parts):
            return ()
        text = self._run.last_word if self._final is None else self._final
        return (ReplyText(text),) if text else ()

    def _build_reply(self, *parts: ReplyPart) -> ModelReply:
        return ModelReply(parts, self._tokens)


class ScriptPlayback:
    """The whole script. Many may ask at once."""

    def __init__(self, runs: Sequence[ScriptRun]) -> None:
        self._runs = runs
        self._playbacks: dict[str, RunPlayback] = {}
        self._begun = 0
        self._lock = threading.Lock()

    def answer_request(self, question: ModelRequest) -> tuple[int, ModelReply]:
        """The number of the run, from 1, and what comes next in it; 0 and a word for a side request."""
        with self._lock:
            if JUDGE_QUESTION in question.asked:
                return 0, ModelReply((Toolbox(question.tools).build_judgement(find_judgement(self._runs)),))
            if not question.tools:
                return 0, SIDE_REPLY
            if COMMIT_QUESTION in question.asked:
                run = self._runs[min(max(self._begun, 1), len(self._runs)) - 1]
                return 0, ModelReply((ReplyText(run.message),) if run.message else ())
            scene = self._find_playback(question)
            return scene.number, scene.build_next_reply(Toolbox(question.tools))

    @property
    def is_over(self) -> bool:
        """Whether the last run had its last word."""
        with self._lock:
            return any(scene.is_over and scene.number >= len(self._runs) for scene in self._playbacks.values())

    def _find_playback(self, question: ModelRequest) -> RunPlayback:
        """A new conversation is a new run. Without its name it can only be known by what went before."""
        scene = self._playbacks.get(question.session)
        if scene is None or (not question.session and question.fresh and scene.has_answered):
            self._begun += 1
            scene = RunPlayback(self._begun, self._runs[min(self._begun, len(self._runs)) - 1])
            self._playbacks[question.session] = scene
        return scene


def check_script(runs: Sequence[ScriptRun]) -> None:
    """Find a step that is none before anyone asks; what a step is given shows when it is played."""
    for run in runs:
        for step in run.steps:
            name, given = parse_step(step)
            if name in ("error", "write", "edit") and not isinstance(given, Mapping):
                raise ScriptError(f"{given!r} is not what {name!r} needs")
