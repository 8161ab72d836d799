"""Stamps the built package with its version, and puts the Claude Code plugin into it; a checkout stays "dev"."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent


class Stamped(build_py):
    """Completes the copy that goes into the wheel."""

    def run(self) -> None:
        """Build as usual, then stamp and add."""
        super().run()
        if not self.editable_mode:
            package = Path(self.build_lib, "ralph")
            version = self.distribution.get_version()
            stamp = f'"""The version, stamped at build time."""\n\nVERSION = "{version}"\n'
            (package / "_version.py").write_text(stamp)
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(HERE / "plugins" / "ralph", package / "plugin", ignore=ignored, dirs_exist_ok=True)


setup(cmdclass={"build_py": Stamped})
