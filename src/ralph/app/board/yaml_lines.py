"""A YAML document whose every value knows the line it stands on."""

from collections.abc import Iterator, Sequence

import yaml

YamlPath = tuple[str | int, ...]


class YamlSyntaxError(Exception):
    """Where it stops to be YAML, and why."""


class YamlDocument:
    """The plain values, and the nodes they were made of."""

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
        try:
            self._node: yaml.Node | None = loader.get_single_node()
            # Before values are made: making them writes what `<<` brings into the nodes.
            self.repeated_keys = tuple(_find_repeated_keys(self._node))  # YAML would silently take the last of them
            self.value: object = None if self._node is None else loader.construct_document(self._node)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            where = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
            raise YamlSyntaxError(
                f"{where}: not YAML: {error.problem or error.context}{_describe_start(error)}"
            ) from None
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise YamlSyntaxError(f"{name}: not YAML: {error}") from None
        finally:
            loader.dispose()

    def find_line(self, path: Sequence[str | int]) -> int:
        """Of the last step that is there; a key's own line, not its value's."""
        node, line = self._node, self._node.start_mark.line if self._node else 0
        for step in path:
            found = _find_child(node, step)
            if found is None:
                break
            line, node = found[0].start_mark.line, found[1]
        return line + 1

    def format_location(self, path: Sequence[str | int]) -> str:
        """As editors and compilers write it."""
        return f"{self._name}:{self.find_line(path)}"


def _describe_start(error: yaml.MarkedYAMLError) -> str:
    """Where that began, if it was noticed lines later: a quote or a bracket that is never closed."""
    begun, noticed = error.context_mark, error.problem_mark
    if not (error.problem and error.context and begun and noticed and begun.line < noticed.line):
        return ""
    return f", {error.context} that began in line {begun.line + 1}"


def _find_repeated_keys(node: yaml.Node | None) -> Iterator[YamlPath]:
    pending: list[tuple[yaml.Node | None, YamlPath]] = [(node, ())]
    seen: set[int] = set()
    while pending:
        node, path = pending.pop()
        if id(node) in seen:  # an alias, perhaps of what it stands in
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            keys = [str(key.value) for key, _ in node.value]
            yield from ((*path, key) for index, key in enumerate(keys) if key in keys[:index])
        pending += [(inner, (*path, step)) for step, inner in _iter_children(node)]


def _iter_children(node: yaml.Node | None) -> Iterator[tuple[str | int, yaml.Node]]:
    if isinstance(node, yaml.SequenceNode):
        yield from enumerate(node.value)
    elif isinstance(node, yaml.MappingNode):
        yield from ((str(key.value), inner) for key, inner in node.value)


def _find_child(node: yaml.Node | None, step: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """The node whose line counts, and the one to go on from. Of two equal keys the second is one too many."""
    if isinstance(node, yaml.SequenceNode):
        return (node.value[step], node.value[step]) if isinstance(step, int) and step < len(node.value) else None
    if isinstance(node, yaml.MappingNode):
        return next((pair for pair in reversed(node.value) if pair[0].value == step), None)
    return None
