"""Reads the database of an existing SpecFlow project, of any of its versions. Nothing is written to it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from ralph.core.tasks.specflow_records import BadRecord, Record, SpecFlowContent, collect_criteria


def read_specflow_database(path: str) -> SpecFlowContent:
    """Its specs and tasks; BadRecord when it is none of SpecFlow's, or cannot be read."""
    address = f"{Path(path).absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as database:
            database.row_factory = sqlite3.Row
            tables = {str(row[0]) for row in database.execute("SELECT name FROM sqlite_master WHERE type='table'")}
            if "tasks" not in tables:
                raise BadRecord(f"{path}: this database has no table `tasks`, so it is none of SpecFlow's")
            criteria = collect_criteria(
                _read_rows(database, "task_completion_specs", tables),
                _read_rows(database, "task_agent_criteria", tables),
            )
            tasks = [
                {**row, "completion_spec": row.get("completion_spec") or criteria.get(str(row.get("id")))}
                for row in _read_rows(database, "tasks", tables)
            ]
            specs = [*_read_rows(database, "specs", tables)]
    except (sqlite3.Error, UnicodeError) as error:
        raise BadRecord(f"{path}: {error}") from error
    return SpecFlowContent(
        specs=tuple((f"{path}: spec {row.get('id')!r}", row) for row in specs),
        tasks=tuple((f"{path}: task {row.get('id')!r}", row) for row in tasks),
    )


def _read_rows(database: sqlite3.Connection, table: str, tables: set[str]) -> Iterator[Record]:
    if table in tables:
        for row in database.execute(f"SELECT * FROM {table} ORDER BY rowid"):
            yield dict(row)
