"""Writes a day's worth of Claude's stream-json: `generate.py stream OUT [MB]` or `generate.py line OUT [MB]`.

The same arguments give the same bytes. A stream has lines from 200 B to 5 MB, most of them of a few kB, as agents
print them; `line` is one tool result on one line. The agent's closing answer is not part of it: the fake agent says it.
"""

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

MB = 1_000_000
SEED = 20_251
SESSION = "0b7d6f5e-58a4-4c39-9d5f-3a2c1e4b6d80"
ASCII = (
    "def return self None True await raise assert import yield lambda class struct mutex socket path buffer offset "
    'retry timeout "quoted" it\'s back\\slash tab\there \\n line\nbreak {brace} [0] <tag> // # (x) += 1; == != -> '
    "the a of and is not found expected but got error warning passed failed tests/unit/test_parser.py src/app/main.ts"
).split(" ")
SIGNS = [*ASCII, *"naïve café → ✓ — … └── “so”".split(" ")]
EMOJI = [*SIGNS, *"✅ 🚀 🔧".split(" ")]
VOCABULARIES = (
    (ASCII, 75),
    (SIGNS, 20),
    (EMOJI, 5),
)  # and how many of 100 texts draw on each: most is English and code
LARGE_EVERY = 20 * MB  # between two tool results of megabytes: a screenshot, a lock file, a log
CHARACTERS_A_BYTE = 0.98  # escapes and multi-byte characters make up the rest of a line
LARGE = (1, 2, 3, 4, 5)  # MB


class Author:
    """Makes events, each with its own text, out of one seeded source of chance."""

    def __init__(self) -> None:
        self.chance = random.Random(SEED)
        self.prose = [" ".join(self.chance.choices(words, k=300_000)) for words, _ in VOCABULARIES]

    def text(self, length: int) -> str:
        """A piece of prose of that many characters, from anywhere in it."""
        whole = self.chance.choices(self.prose, [share for _, share in VOCABULARIES])[0]
        if length >= len(whole):
            whole = whole * (length // len(whole) + 1)
        start = self.chance.randrange(len(whole) - length + 1)
        return whole[start : start + length]

    def line(self) -> bytes:
        """An ordinary event."""
        kind = self.chance.choices((self.said, self.thought, self.called, self.returned), (25, 10, 30, 35))[0]
        return kind()

    def opening(self) -> bytes:
        """The first event of a session."""
        tools = ["Task", "Bash", "Glob", "Grep", "Read", "Edit", "Write", "WebFetch", "TodoWrite"]
        about = {"cwd": "/repo", "tools": tools, "mcp_servers": [], "model": "claude-opus-4-8"}
        return _line({"type": "system", "subtype": "init", "session_id": SESSION, **about})

    def said(self) -> bytes:
        """Text for the user."""
        return self._assistant({"type": "text", "text": self.text(self.chance.randrange(20, 1_500))})

    def thought(self) -> bytes:
        """Thinking, signed."""
        thinking = self.text(self.chance.randrange(100, 3_000))
        return self._assistant({"type": "thinking", "thinking": thinking, "signature": self._hex(800)})

    def called(self) -> bytes:
        """A tool call."""
        name, given = self.chance.choice((self._bash, self._read, self._edit, self._todos))()
        return self._assistant({"type": "tool_use", "id": f"toolu_{self._hex(96)}", "name": name, "input": given})

    def returned(self, characters: int | None = None) -> bytes:
        """A tool's result: of some kB, or of as many characters as asked for."""
        body = self.text(characters or int(min(19_500, self.chance.lognormvariate(7.6, 1.0))))
        # A result is a string or a list of blocks; both are common.
        content: object = body if self.chance.random() < 0.8 else [{"type": "text", "text": body}]
        block = {"tool_use_id": f"toolu_{self._hex(96)}", "type": "tool_result", "content": content, "is_error": False}
        about = {"tool_use_result": {"stdout": body[:200], "stderr": "", "interrupted": False}}
        return _line({"type": "user", "message": {"role": "user", "content": [block]}, **self._envelope(), **about})

    def _assistant(self, block: dict[str, object]) -> bytes:
        message = {
            "id": f"msg_{self._hex(96)}",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-4-8",
            "content": [block],
            "stop_reason": None,
            "usage": {
                "input_tokens": self.chance.randrange(1, 9),
                "cache_creation_input_tokens": self.chance.randrange(10_000),
                "cache_read_input_tokens": self.chance.randrange(100_000),
                "output_tokens": self.chance.randrange(900),
                "service_tier": "standard",
            },
        }
        return _line({"type": "assistant", "message": message, **self._envelope()})

    def _envelope(self) -> dict[str, object]:
        return {"parent_tool_use_id": None, "session_id": SESSION, "uuid": self._hex(128)}

    def _hex(self, bits: int) -> str:
        return f"{self.chance.getrandbits(bits):0{bits // 4}x}"

    def _bash(self) -> tuple[str, dict[str, object]]:
        return "Bash", {"command": self.text(self.chance.randrange(20, 300)), "description": "Runs the tests"}

    def _read(self) -> tuple[str, dict[str, object]]:
        return "Read", {"file_path": f"/repo/src/module_{self.chance.randrange(99)}.py"}

    def _edit(self) -> tuple[str, dict[str, object]]:
        old, new = (self.text(self.chance.randrange(50, 2_000)) for _ in range(2))
        return "Edit", {"file_path": "/repo/src/app.py", "old_string": old, "new_string": new}

    def _todos(self) -> tuple[str, dict[str, object]]:
        states = ("completed", "in_progress", "pending")
        items = [{"content": self.text(60), "status": state, "activeForm": "Working"} for state in states]
        return "TodoWrite", {"todos": items}


def _line(event: dict[str, object]) -> bytes:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def stream(size: int) -> Iterator[bytes]:
    """Lines of a long session, `size` bytes or one line more."""
    author = Author()
    made, larges = len(opening := author.opening()), 0
    yield opening
    while made < size:
        if made >= (larges + 1) * LARGE_EVERY:
            line = author.returned(int(LARGE[larges % len(LARGE)] * MB * CHARACTERS_A_BYTE))
            larges += 1
        else:
            line = author.line()
        made += len(line)
        yield line


def single_line(size: int) -> Iterator[bytes]:
    """One tool result of about `size` bytes."""
    yield Author().returned(int(size * CHARACTERS_A_BYTE))


def main() -> None:
    """Write what the command line asks for."""
    kinds = {"stream": (stream, 200), "line": (single_line, 50)}
    kind, out, *size = sys.argv[1:]
    lines, usual = kinds[kind]
    with Path(out).open("wb", buffering=1 << 20) as file:
        file.writelines(lines(int(size[0] if size else usual) * MB))


if __name__ == "__main__":
    main()
