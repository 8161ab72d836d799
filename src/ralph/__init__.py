"""Runs coding agents until the work is verifiably done."""

TYPE_CHECKING = False  # typing itself is too dear here
if TYPE_CHECKING:
    from ralph.app.pipeline.api_loop import RalphLoop, RalphLoopConfig, RalphLoopState
    from ralph.app.pipeline.api_pipeline import ExecutionPipeline, ExecutionResult
    from ralph.app.pipeline.api_verifier import PromiseVerifier
    from ralph.app.supervise.api import Canceled, Context, FatalError, MaxRestartsExceeded, RootAgentLoop
    from ralph.model.enumerations import AgentType, PipelineStage, TaskStatus
    from ralph.model.spec import CompletionCriteria, Task, TaskCompletionSpec, VerificationMethod

__all__ = [
    "AgentType",
    "Canceled",
    "CompletionCriteria",
    "Context",
    "ExecutionPipeline",
    "ExecutionResult",
    "FatalError",
    "MaxRestartsExceeded",
    "PipelineStage",
    "PromiseVerifier",
    "RalphLoop",
    "RalphLoopConfig",
    "RalphLoopState",
    "RootAgentLoop",
    "Task",
    "TaskCompletionSpec",
    "TaskStatus",
    "VerificationMethod",
]

_API = {  # name → module; loaded when it is asked for, so that `ralph --version` pays for none of it
    "AgentType": "ralph.model.enumerations",
    "Canceled": "ralph.app.supervise.api",
    "CompletionCriteria": "ralph.model.spec",
    "Context": "ralph.app.supervise.api",
    "ExecutionPipeline": "ralph.app.pipeline.api_pipeline",
    "ExecutionResult": "ralph.app.pipeline.api_pipeline",
    "FatalError": "ralph.app.supervise.api",
    "MaxRestartsExceeded": "ralph.app.supervise.api",
    "PipelineStage": "ralph.model.enumerations",
    "PromiseVerifier": "ralph.app.pipeline.api_verifier",
    "RalphLoop": "ralph.app.pipeline.api_loop",
    "RalphLoopConfig": "ralph.app.pipeline.api_loop",
    "RalphLoopState": "ralph.app.pipeline.api_loop",
    "RootAgentLoop": "ralph.app.supervise.api",
    "Task": "ralph.model.spec",
    "TaskCompletionSpec": "ralph.model.spec",
    "TaskStatus": "ralph.model.enumerations",
    "VerificationMethod": "ralph.model.spec",
}


def __getattr__(name: str) -> object:
    if name not in _API:
        raise AttributeError(f"module 'ralph' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_API[name]), name)


def __dir__() -> list[str]:
    return __all__
