"""What is not UTF-8 is refused with its place."""

import pytest

from ralph.core.text.utf8 import refuse_undecoded
from ralph.model.errors import UsageError


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (b"\xff\xfea\x00", "line 1, byte 1 is 0xff"),
        ("é\né".encode() + b"\xe9", "line 2, byte 3 is 0xe9"),
        (b"one\n\ntwo \xe9 \xe8", "line 3, byte 5 is 0xe9"),
    ],
)
def test_the_first_wrong_byte_is_named_by_line_and_byte(data: bytes, where: str) -> None:
    with pytest.raises(UsageError) as refused:
        refuse_undecoded(data.decode("utf-8", "surrogateescape"), "the prompt")
    assert refused.value.message == f"the prompt is not UTF-8: {where}"


def test_any_other_text_is_fine() -> None:
    refuse_undecoded("schön\n🚪", "the prompt")
