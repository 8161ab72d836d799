"""The values of the public API as enumerations. Each is equal to its string, and both are taken everywhere."""

import enum


class TaskStatus(enum.StrEnum):
    """Where a task stands."""

    TODO = "todo"
    IN_PROGRESS = "in_progress"
    BLOCKED = "blocked"
    DONE = "done"
    CANCELLED = "cancelled"


class AgentType(enum.StrEnum):
    """Who works on a task."""

    CODER = "coder"
    REVIEWER = "reviewer"
    TESTER = "tester"
    QA = "qa"


class PipelineStage(enum.StrEnum):
    """The stages of the pipeline, in their order; each has its agent's name."""

    CODER = "coder"
    REVIEWER = "reviewer"
    TESTER = "tester"
    QA = "qa"

    @property
    def agent_type(self) -> AgentType:
        return AgentType(self.value)


StageLike = str | enum.Enum  # "coder", AgentType.CODER, PipelineStage.CODER, or of an enumeration of the caller's


def name_stage(stage: StageLike) -> str:
    """Its plain name."""
    return str(stage.value) if isinstance(stage, enum.Enum) else stage
