"""What of this machine is in a container, in the words of `docker run` and `podman run`."""

import os
from collections.abc import Iterable, Iterator

from ralph.model.command import Command
from ralph.model.sandbox import SandboxPlan
from ralph.sandboxes._home import fill_scratch
from ralph.sandboxes._mounts import Mount, is_below, list_command_mounts, list_plan_mounts, order_mounts


def list_container_mounts(plan: SandboxPlan) -> list[Mount]:
    """The private home is made, too. The system is the image's, and so are tools: those of this machine may not run
    there."""
    moved = fill_scratch(plan)
    left_out = {"/tmp", "/var/tmp", *plan.home.tools}
    own = (mount for mount in list_plan_mounts(plan) if mount.path not in left_out)
    ordered = order_mounts((*own, *(Mount(path, "bind", place) for path, place in moved.items())))
    for mount in ordered:
        _make_mount_point(plan, mount)
    return ordered


def _make_mount_point(plan: SandboxPlan, mount: Mount) -> None:
    """In the private home: an engine that runs as root would make it root's."""
    below = os.path.relpath(mount.path, plan.home.folder)
    if below == "." or below.startswith(".."):
        return
    path = os.path.join(plan.scratch, "home", below)
    is_folder = mount.kind == "tmpfs" or os.path.isdir(mount.source or mount.path)
    os.makedirs(path if is_folder else os.path.dirname(path), mode=0o700, exist_ok=True)
    if not is_folder and not os.path.exists(path):
        open(path, "w").close()


def replace_mounts(mounts: Iterable[Mount], command: Command) -> list[Mount]:
    """Those of one command come in the place of the plan's, and of what the plan has below them."""
    own = list_command_mounts(command)
    stands = [bind.path for bind in command.binds]
    kept = [mount for mount in mounts if not any(is_below(mount.path, path) for path in stands)]
    return order_mounts((*kept, *own))


def list_mount_words(mounts: Iterable[Mount]) -> Iterator[str]:
    for mount in mounts:
        yield from ("--mount", render_mount(mount))


def render_mount(mount: Mount) -> str:
    if mount.kind == "tmpfs":
        return ",".join(map(_quote_field, ("type=tmpfs", f"destination={mount.path}")))
    fields = ["type=bind", f"source={mount.source or mount.path}", f"target={mount.path}"]
    if mount.kind == "ro-bind":
        fields.append("readonly")
    return ",".join(map(_quote_field, fields))


def _quote_field(field: str) -> str:
    """As in a CSV file: the engines read it so."""
    return '"' + field.replace('"', '""') + '"' if any(sign in field for sign in ',"\n') else field
