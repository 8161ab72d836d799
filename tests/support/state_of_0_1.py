"""A repository with the state that ralph 0.1 left in it, in a folder of its own and with names of its own."""

import json
import os
import shutil
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

from support.workshop import ProjectFixture

KEPT = Path(__file__).parents[1] / "fixtures" / "state_0_1"
FOLDER = "@FOLDER@"
TREES = ("TASK-002", "TASK-003", "TASK-004")
COLUMNS = """
SELECT m.name, c.name, c.type FROM sqlite_schema m, pragma_table_info(m.name) c
WHERE m.type = 'table' AND c.type IN ('TEXT', 'BLOB')
"""


class OldState(ProjectFixture):
    """What was written stays as it was, but for the folder and the ends of run ids.

    A run that goes on first ends every process that carries its id: two tests at a time must not have the same one.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        kept = json.loads((KEPT / "names.json").read_text())
        self.runs: dict[str, str] = {name: f"{run[:-4]}{os.urandom(2).hex()}" for name, run in kept.items()}
        self._words = {kept[name]: run for name, run in self.runs.items()}
        self._words[FOLDER] = os.path.realpath(folder)
        self._import((KEPT / "repository.fast-export").read_bytes())
        self._copy(KEPT / "tree", self.repo)
        self._copy(KEPT / "notes", self.repo / ".ralph")
        self._copy(KEPT / "state", self.repo / ".git/ralph")
        self._rewrite(self.database)

    @property
    def database(self) -> Path:
        return self.repo / ".git/ralph/ralph.db"

    def json(self, *words: str) -> Any:
        """What a command that must succeed tells programs."""
        return json.loads(self.said(*words, "--json"))

    def said(self, *words: str) -> str:
        """What it tells people."""
        done = self.ralph(*words)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def show(self, name: str) -> Any:
        """The receipt of the run we call so."""
        return self.json("show", self.runs[name])

    def open_trees(self) -> None:
        """The work trees of tasks that have not landed."""
        for task in TREES:
            self.git("worktree", "add", "--quiet", f".ralph/worktrees/{task}", f"ralph/{task}")

    def _import(self, stream: bytes) -> None:
        words = ["git", "fast-import", "--quiet"]
        subprocess.run(words, input=self._replaced(stream), cwd=self.repo, env=self.environment, check=True)
        self.git("reset", "--quiet", "--hard")

    def _copy(self, source: Path, target: Path) -> None:
        target.mkdir(exist_ok=True)
        for path in source.iterdir():
            copied = target / self._words.get(path.name, path.name)
            if path.is_dir():
                self._copy(path, copied)
            elif path.suffix == ".db":
                shutil.copyfile(path, copied)
            else:
                copied.write_bytes(self._replaced(path.read_bytes()))

    def _replaced(self, text: bytes) -> bytes:
        for old, new in self._words.items():
            text = text.replace(old.encode(), new.encode())
        return text

    def _rewrite(self, path: Path) -> None:
        database = sqlite3.connect(path)
        database.execute("PRAGMA synchronous=OFF")
        with database:
            for table, column, kind in database.execute(COLUMNS).fetchall():
                for old, new in self._words.items():
                    database.execute(
                        f"UPDATE {table} SET {column} = CAST(replace({column}, ?, ?) AS {kind})"
                        f" WHERE instr({column}, CAST(? AS {kind}))",
                        (old, new, old),
                    )
        database.close()
