"""Who may come in: one-time links, the session they open, and the token of a file for other programs."""

import os
import secrets
from contextlib import suppress
from hmac import compare_digest

from ralph.core.text.write_error import explain_write_error
from ralph.model.errors import UsageError

MIN_TOKEN_CHARS = 16
MAX_OPEN_LINKS = 32
MAX_TOKEN_BYTES = 4096


class AccessTokens:
    """All secrets of one server; none of them outlives it, but the token of a file."""

    def __init__(self, bearer: str = "") -> None:
        self.session = secrets.token_urlsafe(32)
        self.csrf = secrets.token_urlsafe(32)
        self._bearer = bearer
        self._links: list[str] = []

    def issue_link_token(self) -> str:
        """For one login. Of many that nobody used the oldest are void."""
        self._links = [*self._links[1 - MAX_OPEN_LINKS :], secrets.token_urlsafe(32)]
        return self._links[-1]

    def redeem(self, token: str) -> bool:
        """Whether it opens a session; it does so once."""
        for known in self._links:
            if _is_same(known, token):
                self._links.remove(known)
                return True
        return False

    def is_session(self, value: str) -> bool:
        return _is_same(self.session, value)

    def is_csrf(self, value: str) -> bool:
        return _is_same(self.csrf, value)

    def is_bearer(self, value: str) -> bool:
        return bool(self._bearer) and _is_same(self._bearer, value)


def read_token_file(path: str) -> str:
    """The token in it; a file that is not there is made, with a new one. It is nobody else's to read."""
    with suppress(FileExistsError):
        _create_token_file(path)
    try:
        with open(path, "rb") as file:
            mode, text = os.fstat(file.fileno()).st_mode, file.read(MAX_TOKEN_BYTES)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "give another file with --token-file") from error
    if mode & 0o077:
        raise UsageError(f"other users can read {path}", f"run `chmod 600 {path}`, and replace the token in it")
    token = text.decode("ascii", "replace").strip()
    if len(token) < MIN_TOKEN_CHARS or not token.isascii() or not token.isprintable() or " " in token:
        problem = f"{path} holds no token: {MIN_TOKEN_CHARS} characters or more, without spaces, on one line"
        raise UsageError(problem, "delete the file: ralph makes a new one")
    return token


def _create_token_file(path: str) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise
    except OSError as error:
        raise explain_write_error(path, error) from error
    with os.fdopen(handle, "w") as file:
        file.write(f"{secrets.token_urlsafe(32)}\n")


def _is_same(known: str, given: str) -> bool:
    return compare_digest(known.encode(), given.encode("utf-8", "surrogateescape"))
