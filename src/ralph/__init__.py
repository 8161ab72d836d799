"""Runs coding agents until the work is verifiably done."""

TYPE_CHECKING = False  # typing itself is too dear here
if TYPE_CHECKING:
    from ralph.app.root_agent_loop import Canceled, Context, FatalError, MaxRestartsExceeded, RootAgentLoop

__all__ = ["Canceled", "Context", "FatalError", "MaxRestartsExceeded", "RootAgentLoop"]

_API = {  # name → module; loaded when it is asked for, so that `ralph --version` pays for none of it
    "Canceled": "ralph.app.root_agent_loop",
    "Context": "ralph.app.root_agent_loop",
    "FatalError": "ralph.app.root_agent_loop",
    "MaxRestartsExceeded": "ralph.app.root_agent_loop",
    "RootAgentLoop": "ralph.app.root_agent_loop",
}


def __getattr__(name: str) -> object:
    if name not in _API:
        raise AttributeError(f"module 'ralph' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_API[name]), name)


def __dir__() -> list[str]:
    return __all__
