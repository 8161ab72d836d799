"""Stamps the built package with its version, and puts the Claude Code plugin into it; a checkout stays "dev"."""

import json
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
CATALOGUE = Path(".claude-plugin", "marketplace.json")


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
            catalogue = json.loads((HERE / CATALOGUE).read_text(encoding="utf-8"))
            catalogue["plugins"][0]["source"] = "./"  # installed, the plugin is its own marketplace
            (package / "plugin" / CATALOGUE).write_text(json.dumps(catalogue, indent=2) + "\n")


setup(cmdclass={"build_py": Stamped})
