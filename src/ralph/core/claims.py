"""What counts as a claim of completion. A claim is never proof: gates decide."""

import re
from collections.abc import Collection, Iterator

from ralph.core.text.fences import classify_fenced_lines
from ralph.model.loop import Reported

MISPLACED_PROMISE_REASON = "You wrote the promise, but not alone on the last line: end your answer with it."
_PROMISE_LINE = re.compile(r"<promise>((?:(?!</?promise>).)*)</promise>", re.IGNORECASE)
_ANY_PROMISE = re.compile(r"<promise>([^<]*)</promise>", re.IGNORECASE)


def extract_response(text: str) -> str | None:
    """The content of the first `<response>` tag outside code fences; None without one."""
    found = find_first_tag("response", "\n".join(_lines_outside_fences(text)))
    return None if found is None else found.strip()


def extract_promise(text: str) -> str | None:
    """The promise that stands alone on the last non-empty line outside code fences: the strict rule."""
    last = ""
    for line in _lines_outside_fences(text):
        last = line.strip() or last
    found = _PROMISE_LINE.fullmatch(last)
    return found.group(1).strip() if found else None


def extract_promise_loosely(text: str) -> str | None:
    """The first promise tag wherever it stands: the loose rule."""
    found = find_first_tag("promise", text, least=1)
    return None if found is None else found.strip()


def has_misplaced_promise(text: str, accepted: Collection[str]) -> bool:
    """Whether one of these promises was written, and not where it counts."""
    return extract_promise(text) not in accepted and any(
        found[1].strip() in accepted for found in _ANY_PROMISE.finditer(text)
    )


def find_completion_signal(
    signals: tuple[str, ...], expected: str, seen: Reported, *, will_be_checked: bool = False
) -> str:
    """Which of the configured signals (`response`, `promise`, `file:PATH`) claims completion; empty when none does. The
    claim of an agent that was refused something counts only where guardrails will confirm it."""
    if seen.outcome != "finished" and not (will_be_checked and seen.refused_tools):
        return ""
    for signal in signals:
        if signal == "response" and _is_same_answer(extract_response(seen.text), expected):
            return f"<response>{expected}</response>"
        if signal == "promise" and extract_promise(seen.text) == expected:
            return f"<promise>{expected}</promise>"
        if signal.startswith("file:") and signal[5:] in seen.present:
            return f"file {signal[5:]}"
    return ""


def find_first_tag(name: str, text: str, least: int = 0) -> str | None:
    """What the first opening tag that is closed has inside, of so many characters at least. Two searches: one lazy
    pattern would take the square of a hostile text's length."""
    opening = re.search(f"<{name}>", text, re.IGNORECASE)
    if opening is None:
        return None
    closing = re.compile(f"</{name}>", re.IGNORECASE).search(text, opening.end() + least)
    return None if closing is None else text[opening.end() : closing.start()]


def _is_same_answer(answer: str | None, expected: str) -> bool:
    return answer is not None and answer.casefold() == expected.strip().casefold()


def _lines_outside_fences(text: str) -> Iterator[str]:
    """The lines outside code fences. A fence that is never closed swallows the rest: doubt is no claim."""
    return (line for line, said in classify_fenced_lines(text) if said)
