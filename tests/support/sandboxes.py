"""Machines with and without sandboxes."""

from support.workshop import ProjectFixture

PROGRAMS = ("bwrap", "docker", "podman", "sbx", "sandbox-exec", "socat")


def refuse_sandboxes(workshop: ProjectFixture) -> None:
    """No sandbox works from now on: its programs are there, and the kernel or a daemon says no."""
    for name in PROGRAMS:
        program = workshop.home / name
        program.write_text(f"#!/bin/sh\necho '{name}: No permissions' >&2\nexit 1\n")
        program.chmod(0o755)
