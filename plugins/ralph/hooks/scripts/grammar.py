"""Reads a command line by bash's grammar (tree-sitter-bash), where ralph is installed; `shell` reads it elsewhere."""

from __future__ import annotations

import shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from shell import Command, Pipeline

    class Node:
        """What is used of tree-sitter's."""

        type: str
        text: bytes | None
        children: list[Node]
        child_count: int
        is_named: bool
        has_error: bool

    class Tree:
        """The same."""

        root_node: Node

    class Parser:
        """The same."""

        def parse(self, source: bytes) -> Tree: ...


LONGEST = 1 << 20  # characters; what is longer is data, and read the plain way
_SUBSTITUTIONS = ("command_substitution", "process_substitution")
_REDIRECTS = ("file_redirect", "heredoc_redirect", "herestring_redirect")
_SIMPLE = ("command", "declaration_command", "unset_command", "test_command", "variable_assignment")
_SKIPPED = ("comment", "heredoc_body", "heredoc_start", "heredoc_end")
_SCOPES = ("subshell", "function_definition", *_SUBSTITUTIONS)


def pipelines(text: str) -> list[Pipeline] | None:
    """As `shell.pipelines`; None where the grammar is not installed or does not understand this text."""
    parser = _load_parser()
    if parser is None or len(text) > LONGEST:
        return None
    try:
        root = parser.parse(text.encode("utf-8", "replace")).root_node
        return None if root.has_error else list(_read(root))
    except RecursionError:
        return None


def _load_parser() -> Parser | None:
    """Once; what could not be loaded is not tried again."""
    if not _parsers:
        try:
            import tree_sitter
            import tree_sitter_bash

            _parsers.append(tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language())))
        except (ImportError, TypeError, ValueError, OSError):  # not there, or two versions that do not fit
            _parsers.append(None)
    return _parsers[0]


_parsers: list[Parser | None] = []


def _read(node: Node) -> Iterator[Pipeline]:
    if node.type in _SKIPPED:
        return
    if node.type in _SIMPLE:
        yield from _read_substitutions(node)
        yield [_simple(node)]
    elif node.type == "pipeline":
        yield from _read_pipeline(node)
    elif node.type == "redirected_statement":
        yield from _read_redirected(node)
    elif node.type == "for_statement":
        yield from _read_for(node)
    elif node.type in _SCOPES:
        yield [shell.scope(1)]
        yield from _read_all(node)
        yield [shell.scope(-1)]
    else:
        yield from _read_all(node)


def _read_all(node: Node) -> Iterator[Pipeline]:
    for child in node.children:
        yield from _read(child)


def _read_substitutions(node: Node) -> Iterator[Pipeline]:
    """What runs before the command that uses it."""
    for child in node.children:
        if child.type in _SUBSTITUTIONS:
            yield from _read(child)
        else:
            yield from _read_substitutions(child)


def _read_pipeline(node: Node) -> Iterator[Pipeline]:
    """Its members one by one where they are more than a command, then the pipe between all their commands."""
    members: Pipeline = []
    for child in node.children:
        found = list(_read(child))
        yield from (each for each in found if child.type not in _SIMPLE or each[0].scope or len(found) > 1)
        members += [command for each in found for command in each if not command.scope]
    if members:
        yield members


def _read_redirected(node: Node) -> Iterator[Pipeline]:
    """The redirections belong to the last command before them; after `<<EOF` the line may go on."""
    redirects = [child for child in node.children if child.type in _REDIRECTS]
    found = [each for child in node.children if child.type not in _REDIRECTS for each in _read(child)]
    own = [each for each in found if not each[0].scope]
    if not own:
        own = [[shell.Command()]]
        found += own
    followers = [each for redirect in redirects for each in _redirect(redirect, own[-1][-1])]
    for redirect in redirects:
        yield from _read_substitutions(redirect)
    piped = [command for kind, each in followers if kind == "|" for command in each if not command.scope]
    if piped:
        at = next(number for number, each in enumerate(found) if each is own[-1])
        found[at] = [*own[-1], *piped]
    yield from found
    yield from (each for kind, each in followers if kind != "|")


def _redirect(node: Node, command: Command) -> list[tuple[str, Pipeline]]:
    """Told to the command; what follows on the line of a here-document is given back."""
    followers: list[tuple[str, Pipeline]] = []
    if node.type == "herestring_redirect":
        command.fed += _word(node.children[-1])
    elif node.type == "file_redirect":
        _file_redirect(node, command)
    else:
        for child in node.children:
            if child.type == "heredoc_body":
                command.fed += _text(child)
            elif child.type in ("file_redirect", "herestring_redirect"):
                _redirect(child, command)
            elif child.type == "pipeline":
                followers += [("|", each) for each in _read(child)]
            elif child.type in ("word", "string", "raw_string", "concatenation", "simple_expansion", "expansion"):
                command.words.append(_word(child))
            elif child.is_named and child.type not in _SKIPPED:
                followers += [("", each) for each in _read(child)]
    return followers


def _file_redirect(node: Node, command: Command) -> None:
    kind = next((child.type for child in node.children if not child.is_named), "")
    targets = [child for child in node.children if child.is_named and child.type != "file_descriptor"]
    for target in targets[:1]:
        if kind.startswith("<") and kind != "<>":
            command.inputs.append(_word(target))
        elif not (kind in (">&", "<&") and _word(target).isdigit()):
            command.outputs.append(_word(target))
    command.words += [_word(target) for target in targets[1:]]  # `> file word` goes on with the command


def _read_for(node: Node) -> Iterator[Pipeline]:
    yield from _read_substitutions(node)
    words = [child for child in node.children if child.is_named and child.type != "do_group"]
    command = shell.Command()
    command.words = ["for", *(_word(each) for each in words[:1]), "in", *(_word(each) for each in words[1:])]
    yield [command]
    for child in node.children:
        if child.type in ("do_group", "compound_statement"):
            yield from _read(child)


def _simple(node: Node) -> Command:
    command = shell.Command()
    if node.type == "variable_assignment":
        command.words = [_word(node)]
        return command
    for child in node.children:
        if child.type in _REDIRECTS:
            _redirect(child, command)
        elif node.type == "test_command":
            command.words += [_text(child)] if child.child_count == 0 else _text(child).split()
        else:
            command.words.append(_word(child))
    return command


def _word(node: Node) -> str:
    return shell.plain_word(_text(node))


def _text(node: Node) -> str:
    return str((node.text or b"").decode("utf-8", "replace"))
