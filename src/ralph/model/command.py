"""A program to start, and how it ended."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

CommandEnding = Literal["exited", "timed_out", "idle", "lingered", "enough", "stopped", "not_started"]
# What a reader of output may return:
ENOUGH_OUTPUT = "enough"  # the command shall end
FINAL_OUTPUT = "last word"  # the command has nothing more to do, unless it goes on by itself


class Bind(Struct, frozen=True, kw_only=True):
    """A folder or a file that stands at another path, for one command in a sandbox."""

    path: str
    source: str
    writable: bool = False


class Command(Struct, frozen=True, kw_only=True):
    """A command with its whole environment: nothing is inherited."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    cwd: str
    stdin: bytes = b""
    merged: bool = False  # stderr goes where stdout goes, in the order written
    timeout: float | None = None  # seconds from start to end
    idle_timeout: float | None = None  # seconds without a byte of output
    linger: float | None = None  # the same, after its last word
    finishes: bool = False  # short, and what it saves would be lost: who wants us to stop waits for it
    # Run with the same environment once it is gone, however it ended and also when we die: ends what a client of a
    # container engine leaves behind, which is no process of ours.
    cleanup: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()  # files outside its work tree that a sandbox must bring in
    writes: tuple[str, ...] = ()  # the same, to be written; they are there before it starts
    pausable: bool = False  # an agent of the loop: what a pause may stop at once
    binds: tuple[Bind, ...] = ()  # what a sandbox puts in the place of what its plan says
    log_fd: int | None = None  # open for writing; what it had printed and we had not read when we died is put there


class CommandExit(Struct, frozen=True, kw_only=True):
    """How a command ended. When this is known, it and all it started are gone."""

    code: int  # negative: ended by that signal
    seconds: float
    ending: CommandEnding = "exited"
    error: str = ""  # why it could not be started
    stopped_by: str = ""  # who wanted it to be stopped
    pipes_held: bool = False  # something it left behind kept its output open
    stopped_after: float | None = None  # seconds until we began to stop it; its end may take longer


class Invocation(Struct, frozen=True, kw_only=True):
    """How an agent wants to be called. In argv, PROMPT_FILE and ANSWER_FILE stand for paths the engine provides."""

    argv: tuple[str, ...]
    stdin: str = ""
    environment: Mapping[str, str] = {}  # what the user's own environment has stands before it
    files: Mapping[str, str] = {}  # `{name.suffix}` in argv → the text of a file the engine writes and names there


GUARDIAN_KILLED = "its guardian was killed"  # CommandExit.error: and the command with it; nobody wanted it to stop
PROMPT_FILE = "{prompt_file}"  # a file holding the prompt
ANSWER_FILE = "{answer_file}"  # where the agent writes its final answer; read, then deleted
