"""Text people give: a file, `-` for standard input, or the words themselves. It is UTF-8, or it is refused."""

import io
import sys
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from ralph.core.text.utf8 import BYTE_ORDER_MARK, refuse_undecoded
from ralph.model.errors import UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

STDIN_NAME = "-"


class TextFile(Struct, frozen=True):
    """A file, or standard input. It is read when its text is asked for."""

    name: str

    @property
    def is_stdin(self) -> bool:
        return self.name == STDIN_NAME

    def read_text(self) -> str:
        """The whole text, lines ended by `\\n`, without a byte order mark."""
        label = "standard input" if self.is_stdin else repr(self.name)
        try:
            data = sys.stdin.buffer.read() if self.is_stdin else _read_bytes(self.name)
        except OSError as error:
            raise UsageError(f"cannot read {label}: {error.strerror}", "name a text file, or `-`") from None
        return _decode_text(data, label)


class TextFileParam(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.4
    """The name of a file with text, or `-`."""

    name = "file"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> TextFile:
        return value if isinstance(value, TextFile) else TextFile(str(value))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


def _read_bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _decode_text(data: bytes, name: str) -> str:
    with io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="surrogateescape") as lines:
        text = lines.read().removeprefix(BYTE_ORDER_MARK)
    refuse_undecoded(text, name)
    return text
