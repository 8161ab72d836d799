"""Which keys mean what, and which are meant for somebody else."""

import pytest

from ralph.faces.cli.live.keys import MAX_TYPED_BYTES, KeyActions, KeyReader


class Desk:
    """Types keys at given times, and knows what they did."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.now = 100.0
        self.keys = KeyReader(
            KeyActions(
                pause=lambda: self.done.append("pause"),
                note=lambda text: self.done.append(f"note {text}"),
                stop=lambda: self.done.append("stop"),
                help=lambda: self.done.append("help"),
            )
        )

    def press(self, *keys: bytes, gap: float = 1.0) -> None:
        """One after the other, with so many seconds of silence after each."""
        for key in keys:
            self.keys.feed(key, self.now)
            self.now += gap
            self.keys.feed(b"", self.now)


@pytest.mark.parametrize(("key", "done"), [(b"p", ["pause"]), (b"?", ["help"]), (b"h", ["help"]), (b"x", [])])
def test_a_key_by_itself_counts(key: bytes, done: list[str]) -> None:
    desk = Desk()
    desk.press(key)
    assert desk.done == done
    assert desk.keys.typed == (b"" if done else key)


@pytest.mark.parametrize("gap", [0.0, 0.2])
def test_words_typed_ahead_are_no_keys_and_are_kept(gap: float) -> None:
    desk = Desk()
    desk.press(*(bytes([byte]) for byte in b"python -q"), gap=gap)
    desk.press(b"\n")
    desk.keys.feed(b"npq?", desk.now)
    assert desk.done == []
    assert desk.keys.prompt == ""
    assert desk.keys.typed == b"python -q\nnpq?"
    desk.keys.feed(b"x" * 9999, desk.now)
    assert len(desk.keys.typed) == MAX_TYPED_BYTES


def test_a_key_counts_once_nothing_follows_it() -> None:
    desk = Desk()
    desk.keys.feed(b"p", 100.0)
    desk.keys.feed(b"", 100.1)
    assert desk.done == []
    assert desk.keys.patience
    desk.keys.feed(b"", 100.5)
    assert desk.done == ["pause"]
    assert desk.keys.patience is None


def test_stopping_is_asked_for_twice() -> None:
    desk = Desk()
    desk.press(b"q")
    assert desk.keys.prompt == "Stop after this step? y/n"
    desk.press(b"n")
    assert (desk.done, desk.keys.prompt) == ([], "")
    desk.press(b"q", b"y")
    assert desk.done == ["stop"]


@pytest.mark.parametrize(
    ("keys", "done"),
    [
        ([b"use ints\r"], ["note use ints"]),
        ([b"u", b"s", b"e", b"x", b"\x7f", b"\r"], ["note use"]),
        ([b"wrong", b"\x15", b"right\n"], ["note right"]),
        (["é…".encode()[:1], "é…".encode()[1:], b"\r"], ["note é…"]),  # half a character at a time
        ([b"a\x1b", b"\x1b[A", b"\r"], ["note a"]),  # an arrow key is no character
        ([b"a", b"\x1b"], []),
        ([b"  \r"], []),
    ],
)
def test_a_note_is_typed_and_sent(keys: list[bytes], done: list[str]) -> None:
    desk = Desk()
    desk.press(b"n")
    assert desk.keys.prompt.endswith("cancels): ")
    desk.press(*keys, gap=0.01)
    assert desk.done == done
    assert desk.keys.prompt == ""


def test_the_hint_says_what_p_does_now() -> None:
    desk = Desk()
    assert desk.keys.hint == "p pause, n note, q stop"
    desk.keys.is_paused = True
    assert desk.keys.hint == "p resume, n note, q stop"
