"""A shell line as the simple commands in it: close enough to know which programs and files it names."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

_OPERATORS = ("&&", "||", "|&", ";;", "&>>", "&>", ";", "|", "&", "(", ")", "\n")
_REDIRECTIONS = (">>", ">&", ">|", "<<-", "<<<", "<<", "<&", "<>", ">", "<")
_KEYWORDS = frozenset("! { } if then elif else fi while until do done time coproc".split())
_PIPES = ("|", "|&")
_MAX_DEPTH = 8


class SimpleCommand(Struct, frozen=True, kw_only=True):
    """One program and its arguments, quotes taken away."""

    words: tuple[str, ...]
    folder: str = ""  # where it runs, from the folder of the line; empty: there
    is_compared: bool = False  # what it prints is read by another command: it is looked at, it does not judge
    reads: tuple[str, ...] = ()  # files it gets as its input: a shell carries out what is in them


class _Token(Struct, frozen=True):
    text: str
    is_operator: bool = False
    is_input: bool = False


def parse_shell_line(line: str, folder: str = "", depth: int = 0) -> list[SimpleCommand]:
    """Every simple command, those inside `$(…)` included, in order. Total: any text gives a list."""
    found: list[SimpleCommand] = []
    inner: list[str] = []  # what stands in `$(…)`
    saved: list[str] = []  # folders to come back to at the end of a subshell
    words: list[str] = []
    reads: list[str] = []
    here = folder
    for token in [*_tokenize(line.replace("\\\n", " "), inner), _Token("\n", is_operator=True)]:
        if not token.is_operator:
            (reads if token.is_input else words).append(token.text)
            continue
        words = _drop_keywords(words)
        if words:
            moved = _find_new_folder(words, here)
            if moved is None:
                is_compared = token.text in _PIPES
                found.append(
                    SimpleCommand(words=tuple(words), folder=here, is_compared=is_compared, reads=tuple(reads))
                )
            else:
                here = moved
            is_passed_on = words[0] == "cat" and token.text in _PIPES
            reads, words = [word for word in words[1:] if is_passed_on and word[:1] != "-"], []
        if token.text == "(":
            saved.append(here)
        elif token.text == ")" and saved:
            here = saved.pop()
    if depth < _MAX_DEPTH:
        for text in inner:
            nested = parse_shell_line(text, folder, depth + 1)
            found += [replace(each, is_compared=True) for each in nested]
    return found


def join_path(folder: str, path: str) -> str:
    """A path from the root of the tree, dots resolved; empty where it leads out of it."""
    if path.startswith(("/", "~")):
        return ""
    parts: list[str] = []
    for part in f"{folder}/{path}".split("/"):
        if part == "..":
            if not parts:
                return ""
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _drop_keywords(words: list[str]) -> list[str]:
    while words and (not words[0] or words[0] in _KEYWORDS):
        words = words[1:]
    return [] if words and words[0] in ("for", "case", "function", "select") else words


def _find_new_folder(words: list[str], here: str) -> str | None:
    """Where a `cd` leads; None: it is another command."""
    if words[0] not in ("cd", "pushd"):
        return None
    names = [word for word in words[1:] if not word.startswith("-") and "$" not in word]
    return join_path(here, names[0]) if names else here


def _tokenize(line: str, inner: list[str]) -> Iterator[_Token]:
    """Words and operators; the text inside `$(…)`, `<(…)` and backticks goes to `inner`."""
    word: str | None = None
    skip_next = False  # the word after a redirection
    is_input = False
    at = 0
    while at < len(line):
        char = line[at]
        operator = next((op for op in _OPERATORS if line.startswith(op, at)), "")
        redirection = next((op for op in _REDIRECTIONS if line.startswith(op, at)), "")
        if line.startswith(("$(", "<(", ">("), at) or char == "`":
            text, at = _read_substitution(line, at)
            inner.append(text)
            word = (word or "") + "$()"
        elif char in " \t\r" or operator or redirection or (char == "#" and word is None):
            if word is not None and not (redirection and word.isdigit()):
                if not skip_next or is_input:
                    yield _Token(word, is_input=is_input)
                skip_next = is_input = False
            word = None
            if char == "#":
                at = _find(line, "\n", at)
            elif redirection or operator in ("&>", "&>>"):
                skip_next, is_input = True, redirection == "<"
                at += len(redirection or operator)
            elif operator:
                skip_next = is_input = False
                yield _Token(operator, is_operator=True)
                at += len(operator)
            else:
                at += 1
        else:
            text, at = _read_piece(line, at, inner)
            word = (word or "") + text
    if word is not None and (is_input or not skip_next):
        yield _Token(word, is_input=is_input)


def _read_piece(line: str, at: int, inner: list[str]) -> tuple[str, int]:
    """A quotation, an escaped character or a plain one."""
    char = line[at]
    if char == "\\":
        return line[at + 1 : at + 2], at + 2
    if char == "'":
        end = _find(line, "'", at + 1)
        return line[at + 1 : end], end + 1
    if char == '"':
        return _read_double_quotes(line, at + 1, inner)
    return char, at + 1


def _read_double_quotes(line: str, at: int, inner: list[str]) -> tuple[str, int]:
    text = ""
    while at < len(line) and line[at] != '"':
        if line[at] == "\\" and line[at + 1 : at + 2] in ("$", "`", '"', "\\", "\n"):
            text += line[at + 1].strip("\n")
            at += 2
        elif line.startswith("$(", at) or line[at] == "`":
            command, at = _read_substitution(line, at)
            inner.append(command)
            text += "$()"
        else:
            text += line[at]
            at += 1
    return text, at + 1


def _read_substitution(line: str, at: int) -> tuple[str, int]:
    if line[at] == "`":
        end = _find(line, "`", at + 1)
        return line[at + 1 : end], end + 1
    depth, start = 1, at + 2
    at = start
    while at < len(line) and depth:
        depth += (line[at] == "(") - (line[at] == ")")
        at += 1
    return line[start : at - (depth == 0)], at


def _find(line: str, char: str, at: int) -> int:
    end = line.find(char, at)
    return len(line) if end < 0 else end
