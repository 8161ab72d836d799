"""Stamps the built package with its version; a checkout stays "dev"."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class Stamped(build_py):
    """Writes the distribution's version into the copy that goes into the wheel."""

    def run(self) -> None:
        """Build as usual, then stamp."""
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib, "ralph", "_version.py")
            target.write_text(f'"""The version, stamped at build time."""\n\nVERSION = "{self.distribution.get_version()}"\n')


setup(cmdclass={"build_py": Stamped})
