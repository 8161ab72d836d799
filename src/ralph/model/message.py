"""What is said on a message bus: one message, the types everybody knows, and what can go wrong."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from ralph.model.errors import RalphError

TASK_BUS_FILE = "TASK-MESSAGE-BUS.md"
PROJECT_BUS_FILE = "PROJECT-MESSAGE-BUS.md"

WAIT_MESSAGE_TYPE = "wait_without_restart"
MESSAGE_TYPES: Mapping[str, str] = {
    "FACT": "something found out or finished, true for everybody",
    "PROGRESS": "how far the work is",
    "DECISION": "what was chosen, and why",
    "ERROR": "something failed and stays failed",
    "WARNING": "something failed, the work goes on",
    "QUESTION": "somebody has to answer",
    "INFO": "anything else; a message without a type",
    "ISSUE": "a problem to be tracked; its issue_id is its msg_id",
    "RUN_START": "an agent run began",
    "RUN_STOP": "an agent run ended",
    "RUN_CRASH": "an agent run ended badly",
    WAIT_MESSAGE_TYPE: "the agent waits for an event: end it, do not restart it",
}


class Parent(Struct, frozen=True):
    """A message this one belongs to."""

    msg_id: str
    kind: str = ""  # depends_on, blocks, child_of …


class Message(Struct, frozen=True, kw_only=True):
    """One entry of a bus. Types nobody knows are kept as they are."""

    msg_id: str
    ts: datetime  # UTC
    type: str
    body: str
    project_id: str = ""
    task_id: str = ""
    run_id: str = ""
    issue_id: str = ""
    parents: tuple[Parent, ...] = ()


class BusUnusable(RalphError):
    """The bus is no file we can read or write."""

    code = "bus_unusable"


class NoSuchMessage(RalphError):
    """No message of that id on this bus."""

    code = "no_such_message"
