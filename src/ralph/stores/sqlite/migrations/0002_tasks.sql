-- Supervised tasks: every agent run of a loop, and the runs that were started by other runs.
ALTER TABLE run ADD COLUMN parent TEXT;     -- the run whose agent started this one
ALTER TABLE run ADD COLUMN task TEXT NOT NULL DEFAULT '';

CREATE TABLE attempt (
    id          TEXT PRIMARY KEY,
    run         TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE,
    number      INTEGER NOT NULL,           -- 0 for the first
    previous    TEXT,
    project     TEXT NOT NULL,
    folder      TEXT NOT NULL,              -- where its words are kept
    pid         INTEGER NOT NULL,           -- of the guardian that holds it
    started_at  REAL NOT NULL,
    ended_at    REAL,
    exit_code   INTEGER,
    status      TEXT NOT NULL,              -- running, completed, failed, stopped
    error       TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX attempt_run ON attempt(run, number);

CREATE TABLE child (
    parent      TEXT NOT NULL,
    run         TEXT NOT NULL,
    pid         INTEGER NOT NULL,
    ticks       INTEGER NOT NULL,
    boot        TEXT NOT NULL,
    guardian    INTEGER NOT NULL,
    PRIMARY KEY (parent, run)
) STRICT, WITHOUT ROWID;
