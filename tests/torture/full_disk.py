"""A disk that is truly full, for git and the database too: a small one in a namespace of its own, which an agent fills.

As a program: `full_disk.py FOLDER` reads a trial from stdin, plays it in FOLDER and prints its faults."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from torture.crash_scenes import Scene

DISK_MB = 12
FREE_KB = (0, 8, 20, 40, 72, 120, 200)  # what is left for ralph
CALLS = {"run": 3, "story": 2, "supervise": 2, "execute": 4}  # of agents; each may fill it
_MOUNT = f"mount -t tmpfs -o size={DISK_MB}m full"


@cache
def can_mount() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        words = ["unshare", "-rm", "sh", "-c", f"{_MOUNT} {folder}"]
        try:
            return subprocess.run(words, capture_output=True, check=False).returncode == 0
        except FileNotFoundError:
            return False


def play_in_namespace(template: Scene, blow: bytes, folder: Path) -> list[str]:
    """The faults of a trial whose scene lies on a disk of its own."""
    folder.mkdir()
    asked = json.dumps([template.loop, str(template.folder), template.shop.environment, blow.decode()])
    words = ["unshare", "-rm", "sh", "-c", f'{_MOUNT} "$2" && exec "$0" "$1" "$2"']
    done = subprocess.run(
        [*words, sys.executable, __file__, str(folder)],
        input=asked,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    folder.rmdir()
    if done.returncode:
        return [f"the namespace broke: {done.stderr[-400:]}"]
    found: list[str] = json.loads(done.stdout)
    return found


def strike_with_full_disk(scene: Scene, side: str, call: str, free_kb: int) -> str:
    """An agent fills the disk as it begins or ends, and leaves some; there is room again when ralph has ended."""
    home, fill = scene.shop.home, scene.folder / "fill"
    (home / "paid").write_text("\n")  # it grows where it is
    (home / "count").write_text("0\n")
    full = f"dd if=/dev/zero of={fill} bs=1k 2>/dev/null; truncate -s -{free_kb}k {fill}"
    filling = f'if [ "$(cat {home}/count)" = {call} ]; then {full}; fi\n'
    for path in home.glob("answer.*"):
        text = path.read_text()
        path.write_text(filling + text if side == "before" else text + filling)
    done = scene.shop.ralph(*scene.words, timeout=120, TMPDIR=str(scene.folder))
    fill.unlink()
    return done.stdout + done.stderr


def main(find_faults: Callable[[Scene, str, Path], list[str]]) -> None:
    loop, template, environment, blow = json.load(sys.stdin)
    print(json.dumps(find_faults(Scene.reopen(loop, Path(template), environment), blow, Path(sys.argv[1]) / "scene")))


if __name__ == "__main__":
    from torture.crashes import find_faults_of

    main(find_faults_of)
