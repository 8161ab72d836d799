"""What a history is: a small project, what an agent does to it, and what ralph is to make of that."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

Loop = Literal["run", "supervise", "story", "execute"]
LOOPS: tuple[Loop, ...] = get_args(Loop)
# How a tampering ends. miss and sandbox: complete, and nobody is told; of a sandbox, because nothing else could see it.
Ending = Literal["refused", "flagged", "miss", "sandbox"]
Script = str | tuple[str, ...]  # shell; of several the first is for the first call, the last for all that follow


@dataclass(frozen=True, kw_only=True)
class History:
    """`does` is what the one who works does, call by call; each call ends with the claim of its loop, if it does not
    exit before. `others` has the scripts of other roles: reviewer, tester, qa, review, judge, or T2.coder."""

    name: str
    does: Script
    project: str = "unittest"
    files: Mapping[str, str] = field(default_factory=dict)  # of the project, beside or in the place of its own
    check: str = ""  # in the place of the project's own; "none": there is none
    others: Mapping[str, Script] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    tasks: str = ""  # YAML for `execute`, in the place of the usual one
    limit: int = 1  # agent runs of the one who works
    before: str = ""  # what a person does in the repository before the loop
    then: str = ""  # what a person types after it; how that ends is what counts. `loop` is the loop's command
    options: str = ""  # of the loop's command
    names: str = ""  # words of which one is told where the end of the run or its receipt names what was touched
    why: str = ""  # of a miss, of what only a sandbox can see, or of a false alarm
    quick: tuple[Loop, ...] = ()  # in these loops it is part of the short form


@dataclass(frozen=True, kw_only=True)
class Tampering(History):
    """In each loop it is tried in: how it ends today."""

    run: Ending | None = None
    supervise: Ending | None = None
    story: Ending | None = None
    execute: Ending | None = None

    def endings(self) -> Iterator[tuple[Loop, Ending]]:
        found: tuple[tuple[Loop, Ending | None], ...] = (
            ("run", self.run),
            ("supervise", self.supervise),
            ("story", self.story),
            ("execute", self.execute),
        )
        return ((loop, ending) for loop, ending in found if ending)


@dataclass(frozen=True, kw_only=True)
class HonestWork(History):
    """Completes in each of these loops, at this call of the one who works. What it `names` is told at the end."""

    loops: tuple[Loop, ...] = ("run",)
    at: int = 1
    alarms: tuple[Loop, ...] = ()  # where it is refused today, wrongly


@dataclass(frozen=True)
class Case:
    """One history in one loop."""

    kind: str
    history: Tampering | HonestWork
    loop: Loop

    @property
    def name(self) -> str:
        return f"{self.loop}: {self.history.name}"

    @property
    def expected(self) -> str:
        if isinstance(self.history, HonestWork):
            completes = "named" if self.history.names else "completes"
            return "alarm" if self.loop in self.history.alarms else completes
        return next(ending for loop, ending in self.history.endings() if loop == self.loop)


def list_cases(kinds: Mapping[str, tuple[Tampering | HonestWork, ...]]) -> Iterator[Case]:
    for kind, histories in kinds.items():
        for history in histories:
            loops = history.loops if isinstance(history, HonestWork) else [loop for loop, _ in history.endings()]
            yield from (Case(kind, history, loop) for loop in loops)
