"""What waits for what, drawn: reading down is the order of work."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from ralph.core.text.plain import one_line
from ralph.faces.board_words import NO_TASKS_MESSAGE
from ralph.faces.cli.pages.task_list import STATUS_MARKS
from ralph.model.board import NoSuchTask, TaskCard

MAX_GRAPH_DEPTH = 40  # levels; below, the rest of a chain is only counted


class TaskGraph:
    """Cards and the dependencies among them; dependencies on other tasks are ignored."""

    def __init__(self, cards: Sequence[TaskCard]) -> None:
        self._cards = {card.id: card for card in cards}
        self._needs = {card.id: [need for need in card.needs if need in self._cards] for card in cards}
        self._followers: dict[str, list[str]] = {card.id: [] for card in cards}
        for id_, needs in self._needs.items():
            for need in needs:
                self._followers[need].append(id_)

    def select_around(self, id_: str) -> "TaskGraph":
        """Only this task, all it depends on, and all that depends on it, also indirectly."""
        if id_ not in self._cards:
            raise NoSuchTask(f"no task {id_!r}", "see `ralph task list`")
        kept = {*_find_reachable(id_, self._needs), *_find_reachable(id_, self._followers)}
        return TaskGraph([card for card in self._cards.values() if card.id in kept])

    def render_text(self) -> str:
        """A tree: below each task those that wait for it. One that waits for several is expanded only once."""
        return "\n".join(self._render_lines()) if self._cards else NO_TASKS_MESSAGE

    def render_dot(self) -> str:
        nodes = [f"  {_quote_dot(c.id)} [label={_quote_dot(f'{c.id} {c.title}')}];" for c in self._cards.values()]
        edges = [f"  {_quote_dot(need)} -> {_quote_dot(id_)};" for id_, needs in self._needs.items() for need in needs]
        return "\n".join(["digraph tasks {", *nodes, *edges, "}"])

    def render_json(self) -> str:
        """For programs: an edge leads from what is needed to what needs it."""
        tasks = [{"id": c.id, "title": c.title, "status": c.status, "needs": c.needs} for c in self._cards.values()]
        edges = [{"from": need, "to": id_} for id_, needs in self._needs.items() for need in needs]
        return msgspec.json.encode({"tasks": tasks, "edges": edges}).decode()

    def _render_lines(self) -> Iterator[str]:
        drawn: set[str] = set()
        # (task, what leads to it, what leads to those below it, depth)
        pending = [(id_, "", "", 0) for id_, needs in reversed(self._needs.items()) if not needs]
        while pending:
            id_, lead, below, depth = pending.pop()
            followers = self._followers[id_]
            again = id_ in drawn and bool(followers)
            yield f"{lead}{self._describe_task(id_)}{' …above' if again else ''}"
            if again or (not followers):
                continue
            drawn.add(id_)
            if depth == MAX_GRAPH_DEPTH:
                yield f"{below}└─ … {len(_find_reachable(id_, self._followers)) - 1} below it: ralph task graph {id_}"
                continue
            last = followers[-1]
            for follower in reversed(followers):
                branch, rest = ("└─ ", "   ") if follower is last else ("├─ ", "│  ")
                pending.append((follower, below + branch, below + rest, depth + 1))

    def _describe_task(self, id_: str) -> str:
        card = self._cards[id_]
        return f"{STATUS_MARKS[card.status]} {id_}  {one_line(card.title, 60)}"


def _find_reachable(start: str, steps: Mapping[str, Collection[str]]) -> set[str]:
    found, pending = {start}, [start]
    while pending:
        new = {id_ for id_ in steps[pending.pop()] if id_ not in found}
        found |= new
        pending += new
    return found


def _quote_dot(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
