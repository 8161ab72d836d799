-- What people tell runs and tasks while they go on. No foreign keys: a pause of a task outlives its runs.
CREATE TABLE pause (
    kind        TEXT NOT NULL CHECK (kind IN ('run', 'task', 'execute')),
    name        TEXT NOT NULL,              -- of the run or the task; empty for `ralph execute` as a whole
    by_         TEXT NOT NULL,
    at          REAL NOT NULL,
    now         INTEGER NOT NULL DEFAULT 0, -- an agent at work is stopped, too
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE note (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again: journals name notes by it
    kind        TEXT NOT NULL CHECK (kind IN ('run', 'task')),
    name        TEXT NOT NULL,
    text        TEXT NOT NULL,
    by_         TEXT NOT NULL,
    at          REAL NOT NULL,
    question    TEXT NOT NULL DEFAULT '',   -- the one it answers
    heard_by    TEXT                        -- the run whose agent was told; NULL: none yet
) STRICT;
CREATE INDEX note_subject ON note(kind, name, heard_by);

CREATE TABLE question (
    run         TEXT PRIMARY KEY REFERENCES run(id) ON DELETE CASCADE,  -- whose agent asks; it has ended
    text        TEXT NOT NULL,
    at          REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE execute_wish (
    kind        TEXT PRIMARY KEY,           -- how `ralph execute` as a whole is to end: tasks, agents, now
    at          REAL NOT NULL
) STRICT, WITHOUT ROWID;
