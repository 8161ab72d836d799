"""Reads what someone wrote, key by key, and keeps every problem with the place it stands at."""

from collections.abc import Mapping
from difflib import get_close_matches

from ralph.model.board import Problem

_KIND_NAMES = {
    dict: "a mapping",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
}
_UNNAMED_KEYS = ("completion", "verification_config")  # a complaint is clear without them
_MAX_JSON_INT = 2**53  # what every reader of JSON can hold
_MAX_DEPTH, _MAX_VALUES = 30, 20_000  # of values below one key: YAML may be endless


def describe_kind(value: object) -> str:
    return "nothing" if value is None else _KIND_NAMES.get(type(value), f"a {type(value).__name__}")


class MappingReader:
    """Reads one mapping key by key. A wrong value is noted as a Problem and read as a neutral one."""

    def __init__(
        self, raw: Mapping[str, object], problems: list[Problem], path: tuple[str | int, ...] = (), what: str = ""
    ) -> None:
        self.raw = raw
        self.problems = problems
        self._path = path
        self._prefix = what  # how a complaint begins

    def add_problem(self, text: str, *steps: str | int, hint: str = "") -> None:
        """Add a problem with what stands at these steps below this mapping."""
        self.problems.append(Problem((*self._path, *steps), f"{self._prefix}{text}", hint))

    def has_problem(self, key: str) -> bool:
        """Whether something is known to be wrong with it."""
        return any(problem.path[: len(self._path) + 1] == (*self._path, key) for problem in self.problems)

    def expect_keys(self, *known: str) -> None:
        for key in self.raw:
            if key not in known:
                near = get_close_matches(str(key), known, 1)
                guess = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
                self.add_problem(f"unknown key {key!r}; {guess}", key)

    def read_text(self, key: str, required: str = "") -> str:
        """Empty when it is not there; `required` is the hint for when it has to be."""
        value = self.raw.get(key)
        if isinstance(value, str) and (problem := _find_text_problem(value)):
            self.add_problem(f"{key} {problem}", key)
        elif isinstance(value, str) and (value.strip() or not required):
            return value.strip()
        elif value is not None and not isinstance(value, str):
            self.add_problem(f"{key} has to be text, got {self._describe_value(value)}", key, hint="put it in quotes")
        elif required:
            self.add_problem(f"needs {'an' if key[0] in 'aeiou' else 'a'} {key}", key, hint=required)
        return ""

    def read_texts(self, key: str) -> list[str]:
        """A list, or a single text for a list of one."""
        value = self.raw.get(key)
        items = [value] if isinstance(value, str) else value
        if items is None:
            return []
        if not isinstance(items, (list, tuple)):
            self.add_problem(f"{key} has to be a list of texts, got {self._describe_value(value)}", key)
            return []
        for index, item in enumerate(items):
            if isinstance(item, str) and (problem := _find_text_problem(item)):
                self.add_problem(f"{key} {problem}", key, index)
            elif not isinstance(item, str) or not item.strip():
                what = "an empty text" if isinstance(item, str) else self._describe_value(item)
                self.add_problem(
                    f"{key} has to be a list of texts, got {what} in it", key, index, hint="put it in quotes"
                )
        return [item.strip() for item in items if isinstance(item, str)]

    def read_number(self, key: str, at_least: int = -_MAX_JSON_INT) -> int | None:
        value = self.raw.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not at_least <= value <= _MAX_JSON_INT:
            least = "" if at_least == -_MAX_JSON_INT else f" ≥ {at_least}"
            self.add_problem(f"{key} has to be a whole number{least}, got {self._describe_value(value)}", key)
            return None
        return value

    def read_switch(self, key: str) -> bool:
        """False when it is not there."""
        value = self.raw.get(key, False)
        if not isinstance(value, bool):
            self.add_problem(f"{key} has to be true or false, got {self._describe_value(value)}", key)
        return value is True

    def read_mapping(self, key: str) -> "MappingReader | None":
        """The mapping below a key; None without one."""
        value = self.raw.get(key)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self.add_problem(f"{key} has to be a mapping, got {self._describe_value(value)}", key)
            return None
        if strange := [name for name in value if not isinstance(name, str)]:
            self.add_problem(f"the key {strange[0]!r} has to be text", key, hint="put it in quotes")
            return None
        return MappingReader(
            value, self.problems, (*self._path, key), self._prefix + ("" if key in _UNNAMED_KEYS else f"{key}: ")
        )

    def expect_json(self) -> None:
        """Notes values that JSON cannot hold, and nesting without end."""
        problem = _find_json_problem(self.raw)
        if problem:
            self.add_problem(problem)

    def _describe_value(self, value: object) -> str:
        if isinstance(value, bool | int | float):
            return str(value).lower()
        return repr(value) if isinstance(value, str) else describe_kind(value)


def _find_json_problem(value: object) -> str:
    left, pending = _MAX_VALUES, [(value, 0)]
    while pending:
        value, depth = pending.pop()
        left -= 1
        if left < 0 or depth > _MAX_DEPTH:
            return "is nested without end, or far too large"
        if isinstance(value, Mapping):
            if not all(isinstance(key, str) for key in value):
                return "has a key that is not text; put it in quotes"
            pending += [(inner, depth + 1) for inner in value.values()]
        elif isinstance(value, (list, tuple)):
            pending += [(inner, depth + 1) for inner in value]
        elif isinstance(value, str):
            if problem := _find_text_problem(value):
                return problem
        elif isinstance(value, int | float):
            if not abs(value) <= _MAX_JSON_INT:
                return f"holds the number {value}"
        elif value is not None:
            return f"holds {describe_kind(value)}; put it in quotes"
    return ""


def _find_text_problem(text: str) -> str:
    """Why it can be neither stored nor given to a program; empty when it can."""
    if "\0" in text:
        return "holds a NUL character"
    return "" if text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text) else "is not valid UTF-8"
