"""Runs, tasks and specs in one SQLite file. Another database is another folder like this, behind the same ports."""
