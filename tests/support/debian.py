"""Installs Debian's packages, where that can be done: `PYTHONPATH=tests python -m support.debian bubblewrap`."""

import os
import shutil
import subprocess
import sys

QUIET = {"DEBIAN_FRONTEND": "noninteractive"}


def install_packages(*names: str) -> str:
    """Why they could not be installed; empty when they are there."""
    wanted = " ".join(names)
    if os.getuid() != 0 or shutil.which("apt-get") is None:
        return f"{wanted} not installed: apt-get install {wanted} (as root)"
    # A new machine knows no packages before its first update, and an old list names versions that are gone.
    for words in (["update", "-q"], ["install", "-y", "-q", "--no-install-recommends", *names]):
        done = subprocess.run(["apt-get", *words], env={**os.environ, **QUIET}, stdout=sys.stderr, check=False)
    return f"apt-get could not install {wanted}" if done.returncode else ""


def main(names: list[str]) -> int:
    """Say loudly what is not there: its tests are skipped."""
    missing = [name for name in names if shutil.which({"bubblewrap": "bwrap"}.get(name, name)) is None]
    if missing and (problem := install_packages(*missing)):
        sys.stderr.write(f"NOT RUN: {problem}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
