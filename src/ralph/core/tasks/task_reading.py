"""Reads what someone wrote, key by key, and keeps every problem with the place it stands at."""

from collections.abc import Mapping
from difflib import get_close_matches

from ralph.model.board import Problem

_KINDS = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
_UNSPOKEN = ("completion", "verification_config")  # a complaint is clear without them
_LARGEST = 2**53  # what every reader of JSON can hold
_DEEPEST, _MOST = 30, 20_000  # of values below one key: YAML may be endless


def kind_of(value: object) -> str:
    """In words."""
    return "nothing" if value is None else _KINDS.get(type(value), f"a {type(value).__name__}")


class Found:
    """One mapping of a document. Reading a key gives its value or a neutral one, and notes what is wrong with it."""

    def __init__(
        self, raw: Mapping[str, object], problems: list[Problem], path: tuple[str | int, ...] = (), what: str = ""
    ) -> None:
        self.raw = raw
        self.problems = problems
        self._path = path
        self._what = what  # how a complaint begins

    def complain(self, text: str, *steps: str | int, hint: str = "") -> None:
        """Note a problem with what stands at these steps from here."""
        self.problems.append(Problem((*self._path, *steps), f"{self._what}{text}", hint))

    def complained_of(self, key: str) -> bool:
        """Whether something is known to be wrong with it."""
        return any(problem.path[: len(self._path) + 1] == (*self._path, key) for problem in self.problems)

    def expect_keys(self, *known: str) -> None:
        """No others."""
        for key in self.raw:
            if key not in known:
                near = get_close_matches(str(key), known, 1)
                guess = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
                self.complain(f"unknown key {key!r}; {guess}", key)

    def text(self, key: str, required: str = "") -> str:
        """Empty when it is not there; `required` is the hint for when it has to be."""
        value = self.raw.get(key)
        if isinstance(value, str) and (problem := _unusable(value)):
            self.complain(f"{key} {problem}", key)
        elif isinstance(value, str) and (value.strip() or not required):
            return value.strip()
        elif value is not None and not isinstance(value, str):
            self.complain(f"{key} has to be text, got {self._shown(value)}", key, hint="put it in quotes")
        elif required:
            self.complain(f"needs {'an' if key[0] in 'aeiou' else 'a'} {key}", key, hint=required)
        return ""

    def texts(self, key: str) -> list[str]:
        """A list, or a single text for a list of one."""
        value = self.raw.get(key)
        items = [value] if isinstance(value, str) else value
        if items is None:
            return []
        if not isinstance(items, (list, tuple)):
            self.complain(f"{key} has to be a list of texts, got {self._shown(value)}", key)
            return []
        for index, item in enumerate(items):
            if isinstance(item, str) and (problem := _unusable(item)):
                self.complain(f"{key} {problem}", key, index)
            elif not isinstance(item, str) or not item.strip():
                what = "an empty text" if isinstance(item, str) else self._shown(item)
                self.complain(f"{key} has to be a list of texts, got {what} in it", key, index, hint="put it in quotes")
        return [item.strip() for item in items if isinstance(item, str)]

    def number(self, key: str, at_least: int = -_LARGEST) -> int | None:
        """None when it is not there."""
        value = self.raw.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not at_least <= value <= _LARGEST:
            least = "" if at_least == -_LARGEST else f" ≥ {at_least}"
            self.complain(f"{key} has to be a whole number{least}, got {self._shown(value)}", key)
            return None
        return value

    def inner(self, key: str) -> "Found | None":
        """The mapping below a key; None without one."""
        value = self.raw.get(key)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self.complain(f"{key} has to be a mapping, got {self._shown(value)}", key)
            return None
        if strange := [name for name in value if not isinstance(name, str)]:
            self.complain(f"the key {strange[0]!r} has to be text", key, hint="put it in quotes")
            return None
        return Found(value, self.problems, (*self._path, key), self._what + ("" if key in _UNSPOKEN else f"{key}: "))

    def expect_json(self) -> None:
        """Nothing in it that JSON does not have, and an end to it."""
        problem = _unlike_json(self.raw)
        if problem:
            self.complain(problem)

    def _shown(self, value: object) -> str:
        if isinstance(value, bool | int | float):
            return str(value).lower()
        return repr(value) if isinstance(value, str) else kind_of(value)


def _unlike_json(value: object) -> str:
    left, pending = _MOST, [(value, 0)]
    while pending:
        value, depth = pending.pop()
        left -= 1
        if left < 0 or depth > _DEEPEST:
            return "is nested without end, or far too large"
        if isinstance(value, Mapping):
            if not all(isinstance(key, str) for key in value):
                return "has a key that is not text; put it in quotes"
            pending += [(inner, depth + 1) for inner in value.values()]
        elif isinstance(value, (list, tuple)):
            pending += [(inner, depth + 1) for inner in value]
        elif isinstance(value, str):
            if problem := _unusable(value):
                return problem
        elif isinstance(value, int | float):
            if not abs(value) <= _LARGEST:
                return f"holds the number {value}"
        elif value is not None:
            return f"holds {kind_of(value)}; put it in quotes"
    return ""


def _unusable(text: str) -> str:
    """Why it can be neither stored nor given to a program; empty when it can."""
    if "\0" in text:
        return "holds a NUL character"
    return "" if text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text) else "is not valid UTF-8"
