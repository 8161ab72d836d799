"""The errors a user can meet. Each says what, which, and what to do next."""


class RalphError(Exception):
    """An expected failure: one line for the user, an exit code, no traceback."""

    code = "error"
    exit_code = 2

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(RalphError):
    """The command line does not make sense."""

    code = "usage"


class ConfigError(RalphError):
    """A settings file does not make sense."""

    code = "config"


class MachineError(RalphError):
    """Something outside ralph's control is missing or not writable on this machine."""

    code = "environment"


class DiskError(MachineError):
    """The disk is full or broken, so that work could not be kept. It says nothing about the work."""


class StateBusy(MachineError):
    """Another program holds what ralph remembers; the same may work a moment later."""


class UnknownExtension(RalphError):
    """No agent, gate or store of that name."""

    code = "unknown_extension"


class BrokenExtension(ConfigError):
    """An agent, guardrail or verifier of an installed package that does not do its part."""

    code = "broken_extension"


class InsideAgent(RalphError):
    """An agent of a living run asked for what only the user may do."""

    code = "inside_agent"


class Busy(RalphError):
    """Another process holds the repository, the story loop's marker or the message bus."""

    code = "busy"


class NoSuchRun(RalphError):
    """No run of that name, or none at all."""

    code = "no_such_run"


class CorruptState(RalphError):
    """The database holds something ralph did not write."""

    code = "corrupt_state"


class StateGone(RalphError):
    """What ralph knows of a run was deleted while it went on."""

    code = "state_gone"
    exit_code = 1
