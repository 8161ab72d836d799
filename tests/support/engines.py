"""Real engines of containers without a registry: from Debian's packages, with an image that debootstrap made.

`python tests/support/engines.py` prepares all of it in .cache/sandbox; where that cannot be done it says so, and the
live tests are not run.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.debian import install_packages

CACHE = Path(__file__).parents[2] / ".cache" / "sandbox"
ROOT_FS = CACHE / "base.tar"
IMAGE = "ralph-test:base"
PACKAGES = ("docker.io", "podman", "debootstrap")
IN_IMAGE = "git,python3-minimal,ca-certificates,curl,procps"
SUITE = "bookworm"
START_SECONDS = 30.0
PODMAN_RUN = "/run/ralph-test-podman"  # always the same, and short: podman insists


def prepare() -> str:
    """Why it could not be done; empty when all is there."""
    if os.getuid() != 0:
        return "only root can install an engine and make an image"
    missing = [
        name
        for name, program in zip(PACKAGES, ("dockerd", "podman", "debootstrap"), strict=True)
        if shutil.which(program) is None
    ]
    if missing and (problem := install_packages(*missing)):
        return problem
    return "" if ROOT_FS.exists() else _make_root_fs()


def _make_root_fs() -> str:
    folder = CACHE / "rootfs"
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = subprocess.run(
        ["debootstrap", "--variant=minbase", f"--include={IN_IMAGE}", SUITE, folder], stdout=sys.stderr, check=False
    )
    if made.returncode:
        return "debootstrap could not make an image"
    partial = ROOT_FS.with_suffix(".part")
    subprocess.run(["tar", "-C", folder, "-cf", partial, "."], check=True)
    partial.rename(ROOT_FS)
    shutil.rmtree(folder)
    return ""


@contextmanager
def run_docker(room: Path) -> Iterator[dict[str, str]]:
    """A daemon of our own, ended by its pid. Its variables."""
    room.mkdir(parents=True, exist_ok=True)
    socket, data = room / "sock", CACHE / "docker"
    variables = {**os.environ, "DOCKER_HOST": f"unix://{socket}"}
    words: list[str | Path] = ["dockerd", "--data-root", data, "--exec-root", room / "exec", "--pidfile", room / "pid"]
    with (
        (room / "log").open("wb") as log,
        subprocess.Popen([*words, "--host", f"unix://{socket}"], stdout=log, stderr=log) as daemon,
    ):
        try:
            deadline = time.monotonic() + START_SECONDS
            while _ask(["docker", "version"], variables) and daemon.poll() is None and time.monotonic() < deadline:
                time.sleep(0.2)
            _import_image("docker", variables)
            yield variables
        finally:
            daemon.terminate()
            daemon.wait(30)


@contextmanager
def use_podman(room: Path) -> Iterator[dict[str, str]]:
    """Its containers and images in a folder of ours."""
    programs = room / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    (programs / "podman").write_text(
        f'#!/bin/sh\nexec {shutil.which("podman")} --root {CACHE}/podman --runroot {PODMAN_RUN} "$@"\n'
    )
    (programs / "podman").chmod(0o755)
    variables = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    _import_image("podman", variables)
    yield variables


def _import_image(program: str, variables: dict[str, str]) -> None:
    if _ask([program, "image", "inspect", IMAGE], variables):
        subprocess.run([program, "import", ROOT_FS, IMAGE], env=variables, check=True, capture_output=True)


def _ask(words: list[str], variables: dict[str, str]) -> int:
    return subprocess.run(words, env=variables, capture_output=True, check=False).returncode


if __name__ == "__main__":
    problem = prepare()
    sys.stdout.write(f"not run: {problem}\n" if problem else f"engines and image in {CACHE}\n")
