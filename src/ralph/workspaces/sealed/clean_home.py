"""A home for commands that judge: tools and what they have downloaded, no settings that came since the run began."""

import glob
import os
from collections.abc import Mapping

from ralph.workspaces.sealed.untracked import is_newer

TOOL_FOLDERS = (
    *(".cargo", ".rustup", ".m2", ".gradle", ".ivy2", ".sbt", "go", ".npm", ".nvm", ".yarn", ".bun", ".deno", ".volta"),
    *(".pyenv", ".rye", ".conda", "miniconda3", "anaconda3", ".rbenv", ".rvm", ".gem", ".bundle", ".asdf", ".sdkman"),
    *(".dotnet", ".nuget", ".composer", ".mix", ".hex", ".cabal", ".ghcup", ".stack", ".opam", ".julia", ".pub-cache"),
    *(".android", ".konan", ".swiftpm", ".conan2", ".cache", ".local", ".nix-profile"),
)
_PYTHON_PLUGS = ("*.pth", "usercustomize.py", "sitecustomize.py")


def make_clean_home(folder: str, environment: Mapping[str, str], since: float) -> dict[str, str]:
    """The variables that lead there. Files of the old home are in it as long as nobody changed them since."""
    home = environment.get("HOME", "")
    os.makedirs(folder, exist_ok=True)
    for name in _list_wanted(home, since):
        os.symlink(os.path.join(home, name), os.path.join(folder, name))
    variables = {"HOME": folder}
    if _has_new_plug(home, since):
        variables["PYTHONNOUSERSITE"] = "1"
    return variables


def _list_wanted(home: str, since: float) -> list[str]:
    try:
        names = os.listdir(home) if home else []
    except OSError:
        return []
    return [
        name
        for name in names
        if name in TOOL_FOLDERS
        or (os.path.isfile(path := os.path.join(home, name)) and name.startswith(".") and not is_newer(path, since))
    ]


def _has_new_plug(home: str, since: float) -> bool:
    """Whether somebody has given Python something to run before anything else."""
    site = os.path.join(glob.escape(home), ".local/lib/python*/site-packages")
    found = (path for pattern in _PYTHON_PLUGS for path in glob.iglob(os.path.join(site, pattern)))
    return any(is_newer(path, since) for path in found)
