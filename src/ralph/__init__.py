"""Runs coding agents until the work is verifiably done."""

TYPE_CHECKING = False  # typing itself is too dear here
if TYPE_CHECKING:
    from ralph.app.api.execution_pipeline import ExecutionPipeline, ExecutionResult
    from ralph.app.api.promise_verifier import PromiseVerifier
    from ralph.app.api.ralph_loop import RalphLoop, RalphLoopConfig, RalphLoopState
    from ralph.app.root_agent_loop import Canceled, Context, FatalError, MaxRestartsExceeded, RootAgentLoop
    from ralph.model.spec import CompletionCriteria, Task, TaskCompletionSpec, VerificationMethod

__all__ = [
    "Canceled",
    "CompletionCriteria",
    "Context",
    "ExecutionPipeline",
    "ExecutionResult",
    "FatalError",
    "MaxRestartsExceeded",
    "PromiseVerifier",
    "RalphLoop",
    "RalphLoopConfig",
    "RalphLoopState",
    "RootAgentLoop",
    "Task",
    "TaskCompletionSpec",
    "VerificationMethod",
]

_API = {  # name → module; loaded when it is asked for, so that `ralph --version` pays for none of it
    "Canceled": "ralph.app.root_agent_loop",
    "CompletionCriteria": "ralph.model.spec",
    "Context": "ralph.app.root_agent_loop",
    "ExecutionPipeline": "ralph.app.api.execution_pipeline",
    "ExecutionResult": "ralph.app.api.execution_pipeline",
    "FatalError": "ralph.app.root_agent_loop",
    "MaxRestartsExceeded": "ralph.app.root_agent_loop",
    "PromiseVerifier": "ralph.app.api.promise_verifier",
    "RalphLoop": "ralph.app.api.ralph_loop",
    "RalphLoopConfig": "ralph.app.api.ralph_loop",
    "RalphLoopState": "ralph.app.api.ralph_loop",
    "RootAgentLoop": "ralph.app.root_agent_loop",
    "Task": "ralph.model.spec",
    "TaskCompletionSpec": "ralph.model.spec",
    "VerificationMethod": "ralph.model.spec",
}


def __getattr__(name: str) -> object:
    if name not in _API:
        raise AttributeError(f"module 'ralph' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_API[name]), name)


def __dir__() -> list[str]:
    return __all__
