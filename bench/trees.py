"""Looks at a work tree of many files after each of some small changes, and compares what a check rests on: the seconds
of each, as JSON. `trees.py FOLDER COUNT ROUNDS`, run by the Python that has ralph."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from ralph.app.paths import find_paths
from ralph.app.processes import open_short_lived_processes
from ralph.app.wiring import build_snapshots
from ralph.engine.proofs.proof_watch import ProofWatch
from ralph.model.proofs import WorkTime

FOLDERS = 500
RUN = "29990101-000000-aaaa"


def fill(root: Path, count: int) -> None:
    for number in range(min(FOLDERS, count)):
        (root / f"d{number}").mkdir(parents=True)
    for number in range(count):
        (root / f"d{number % FOLDERS}" / f"{'test_' * (number % 10 == 0)}f{number}.py").write_text(
            f"x = {number}\n" * 20
        )
    for words in (("init", "-q"), ("add", "-A"), ("-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "x")):
        subprocess.run(["git", *words], cwd=root, check=True, stdout=subprocess.DEVNULL)


def measure(root: Path, rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {"snapshot": [], "comparison": [], "git status": []}
    with open_short_lived_processes() as processes:
        keep = build_snapshots(True, RUN, tree=find_paths(str(root)), variables=dict(os.environ), processes=processes)
        assert keep is not None
        keep.save_initial_tree()
        watch = ProofWatch(
            keep,
            commands=["python -m pytest -q"],
            protected=(),
            folder=str(root),
            environment=dict(os.environ),
            worked=WorkTime(since=time.time()),
            list_accepted=dict,
        )
        watch.compare()  # a run resolves its checks once
        for number in range(rounds):
            (root / "d1" / "f1.py").write_text(f"y = {number}\n")
            (root / "d0" / "test_f0.py").write_text(f"y = {number}\n")
            (root / f"d{number}" / "new.py").write_text("z")
            began = time.perf_counter()
            keep.save_tree_after(number)
            times["snapshot"].append(time.perf_counter() - began)
            began = time.perf_counter()
            found = watch.compare()
            times["comparison"].append(time.perf_counter() - began)
            assert [change.path for change in found] == ["d0/test_f0.py"], found
            began = time.perf_counter()
            subprocess.run(
                ["git", "--no-optional-locks", "status", "-s"], cwd=root, check=True, stdout=subprocess.DEVNULL
            )
            times["git status"].append(time.perf_counter() - began)
    return times


def main() -> None:
    root = Path(sys.argv[1])
    fill(root, int(sys.argv[2]))
    print(json.dumps(measure(root, int(sys.argv[3]))))


if __name__ == "__main__":
    main()
