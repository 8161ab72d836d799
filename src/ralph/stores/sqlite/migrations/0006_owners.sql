-- A pid says nothing on another machine or in another container: where it is one, and a sign of life for all others.
ALTER TABLE run ADD COLUMN host TEXT NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN pid_namespace INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN beat REAL;
