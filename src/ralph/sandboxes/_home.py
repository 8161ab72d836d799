"""The private home of a sandbox: copies of the agents' settings, folders for everything else."""

import os
import shutil
from contextlib import suppress

from ralph.model.sandbox import SandboxPlan

CACHE_FOLDER, DOWNLOADS = ".cache", "ralph-downloads"


def fill_scratch(plan: SandboxPlan) -> dict[str, str]:
    """Make what is private. Gives, for settings outside the home, their folder and what stands in its place."""
    for name in ("home", "tmp"):
        os.makedirs(os.path.join(plan.scratch, name), mode=0o700, exist_ok=True)
    if plan.home.caches:
        _link_downloads(plan)
    moved: dict[str, str] = {}
    for path in plan.home.settings:
        _copy_file(path, _locate_copy(plan, path, moved))
    return moved


def _link_downloads(plan: SandboxPlan) -> None:
    """One mount for all of them: each takes its time."""
    for name in plan.home.downloads:
        below = os.path.join(DOWNLOADS, name.replace("/", "-"))
        link = os.path.join(plan.scratch, "home", name)
        os.makedirs(os.path.join(plan.home.caches, below), mode=0o700, exist_ok=True)
        os.makedirs(os.path.dirname(link), mode=0o700, exist_ok=True)
        with suppress(FileExistsError):
            os.symlink(os.path.join(plan.home.folder, CACHE_FOLDER, below), link)


def _locate_copy(plan: SandboxPlan, path: str, moved: dict[str, str]) -> str:
    home = plan.home.folder
    if path.startswith(f"{home}/"):
        return os.path.join(plan.scratch, "home", os.path.relpath(path, home))
    folder, name = os.path.split(path)
    place = moved.setdefault(folder, os.path.join(plan.scratch, f"settings-{len(moved)}"))
    return os.path.join(place, name)


def _copy_file(path: str, copy: str) -> None:
    with suppress(OSError):  # one that is gone or unreadable is not there inside either
        os.makedirs(os.path.dirname(copy), mode=0o700, exist_ok=True)
        shutil.copyfile(path, copy)
        os.chmod(copy, 0o600)
