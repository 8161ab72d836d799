"""What fits into an argument vector, and what the user already put there."""

from ralph.model.command import ANSWER_FILE, PROMPT_FILE

MAX_ARGUMENT_BYTES = 100_000  # bytes; the kernel takes 128 KiB an argument


def has_flag(flags: tuple[str, ...], *names: str) -> bool:
    """Whether the user's flags already hold one of these."""
    return any(flag == name or flag.startswith(f"{name}=") for flag in flags for name in names)


def default_flag(flags: tuple[str, ...], *addition: str) -> tuple[str, ...]:
    """A flag and its value, or nothing when the user gave that flag."""
    return () if has_flag(flags, addition[0]) else addition


def find_argv_problem(prompt: str) -> str:
    """Why this prompt cannot be an argument; empty when it can."""
    if len(prompt.encode("utf-8", "surrogatepass")) > MAX_ARGUMENT_BYTES:
        return f"is longer than {MAX_ARGUMENT_BYTES:,} bytes"
    if "\0" in prompt:
        return "has a NUL character"
    # The engine would put a path in its place.
    return next((f"contains {mark}" for mark in (PROMPT_FILE, ANSWER_FILE) if mark in prompt), "")


def is_option_value(prompt: str) -> bool:
    """Whether a program will take it as the value of the option before it."""
    return bool(prompt) and not prompt.startswith("-") and not find_argv_problem(prompt)
