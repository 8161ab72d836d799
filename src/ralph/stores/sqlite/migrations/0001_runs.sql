-- Runs, their journals, and what people ask of them.
CREATE TABLE run (
    id          TEXT PRIMARY KEY,
    kind        TEXT NOT NULL,              -- which loop: run, supervise, execute, story
    folder      TEXT NOT NULL,
    agent       TEXT NOT NULL,
    request     BLOB NOT NULL,              -- all that is needed to go on with it (JSON)
    pid         INTEGER NOT NULL,
    ticks       INTEGER NOT NULL,           -- pid, start time and boot: who is, or was, running it
    boot        TEXT NOT NULL,
    guardian       INTEGER NOT NULL,        -- pid and start time of the process that holds its children
    guardian_ticks INTEGER NOT NULL,
    started_at  REAL NOT NULL,
    ended_at    REAL,
    outcome     TEXT,
    why         TEXT
) STRICT;

CREATE TABLE transition (
    run         TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE,
    seq         INTEGER NOT NULL,
    wall        REAL NOT NULL,              -- unix time
    at          REAL NOT NULL,              -- seconds into the run
    iteration   INTEGER NOT NULL,           -- this and the next three: for `status`, which decodes nothing
    limit_      INTEGER NOT NULL,
    cost_usd    REAL,
    doing       TEXT NOT NULL,
    seen        BLOB NOT NULL,
    decision    BLOB NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE wish (
    id          INTEGER PRIMARY KEY,
    run         TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE,
    kind        TEXT NOT NULL,              -- cancel
    at          REAL NOT NULL
) STRICT;
CREATE INDEX wish_run ON wish(run);
