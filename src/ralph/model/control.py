"""What people tell runs and tasks while they go on: pauses, notes, answers."""

from typing import Literal

from msgspec import Struct

SubjectKind = Literal["run", "task", "execute"]


class Subject(Struct, frozen=True):
    """What is steered: a run, a task of the board in whichever run, or `ralph execute` as a whole (no name)."""

    kind: SubjectKind
    name: str = ""


WHOLE_EXECUTE = Subject("execute")
RETRY_WISH = "retry"  # of a task: a `ralph execute` that has tried it may try it again


class PersonNote(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A note of a person for the next prompt. Stored in journals: fields are wire format."""

    id: int
    text: str
    by: str = ""
    question: str = ""  # the one it answers; empty: nobody asked


class StoredNote(Struct, frozen=True, kw_only=True):
    """A note as it is kept, and who has heard it."""

    note: PersonNote
    subject: Subject
    at: float  # unix time
    heard_by: str = ""  # the run; empty: nobody yet


class PauseRecord(Struct, frozen=True, kw_only=True):
    """No agent starts until somebody lifts it."""

    subject: Subject
    by: str
    at: float  # unix time
    now: bool = False  # an agent at work is stopped, too


class OpenQuestion(Struct, frozen=True, kw_only=True):
    """What an agent asked, and nobody has answered."""

    run: str
    subject: Subject
    text: str
    at: float


class Wishes(Struct, frozen=True, kw_only=True):
    """What people want of a run right now."""

    paused_by: str = ""
    notes: tuple[PersonNote, ...] = ()  # that no agent has heard
