"""A session whose agents and checks run in a sandbox, in a work tree that was made ready."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from ralph.app.agent_command import AgentCommand
from ralph.app.paths import Paths
from ralph.app.sandbox.choice import Isolation
from ralph.app.session import Session
from ralph.config.schema import SandboxSettings
from ralph.core.text.secrets import redact
from ralph.engine.emit import emit
from ralph.model.events import Noted


@contextmanager
def contain_session(
    session: Session,
    isolation: Isolation,
    settings: SandboxSettings,
    *,
    paths: Paths,
    commands: Sequence[AgentCommand],
    protected: Sequence[str] = (),
    readable: Sequence[str] = (),
    writable: Sequence[str] = (),
    used: Sequence[str] = (),
    used_folders: Sequence[str] = (),
    setup: str = "",
    is_fresh: bool = False,
) -> Iterator[Session]:
    """The same session in the sandbox that was chosen, while the block lasts. `paths`: of the work tree; `protected`:
    patterns; `used`: files in the agent's reach that we read or write, and folders of such files; `setup`: the command
    that makes the work tree ready; `is_fresh`: it was just checked out, and no agent has worked in it."""
    if isolation.kind is None:
        _prepare_tree(session, setup, paths, is_fresh=is_fresh)
        yield session
        return
    from ralph.app.sandbox.opening import open_containment  # most runs start without
    from ralph.app.sandbox.plan import SandboxRequest

    everyone = [each for command in commands for each in (command, *command.substitutes.values())]
    request = SandboxRequest(
        run=session.run,
        paths=paths,
        settings=settings,
        protected=protected,
        adapters=[*dict.fromkeys(command.adapter for command in everyone)],
        programs=[command.argv[0] for command in everyone if command.argv],
        readable=readable,
        writable=writable,
        used=used,
        used_folders=used_folders,
        variables=session.variables,
    )
    with open_containment(isolation.kind, request, session.processes) as containment:
        contained = replace(session, containment=containment, passed_over=isolation.describe_passed_over())
        _prepare_tree(contained, setup, paths, is_fresh=is_fresh)
        yield contained


def _prepare_tree(session: Session, setup: str, paths: Paths, *, is_fresh: bool) -> None:
    if not setup.strip():
        return
    from ralph.app.sandbox.opening import locate_sandboxes, name_project
    from ralph.app.sandbox.preparation import prepare_tree
    from ralph.app.sandbox.shared_setup import SharedSetup

    emit(session.watchers, 0, Noted(f"setup: {redact(setup)}"))
    base, environment = locate_sandboxes(session.variables), session.gate_environment
    installed = os.path.join(base, "installed", name_project(paths.main_root))

    def share(digest: str) -> SharedSetup:
        return SharedSetup(os.path.join(installed, digest), environment, session.processes)

    prepared = prepare_tree(
        setup,
        paths.folder,
        marks=os.path.join(base, "setups"),
        environment=environment,
        processes=session.contained,
        share=share if is_fresh else None,
    )
    if prepared != "run":
        how = "done before" if prepared == "known" else "taken from another work tree"
        emit(session.watchers, 0, Noted(f"setup: {how}, with the same lock files"))
