"""What users install: a wheel with its version stamped and everything in it."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CARRIED = (
    "ralph/py.typed",
    "ralph/stores/sqlite/migrations/0001_runs.sql",
    "ralph/app/setup/demo_files/script.yaml",
    "ralph/faces/web/static/index.html",
    "ralph/faces/web/static/js/main.js",
    "ralph/plugin/.claude-plugin/plugin.json",
    "ralph/plugin/.claude-plugin/marketplace.json",
    "ralph/plugin/hooks/hooks.json",
    "ralph/plugin/templates/prompt.md",
)


def test_the_wheel_is_stamped_and_whole(tmp_path: Path) -> None:  # 001-01, 001-34, 004-01
    source = tmp_path / "source"
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, files.split("\0")):
        if (name.startswith(("src/", "plugins/", ".claude-plugin/")) or "/" not in name) and (ROOT / name).is_file():
            target = source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(tmp_path)]
    subprocess.run([*build, str(source)], check=True, timeout=110)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        stamped = archive.read("ralph/_version.py").decode()
    version = wheel.name.split("-")[1]
    assert f'VERSION = "{version}"' in stamped
    assert not [name for name in CARRIED if name not in names]
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests/")]
