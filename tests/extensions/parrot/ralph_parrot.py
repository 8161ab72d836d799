"""An agent: the CLI `parrot`, which reads its prompt from stdin and prints lines of JSON."""

import json
from collections.abc import Iterator, Sequence

from msgspec import Struct

from ralph.model.agent_card import AgentCard
from ralph.model.command import Invocation
from ralph.model.events import AgentEvent, Said, Unparsed
from ralph.model.ports import Agent, AgentOptions, LineParser, OutputMode, ParsedRun

CARD = AgentCard(
    title="Parrot",
    detect_order=100,  # looked for on PATH, after ralph's own
    env_keys=frozenset({"PARROT_API_KEY"}),  # no other known key reaches it
    tools=False,
    verified="1.0, by its own tests",
)


class Parrot(Struct, frozen=True):
    argv: tuple[str, ...]
    reports_cost = False  # so no budget can be kept

    def invocation(self, prompt: str, mode: OutputMode, budget_usd: float | None) -> Invocation:
        return Invocation(argv=(*self.argv, "--json"), stdin=prompt)

    def parser(self, mode: OutputMode) -> LineParser:
        return ParrotParser()


class ParrotParser:
    def __init__(self) -> None:
        self._text = ""
        self._has_ended = False

    def feed(self, lines: bytes | bytearray) -> Sequence[AgentEvent]:
        return [event for line in lines.splitlines() for event in self._read(line)]

    def summarize_run(self) -> ParsedRun:
        return ParsedRun(closing="success" if self._has_ended else "none", text=self._text)

    def _read(self, line: bytes | bytearray) -> Iterator[AgentEvent]:
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            said = None
        match said:
            case {"say": str(text)}:
                self._text = text
                yield Said(text)
            case {"end": True}:
                self._has_ended = True
            case _:
                yield Unparsed(size=len(line), kind="", sample=line[:200].decode("utf-8", "replace"))


def build(options: AgentOptions) -> Agent:
    return Parrot((*options.command, *options.flags))
