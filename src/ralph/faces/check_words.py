"""What every face says of a check that failed."""


def describe_check_failure(command: str, reason: str) -> str:
    """`make test`: Command exited with 2, expected 0"""
    return f"`{command}`: {reason}" if command and reason else command or reason


def shorten_path(path: str, folder: str) -> str:
    """As somebody in that folder would type it, where that is shorter."""
    return path if folder in ("", "/") else path.removeprefix(f"{folder}/")
