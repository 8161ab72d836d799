"""A task of the pipeline and what "done" means for it, in measurable words."""

import enum
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from msgspec import Struct

from ralph.model.enumerations import StageLike, name_stage

TaskStatusName = Literal["todo", "in_progress", "blocked", "done", "cancelled"]
Role = Literal["coder", "reviewer", "tester", "qa"]

TASK_STATUSES: tuple[TaskStatusName, ...] = ("todo", "in_progress", "blocked", "done", "cancelled")
ROLES: tuple[Role, ...] = ("coder", "reviewer", "tester", "qa")  # in the order of the pipeline

_NameT = TypeVar("_NameT", TaskStatusName, Role)


class VerificationMethod(enum.Enum):
    """How a promise is verified."""

    STRING_MATCH = "string_match"
    SEMANTIC = "semantic"
    EXTERNAL = "external"
    MULTI_STAGE = "multi_stage"


class CompletionCriteria(Struct, frozen=True):
    """What one agent promises, and how the promise is verified."""

    promise: str
    description: str
    verification_method: VerificationMethod
    verification_config: Mapping[str, object] = {}
    max_iterations: int | None = None  # None: by settings

    def to_dict(self) -> dict[str, object]:
        return {
            "promise": self.promise,
            "description": self.description,
            "verification_method": self.verification_method.value,
            "verification_config": self.verification_config,
            "max_iterations": self.max_iterations,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "CompletionCriteria":
        """KeyError names what is missing, ValueError an unknown method."""
        return cls(
            promise=data["promise"],
            description=data["description"],
            verification_method=VerificationMethod(data["verification_method"]),
            verification_config=data.get("verification_config") or {},
            max_iterations=data.get("max_iterations"),
        )


class TaskCompletionSpec(Struct, frozen=True, omit_defaults=True):
    """What "done" means for a task; an agent without criteria of its own gets the default ones."""

    outcome: str
    acceptance_criteria: list[str]
    coder: CompletionCriteria | None = None
    reviewer: CompletionCriteria | None = None
    tester: CompletionCriteria | None = None
    qa: CompletionCriteria | None = None
    may_change_nothing: bool = False  # it may be done without a change to any file

    def get_criteria_for_agent(self, agent_type: StageLike) -> CompletionCriteria | None:
        """The task's own criteria for that agent; None without any, or for an agent nobody knows."""
        name = name_stage(agent_type)
        criteria: CompletionCriteria | None = getattr(self, name) if name in ROLES else None
        return criteria

    def to_dict(self) -> dict[str, object]:
        """As JSON has it; agents without criteria are left out."""
        own = {role: criteria for role in ROLES if (criteria := self.get_criteria_for_agent(role))}
        return {
            "outcome": self.outcome,
            "acceptance_criteria": self.acceptance_criteria,
            **{role: criteria.to_dict() for role, criteria in own.items()},
            **({"may_change_nothing": True} if self.may_change_nothing else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "TaskCompletionSpec":
        """KeyError names what is missing."""
        own = {role: CompletionCriteria.from_dict(data[role]) for role in ROLES if data.get(role)}
        may_change_nothing = bool(data.get("may_change_nothing", False))
        return cls(data["outcome"], data["acceptance_criteria"], **own, may_change_nothing=may_change_nothing)


SETUP_KEY = "ralph_setup"  # of a task's metadata: its own `setup` command


class Task(Struct, frozen=True):
    """One piece of work on its way through the pipeline."""

    id: str
    spec_id: str
    title: str
    description: str = ""
    status: TaskStatusName = "todo"
    stage: Role | None = None  # the stage it is in, or stopped in
    priority: int = 0  # lower comes first
    depends_on: tuple[str, ...] = ()
    assignee: str = ""
    completion_spec: TaskCompletionSpec | None = None
    iteration: int = 0  # of the current stage
    metadata: Mapping[str, object] = {}  # JSON
    created_at: float = 0.0  # unix time
    updated_at: float = 0.0

    @property
    def dependencies(self) -> list[str]:
        """The tasks it waits for, as SpecFlow calls them."""
        return [*self.depends_on]

    @property
    def setup(self) -> str:
        """The command that makes its work tree ready; empty: the project's."""
        return str(self.metadata.get(SETUP_KEY) or "")

    def to_dict(self) -> dict[str, object]:
        """As JSON has it, in SpecFlow's names."""
        return {
            "id": self.id,
            "spec_id": self.spec_id,
            "title": self.title,
            "description": self.description,
            "status": str(self.status),
            "stage": self.stage and name_stage(self.stage),
            "priority": self.priority,
            "dependencies": self.dependencies,
            "assignee": self.assignee,
            "created_at": _format_time(self.created_at),
            "updated_at": _format_time(self.updated_at),
            "metadata": {**self.metadata},
            "iteration": self.iteration,
            "completion_spec": self.completion_spec.to_dict() if self.completion_spec else None,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Task":
        """KeyError names what is missing, ValueError an unknown status or stage, or a time that is none."""
        completion, stage = data.get("completion_spec"), data.get("stage")
        status = _find_name(TASK_STATUSES, data.get("status") or "todo", "status")
        return cls(
            data["id"],
            data["spec_id"],
            data["title"],
            data.get("description") or "",
            status=status,
            stage=find_role(stage) if stage else None,
            priority=data.get("priority") or 0,
            depends_on=tuple(data.get("dependencies") or ()),
            assignee=data.get("assignee") or "",
            completion_spec=TaskCompletionSpec.from_dict(completion) if completion else None,
            iteration=data.get("iteration") or 0,
            metadata=data.get("metadata") or {},
            created_at=parse_time(data.get("created_at")),
            updated_at=parse_time(data.get("updated_at")),
        )


def parse_time(value: str | float | datetime | None) -> float:
    """Unix time out of ISO 8601, in local time where it names no zone; 0 for none."""
    moment = datetime.fromisoformat(value) if isinstance(value, str) and value else value or 0.0
    return moment.timestamp() if isinstance(moment, datetime) else float(moment)


def _format_time(seconds: float) -> str | None:
    return datetime.fromtimestamp(seconds, UTC).isoformat() if seconds else None


def find_role(stage: StageLike) -> Role:
    """The agent of a stage; ValueError for one nobody knows."""
    return _find_name(ROLES, stage, "stage")


def _find_name(known: tuple[_NameT, ...], wanted: StageLike, what: str) -> _NameT:
    for name in known:
        if name == name_stage(wanted):
            return name
    raise ValueError(f"unknown {what} {name_stage(wanted)!r}; known: {', '.join(map(str, known))}")


class AgentDefaults(Struct, frozen=True, kw_only=True):
    """What holds for an agent where the task says nothing."""

    promise: str = "STAGE_COMPLETE"
    max_iterations: int = 10
    verification_method: VerificationMethod = VerificationMethod.SEMANTIC
    verification_config: Mapping[str, object] = {}
    enabled: bool = True  # False: one single pass


AGENT_DEFAULTS: Mapping[str, AgentDefaults] = {
    "coder": AgentDefaults(
        promise="IMPLEMENTATION_COMPLETE", max_iterations=15, verification_method=VerificationMethod.EXTERNAL
    ),
    "reviewer": AgentDefaults(
        promise="REVIEW_PASSED", max_iterations=5, verification_method=VerificationMethod.SEMANTIC
    ),
    "tester": AgentDefaults(promise="TESTS_PASSED", max_iterations=10, verification_method=VerificationMethod.EXTERNAL),
    "qa": AgentDefaults(promise="QA_PASSED", max_iterations=5, verification_method=VerificationMethod.MULTI_STAGE),
}
PROMISE_ALIASES: Mapping[str, tuple[str, ...]] = {  # what SpecFlow's first version called the same promise
    "REVIEW_PASSED": ("REVIEW_COMPLETE",),
    "TESTS_PASSED": ("TESTS_COMPLETE",),
}


class VerificationAttempt(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One look at what an agent promised, kept for audit."""

    iteration: int
    promise_found: bool
    verified: bool
    reason: str
    timestamp: str  # ISO 8601
    agent: str = ""
    method: str = ""
    digest: str = ""  # SHA-256 of what the verification itself printed
    seconds: float = 0.0
    cost_usd: float | None = None
    notes: tuple[str, ...] = ()  # fall-backs and warnings, for the log
    detail: str = ""  # what the verification itself printed, shortened: for the next prompt
    red_before: bool | None = None  # whether its checks failed before the work began; None: nobody looked
    by_words: bool = False  # nothing but the agent's own words spoke for it
    judge: str = ""  # who judged; empty: nobody was asked
    command: str = ""  # the one that decided; empty: none was run
    log: str = ""  # the file of the run's folder that keeps all it printed
    run: str = ""  # which run that is
