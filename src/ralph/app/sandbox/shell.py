"""Use case: a shell, or one command, in the sandbox of this work tree, on the user's own terminal."""

import os
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ralph.app import registry
from ralph.app.paths import Paths
from ralph.app.processes import open_short_lived_processes
from ralph.app.sandbox.opening import open_sandbox
from ralph.app.sandbox.plan import SandboxRequest
from ralph.config.schema import Settings
from ralph.model.command import Command
from ralph.model.sandbox import SandboxKind
from ralph.process.foreground import run_in_foreground

_OWN_TERMINAL = "--new-session"  # without it, a shell has the user's terminal and can stop and resume its jobs


def open_sandbox_shell(
    kind: SandboxKind, settings: Settings, paths: Paths, *, variables: Mapping[str, str], words: Sequence[str] = ()
) -> int:
    """Its exit code."""
    adapters = [registry.resolve_adapter(settings.agent.command)] if settings.agent.command else []
    request = SandboxRequest(
        run="shell",
        paths=paths,
        settings=settings.sandbox,
        protected=settings.protected,
        adapters=adapters,
        variables=variables,
    )
    argv = tuple(words) or (variables.get("SHELL") or "/bin/sh",)
    with open_short_lived_processes() as processes, open_sandbox(kind, request, processes) as sandbox:
        inner = Command(argv=_find_words(argv), environment=dict(variables), cwd=os.path.realpath(paths.folder))
        wrapped = sandbox.wrap(inner)
        outer = tuple(word for word in wrapped.argv[: len(wrapped.argv) - len(inner.argv)] if word != _OWN_TERMINAL)
        return run_in_foreground(replace(wrapped, argv=(*outer, *inner.argv)))


def _find_words(argv: tuple[str, ...]) -> tuple[str, ...]:
    """A program's name is looked up inside."""
    return argv if "/" in argv[0] else ("/bin/sh", "-c", 'exec "$@"', "sh", *argv)
