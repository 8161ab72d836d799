"""Installs the real agent CLIs of package.json into .cache/clients: its dependencies, or with --all all of them."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / ".cache" / "clients"
MODULES = CACHE / "node_modules"
STAMP = CACHE / "installed"
# npm runs no script of theirs, so what their own would link is linked here: the program for this very machine.
PROGRAMS = {
    "claude": ("@anthropic-ai/claude-code-*/claude",),
    "codex": ("@openai/codex/bin/codex.js",),
    "gemini": ("@google/gemini-cli/bundle/gemini.js",),
    "opencode": ("opencode-*-x64/bin/opencode", "opencode-*-arm64/bin/opencode", "opencode-*/bin/opencode"),
    "qwen": ("@qwen-code/qwen-code/cli-entry.js",),
    "copilot": ("@github/copilot/npm-loader.js",),
}
# The newest of those that are tried in two versions.
NEWEST_PROGRAMS = {
    "claude": ("claude-newest/node_modules/@anthropic-ai/claude-code-*/claude",),
    "codex": ("codex-newest/bin/codex.js",),
}


def install(everything: bool) -> None:
    """From the lock, unless that is what is there."""
    lock = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
    there = STAMP.read_text().split() if STAMP.exists() else []
    if there and there[0] == lock and (not everything or there[1] == "all"):
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    STAMP.unlink(missing_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, CACHE / name)
    words = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run([*words, *([] if everything else ["--omit=dev"])], cwd=CACHE, check=True)
    link(CACHE / "bin", PROGRAMS)
    link(CACHE / "newest", NEWEST_PROGRAMS)
    STAMP.write_text(f"{lock} {'all' if everything else 'some'}\n")


def link(folder: Path, programs: Mapping[str, tuple[str, ...]]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, patterns in programs.items():
        found = [path for pattern in patterns for path in sorted(MODULES.glob(pattern))]
        if found:
            (folder / name).symlink_to(found[0])


def main(words: list[str]) -> int:
    """Say so, and no more, where there is no npm."""
    if shutil.which("npm") is None:
        sys.stderr.write("npm is not here: the tests with the real agent CLIs will be skipped\n")
        return 0
    install("--all" in words)
    sys.stdout.write(f"real agent CLIs in {CACHE / 'bin'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
