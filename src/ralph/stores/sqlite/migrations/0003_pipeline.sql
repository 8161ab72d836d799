-- Tasks of the pipeline: what is asked for, where each stands, and all that was said and spent on the way.
CREATE TABLE spec (
    id          TEXT PRIMARY KEY,
    title       TEXT NOT NULL,
    text        TEXT NOT NULL DEFAULT '',   -- "## Specification" of the prompts
    created_at  REAL NOT NULL,
    updated_at  REAL NOT NULL
) STRICT;

CREATE TABLE task (
    number      INTEGER PRIMARY KEY,        -- the order of their making
    id          TEXT NOT NULL UNIQUE,
    spec_id     TEXT NOT NULL REFERENCES spec(id),
    title       TEXT NOT NULL,
    status      TEXT NOT NULL DEFAULT 'todo' CHECK (status IN ('todo', 'in_progress', 'blocked', 'done', 'cancelled')),
    stage       TEXT CHECK (stage IN ('coder', 'reviewer', 'tester', 'qa')),
    priority    INTEGER NOT NULL DEFAULT 0, -- lower comes first
    iteration   INTEGER NOT NULL DEFAULT 0, -- of the current stage
    limit_      INTEGER NOT NULL DEFAULT 0, -- its most iterations while a loop runs: lists decode nothing
    worker      TEXT NOT NULL DEFAULT '',   -- the run that works on it
    assignee    TEXT NOT NULL DEFAULT '',
    passed      TEXT NOT NULL DEFAULT '',   -- stages, a space between
    branch      TEXT NOT NULL DEFAULT '',
    target      TEXT NOT NULL DEFAULT '',
    created_at  REAL NOT NULL,
    updated_at  REAL NOT NULL,
    metadata    TEXT NOT NULL DEFAULT '{}', -- JSON
    description TEXT NOT NULL DEFAULT '',
    completion_spec TEXT,                   -- JSON; NULL: a task without criteria, string_match will do for it
    CHECK ((worker = '') = (status != 'in_progress'))
) STRICT;
-- All that a list shows, in its order: ten thousand tasks are read without touching one of their texts.
CREATE INDEX task_list ON task(priority, number, id, spec_id, title, status, stage, iteration, limit_, worker);
CREATE INDEX task_status ON task(status, priority);
CREATE INDEX task_spec ON task(spec_id);

CREATE TABLE task_dependency (
    task        TEXT NOT NULL REFERENCES task(id) ON DELETE CASCADE,
    place       INTEGER NOT NULL,           -- in the order they were given
    needs       TEXT NOT NULL REFERENCES task(id),
    PRIMARY KEY (task, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_dependency_needs ON task_dependency(needs);

CREATE TABLE task_wish (
    task        TEXT NOT NULL REFERENCES task(id) ON DELETE CASCADE,
    kind        TEXT NOT NULL,              -- cancel
    at          REAL NOT NULL,
    PRIMARY KEY (task, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE applied (
    key         TEXT PRIMARY KEY            -- of changes that were made: a repeat does nothing
) STRICT, WITHOUT ROWID;

CREATE TABLE verification (
    id          INTEGER PRIMARY KEY,
    task        TEXT NOT NULL REFERENCES task(id) ON DELETE CASCADE,
    run         TEXT NOT NULL,
    agent       TEXT NOT NULL,
    iteration   INTEGER NOT NULL,
    promise_found INTEGER NOT NULL,
    verified    INTEGER NOT NULL,
    reason      TEXT NOT NULL,
    method      TEXT NOT NULL,
    output_digest TEXT NOT NULL,            -- SHA-256 of what the verification printed
    timestamp   TEXT NOT NULL,              -- ISO 8601
    seconds     REAL NOT NULL,
    cost_usd    REAL,
    notes       TEXT NOT NULL,              -- JSON
    detail      TEXT NOT NULL               -- what it printed, shortened
) STRICT;
CREATE INDEX verification_task ON verification(task);
CREATE INDEX verification_verified ON verification(agent, iteration) WHERE verified;

CREATE TABLE iteration (
    id          INTEGER PRIMARY KEY,
    task        TEXT NOT NULL REFERENCES task(id) ON DELETE CASCADE,
    run         TEXT NOT NULL,
    stage       TEXT NOT NULL,
    iteration   INTEGER NOT NULL,
    limit_      INTEGER NOT NULL,
    promise_found INTEGER NOT NULL,
    continuing  INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    outcome     TEXT NOT NULL,
    at          REAL NOT NULL
) STRICT;
CREATE INDEX iteration_task ON iteration(task);

CREATE TABLE spend (
    id          INTEGER PRIMARY KEY,
    task        TEXT NOT NULL REFERENCES task(id) ON DELETE CASCADE,
    run         TEXT NOT NULL,
    stage       TEXT NOT NULL,
    iteration   INTEGER NOT NULL,
    cost_usd    REAL,                       -- NULL: its agent does not say
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    at          REAL NOT NULL
) STRICT;
CREATE INDEX spend_task ON spend(task, cost_usd);
CREATE INDEX spend_run ON spend(run, cost_usd);
