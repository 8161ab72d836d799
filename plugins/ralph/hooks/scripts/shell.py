"""Reads a shell command line into simple commands: enough of the grammar to judge it, no more. Never fails."""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Pipeline = list["Command"]

DEPTH = 8
LONGEST_VALUE = 4096  # as a path: X=$X$X, often enough, would fill the memory
_OPERATOR = re.compile(r"&&|\|\||;;|\|&|[;&|()\n]")
_REDIRECTION = re.compile(r"\d*(?:&>>|&>|>>|>\||>&|<<<|<<-?|<>|<&|<|>)")
_PLAIN = re.compile(r"[^\s'\"\\$`;&|()<>#]+")
_RESERVED = frozenset("if then else elif while until do for case in select function time ! { } coproc".split())
_DECLARES = frozenset("export local declare readonly typeset".split())
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


class Command:
    """One simple command: its words without quotes, where its output goes, what is fed to it."""

    __slots__ = ("fed", "inputs", "outputs", "scope", "words")

    def __init__(self) -> None:
        self.words: list[str] = []
        self.outputs: list[str] = []
        self.inputs: list[str] = []
        self.fed = ""  # a here-document or a here-string
        self.scope = 0  # no command: 1 begins and -1 ends commands whose `cd` and variables are their own

    def __bool__(self) -> bool:
        return bool(self.words or self.outputs or self.inputs)


def scope(step: int) -> Command:
    """The beginning or the end of a subshell."""
    mark = Command()
    mark.scope = step
    return mark


def plain_word(text: str) -> str:
    """One word as the shell sees it: quotes taken away, variables and substitutions as they are written."""
    return _Reader(text, DEPTH).read_word()


def pipelines(text: str, depth: int = 0) -> Iterator[Pipeline]:
    """Every pipeline in it, in order; those of substitutions come before the command that uses them."""
    if depth < DEPTH:
        yield from _Reader(text, depth).read()


def simple(words: list[str]) -> list[str]:
    """The words of a command without what the grammar puts before them: `then`, `!`, `NAME=value`."""
    start = 0
    while start < len(words) and (words[start] in _RESERVED or _ASSIGNMENT.match(words[start])):
        start += 2 if words[start] == "function" or words[start : start + 2] == ["time", "-p"] else 1
    return words[start:]


def assignments(words: Sequence[str]) -> dict[str, str]:
    """The variables a command sets for those after it: `NAME=value`, also with `export` before it, and nothing else."""
    rest = list(words[1:]) if words and words[0] in _DECLARES else list(words)
    if not all(_ASSIGNMENT.match(word) for word in rest):
        return {}
    return {name: value[:LONGEST_VALUE] for name, _, value in (word.partition("=") for word in rest)}


def name_of(words: Sequence[str]) -> str:
    """The program, without its folder."""
    return os.path.basename(words[0]) if words else ""


def operands(words: Sequence[str]) -> list[str]:
    """The words that are no options."""
    rest = list(words[1:])
    if "--" in rest:
        at = rest.index("--")
        return [*(word for word in rest[:at] if not word.startswith("-")), *rest[at + 1 :]]
    return [word for word in rest if not word.startswith("-")]


def has(words: Sequence[str], letters: str, *names: str) -> bool:
    """Whether one of these short or long options is given."""
    for word in words[1:]:
        if word == "--":
            return False
        if word.split("=")[0] in names:
            return True
        if re.fullmatch(r"-[A-Za-z0-9]+", word) and set(word[1:]) & set(letters):
            return True
    return False


class _Reader:
    """A cursor over the text."""

    def __init__(self, text: str, depth: int) -> None:
        self._text = text.replace("\\\n", "")
        self._depth = depth
        self._at = 0
        self._command = Command()
        self._pipeline: Pipeline = []
        self._found: list[Pipeline] = []
        self._documents: list[tuple[str, Command]] = []  # here-documents whose text begins on the next line
        self._group: Pipeline = []  # the commands since the last parenthesis was opened
        self._is_after_group = False  # only its closing one was read since

    def read(self) -> Iterator[Pipeline]:
        while self._at < len(self._text):
            self._step()
            yield from self._taken()
        self._end_pipeline()
        yield from self._taken()

    def _taken(self) -> list[Pipeline]:
        found, self._found = self._found, []
        return found

    def _step(self) -> None:
        char = self._text[self._at]
        if char != "\n" and char.isspace():
            self._at += 1
        elif char == "#":
            self._skip_to("\n")
        elif self._text.startswith(("<(", ">("), self._at):
            self._command.words.append(self._word())
        elif redirection := _REDIRECTION.match(self._text, self._at):
            self._redirect(redirection)
        elif operator := _OPERATOR.match(self._text, self._at):
            self._at = operator.end()
            self._end(operator.group())
        else:
            self._command.words.append(self._word())

    def _end(self, operator: str) -> None:
        if operator in ("|", "|&"):
            self._pipeline += self._group if self._is_after_group and not self._command else [self._command]
            self._command = Command()
            return
        if operator == "(" and self._pipeline and not self._command:
            return  # `curl … | (sh)`
        self._end_pipeline()
        self._is_after_group = operator == ")"
        if operator in ("(", ")"):
            self._found.append([scope(1 if operator == "(" else -1)])
            self._group = [] if operator == "(" else self._group
        if operator == "\n":
            self._read_documents()

    def _end_pipeline(self) -> None:
        if self._command or self._pipeline:
            self._found.append([*self._pipeline, self._command])
            self._group += self._found[-1]
        self._pipeline, self._command = [], Command()

    def _redirect(self, redirection: re.Match[str]) -> None:
        kind = redirection.group().lstrip("0123456789")
        self._at = redirection.end()
        while self._text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1
        target = self._word()
        if kind in ("<<", "<<-"):
            self._documents.append((target, self._command))
        elif kind == "<<<":
            self._command.fed += target
        elif kind == "<":
            self._command.inputs.append(target)
        elif ">" in kind and not (kind == ">&" and target.isdigit()):
            self._command.outputs.append(target)

    def _read_documents(self) -> None:
        for end, command in self._documents:
            while self._at < len(self._text):
                start = self._at
                self._at = (self._text.find("\n", start) + 1) or len(self._text) + 1
                line = self._text[start : self._at - 1]
                if line.strip("\t") == end:
                    break
                command.fed += line + "\n"
        self._documents.clear()

    # -- words ------------------------------------------------------------------------------------
    def read_word(self) -> str:
        """The one word there is; what is left of a strange one is taken as it is."""
        found = self._word()
        return found + self._text[self._at :]

    def _word(self) -> str:
        parts: list[str] = []
        while self._at < len(self._text):
            char = self._text[self._at]
            if plain := _PLAIN.match(self._text, self._at):
                self._at = plain.end()
                parts.append(plain.group())
            elif char == "#" and parts:
                self._at += 1
                parts.append(char)
            elif char == "'":
                parts.append(self._quoted("'"))
            elif char == '"':
                parts.append(self._double_quoted())
            elif char == "\\":
                parts.append(self._text[self._at + 1 : self._at + 2])
                self._at += 2
            elif char in "$`" or self._text.startswith(("<(", ">("), self._at):
                parts.append(self._expansion())
            else:
                break
        return "".join(parts)

    def _quoted(self, quote: str) -> str:
        start = self._at + 1
        self._skip_to(quote)
        self._at += 1
        return self._text[start : self._at - 1]

    def _double_quoted(self) -> str:
        parts: list[str] = []
        self._at += 1
        while self._at < len(self._text) and self._text[self._at] != '"':
            char = self._text[self._at]
            if char == "\\" and self._text[self._at + 1 : self._at + 2] in ("\\", '"', "$", "`"):
                parts.append(self._text[self._at + 1])
                self._at += 2
            elif char in "$`":
                parts.append(self._expansion())
            else:
                parts.append(char)
                self._at += 1
        self._at += 1
        return "".join(parts)

    def _expansion(self) -> str:
        """A variable as it is written; a substitution too, its commands found on the way."""
        start = self._at
        if self._text[start] == "`":
            self._inner(self._quoted("`"))
        elif self._text.startswith("$'", start):
            self._at += 1
            return _escaped(self._quoted("'"))
        elif self._text.startswith(("$(", "<(", ">("), start):
            self._at = self._closing(start + 1)
            if not self._text.startswith("$((", start):
                self._inner(self._text[start + 2 : self._at - 1])
        elif self._text.startswith("${", start):
            self._skip_to("}")
            self._at += 1
        else:
            self._at += 1
        return self._text[start : self._at]

    def _inner(self, text: str) -> None:
        if self._depth < DEPTH:
            self._found += [[scope(1)], *pipelines(text, self._depth + 1), [scope(-1)]]

    def _closing(self, opening: int) -> int:
        """Just behind the parenthesis that closes this one."""
        depth, at, quote = 0, opening, ""
        while at < len(self._text):
            char = self._text[at]
            if char == "\\" and quote != "'":
                at += 1
            elif quote:
                quote = "" if char == quote else quote
            elif char in "'\"":
                quote = char
            elif char in "()":
                depth += 1 if char == "(" else -1
                if not depth:
                    return at + 1
            at += 1
        return len(self._text)

    def _skip_to(self, char: str) -> None:
        found = self._text.find(char, self._at + 1)
        self._at = len(self._text) if found < 0 else found


def _escaped(text: str) -> str:
    """`$'\\x72\\x6d'` is `rm`."""
    try:
        return text.encode("latin-1", "backslashreplace").decode("unicode_escape")
    except UnicodeDecodeError:
        return text
