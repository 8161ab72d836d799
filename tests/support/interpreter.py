"""`python3` for whatever the tests start: this very interpreter, not a shim that looks for one with fifty processes."""

import os
import sys
from pathlib import Path


def put_interpreter_on_path() -> None:
    """In front of all others, and no other program of the tests' own environment beside it."""
    folder = Path(sys.prefix) / "only-python3"
    folder.mkdir(exist_ok=True)
    mine = folder / f"python3.{os.getpid()}"
    mine.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    mine.chmod(0o755)
    mine.rename(folder / "python3")  # whole for the workers beside this one
    if str(folder) not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
