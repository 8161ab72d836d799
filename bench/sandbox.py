"""What a sandbox adds to the start of a command: the same command bare and in bubblewrap, by turns.

python bench/sandbox.py [RUNS]
"""

import os
import subprocess
import sys
import tempfile

from ralph.app.paths import find_paths
from ralph.app.processes import open_short_lived_processes
from ralph.app.sandbox.opening import open_sandbox
from ralph.app.sandbox.plan import SandboxRequest
from ralph.config.schema import SandboxSettings
from ralph.model.command import Command

MAX_ADDED_MS = 25.0  # at the 95th percentile, on an idle machine


def main(runs: int) -> int:
    with tempfile.TemporaryDirectory() as folder, open_short_lived_processes() as processes:
        tree, home = os.path.join(os.path.realpath(folder), "tree"), os.path.join(folder, "home")
        subprocess.run(["git", "init", "-q", tree], check=True)
        os.mkdir(home)
        variables = {**os.environ, "HOME": home}
        request = SandboxRequest(
            run="bench",
            paths=find_paths(tree),
            settings=SandboxSettings(),
            adapters=("claude",),
            variables=variables,
        )
        with open_sandbox("bubblewrap", request, processes) as sandbox:
            bare = Command(argv=("/bin/true",), environment=variables, cwd=tree)
            inside = sandbox.wrap(bare)
            pairs = [
                (processes.run(bare, len, len).seconds, processes.run(inside, len, len).seconds) for _ in range(runs)
            ]
    added = sorted((slow - fast) * 1000 for fast, slow in pairs)
    p95 = added[int(len(added) * 0.95)]
    print(f"added by bubblewrap: {added[len(added) // 2]:.1f} ms median, {p95:.1f} ms p95 ({runs} pairs)")
    return 0 if p95 <= MAX_ADDED_MS else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
