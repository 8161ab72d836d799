"""Gets what the browser tests need: Debian's Chromium, where root may install it, and axe-core from npm."""

import shutil
import subprocess
import sys
from pathlib import Path

from support.browser import AXE, find_browser
from support.debian import install_packages

HERE = Path(__file__).parent
CACHE = AXE.parents[2]


def install_browser() -> None:
    if find_browser() is None:
        install_packages("chromium")


def install_axe() -> None:
    lock = (HERE / "package-lock.json").read_bytes()
    if AXE.exists() and (CACHE / "package-lock.json").read_bytes() == lock:
        return
    if shutil.which("npm") is None:
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, CACHE / name)
    words = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(words, cwd=CACHE, check=False)


def main() -> int:
    """Say loudly what is not there: its tests are skipped."""
    install_browser()
    install_axe()
    if find_browser() is None:
        sys.stderr.write("NOT RUN: no Chromium here (apt install chromium), so the web page is not tested\n")
    if not AXE.exists():
        sys.stderr.write("NOT RUN: no axe-core here (npm is missing), so accessibility is not tested\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
