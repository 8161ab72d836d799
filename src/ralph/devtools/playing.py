"""A script played to whoever asks: which run a conversation is in, and what it is answered next."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ralph.agents._script import COMMIT_QUESTION, OVERLOAD, Fault, Run, only_item
from ralph.devtools.conversation import Answer, Break, Failure, Part, Pause, Question, Raw, Text, Tokens
from ralph.devtools.tool_names import Batch, Toolbox

FOREVER = 86_400.0
SIDE = Answer((Text("ok"),))  # to a request without tools: a title, a quota
TROUBLE = frozenset({"error", "overload", "empty", "cut", "exit", "hang"})  # ends an answer; the last one is repeated


class Scene:
    """One run of the script, as far as it was played."""

    def __init__(self, number: int, run: Run) -> None:
        self.number = number
        self.answered = False  # something whole was given
        self.over = False  # the last word was given
        self._run = run
        self._next = 0
        self._times = 0  # the error at hand was given
        self._final: str | None = None
        self._tokens = Tokens()
        self._batches: list[Batch] = []
        self._tasks: dict[str, str] = {}

    def answer(self, toolbox: Toolbox) -> Answer:
        """The steps up to the next tool, trouble or end."""
        parts: list[Part] = []
        while not self._batches and self._next < len(self._run.steps):
            step = only_item(self._run.steps[self._next])
            self._next += 1
            try:
                if step[0] in TROUBLE:
                    return self._answer(*parts, *self._trouble(step))
                self._perform(step, parts, toolbox)
            except (KeyError, TypeError, ValueError, AttributeError, msgspec.ValidationError) as wrong:
                raise Fault(f"{step[1]!r} is not what {step[0]!r} needs: {wrong!r}") from wrong
        self.answered = True
        if self._batches:
            return self._answer(*parts, *self._batches.pop(0))
        self.over = True
        return self._answer(*parts, *self._last_words(parts))

    def _perform(self, step: tuple[str, Any], parts: list[Part], toolbox: Toolbox) -> None:
        match step:
            case "say", text:
                parts.append(Text(text))
            case "think", text:
                parts.append(Text(text, thought=True))
            case "sleep", seconds:
                parts.append(Pause(float(seconds)))
            case "raw", text:
                parts.append(Raw(text))
            case "result", text:
                self._final = text
            case "usage", tokens:
                self._tokens = msgspec.structs.replace(self._tokens, **tokens)
            case "bash", command:
                self._batches += toolbox.bash(command)
            case "write", given:
                self._batches += toolbox.write(given)
            case "edit", given:
                self._batches += toolbox.edit(given)
            case "todo", items:
                self._batches += toolbox.todo(items, self._tasks)
            case _:
                pass  # `cost`: a client counts its money itself

    def _trouble(self, step: tuple[str, Any]) -> Sequence[Part]:
        name, given = step
        wanted = given.get("times", 1) if name == "error" else 1
        self._times += 1
        if self._times < wanted or self._next == len(self._run.steps):
            self._next -= 1  # once more
        else:
            self._times = 0
        match name:
            case "error":
                return (msgspec.convert({key: given[key] for key in given if key != "times"}, Failure),)
            case "overload":
                return (msgspec.convert(OVERLOAD, Failure),)
            case "cut" | "exit":
                return (Break(),)
            case "hang":
                return (Pause(FOREVER),)
            case _:
                return ()

    def _last_words(self, parts: Sequence[Part]) -> Sequence[Part]:
        """A client needs a last word: a run that ends with a tool says its last one again."""
        if self._final is None and any(isinstance(part, Text) and not part.thought for part in parts):
            return ()
        text = self._run.last_word if self._final is None else self._final
        return (Text(text),) if text else ()

    def _answer(self, *parts: Part) -> Answer:
        return Answer(parts, self._tokens)


class Playing:
    """The whole script. Many may ask at once."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = runs
        self._scenes: dict[str, Scene] = {}
        self._begun = 0
        self._lock = threading.Lock()

    def answer(self, question: Question) -> tuple[int, Answer]:
        """The number of the run, from 1, and what comes next in it; 0 and a word for a side request."""
        with self._lock:
            if not question.tools:
                return 0, SIDE
            if COMMIT_QUESTION in question.asked:
                run = self._runs[min(max(self._begun, 1), len(self._runs)) - 1]
                return 0, Answer((Text(run.message),) if run.message else ())
            scene = self._scene(question)
            return scene.number, scene.answer(Toolbox(question.tools))

    @property
    def over(self) -> bool:
        """Whether the last run had its last word."""
        with self._lock:
            return any(scene.over and scene.number >= len(self._runs) for scene in self._scenes.values())

    def _scene(self, question: Question) -> Scene:
        """A new conversation is a new run. Without its name it can only be known by what went before."""
        scene = self._scenes.get(question.session)
        if scene is None or (not question.session and question.fresh and scene.answered):
            self._begun += 1
            scene = Scene(self._begun, self._runs[min(self._begun, len(self._runs)) - 1])
            self._scenes[question.session] = scene
        return scene


def checked(runs: Sequence[Run]) -> None:
    """Find a step that is none before anyone asks; what a step is given shows when it is played."""
    for run in runs:
        for step in run.steps:
            name, given = only_item(step)
            if name in ("error", "write", "edit") and not isinstance(given, Mapping):
                raise Fault(f"{given!r} is not what {name!r} needs")
