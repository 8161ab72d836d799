"""Text is UTF-8, or it is refused with the place of the first byte that is not."""

from ralph.model.errors import UsageError

BYTE_ORDER_MARK = "\ufeff"


def refuse_undecoded(text: str, name: str) -> None:
    """Refuse text that holds bytes which are not UTF-8. Python keeps them as half characters (`surrogateescape`)."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        start = error.start
        line = text.count("\n", 0, start) + 1
        before = text[text.rfind("\n", 0, start) + 1 : start].encode("utf-8", "surrogateescape")
        value = f"0x{ord(text[start]) & 0xFF:02x}"
        raise UsageError(
            f"{name} is not UTF-8: line {line}, byte {len(before) + 1} is {value}",
            "convert it to UTF-8, for example with `iconv -f latin1 -t utf-8`",
        ) from None
