-- Which command decided about a promise, and which file of the run's folder keeps all it printed.
ALTER TABLE verification ADD COLUMN command TEXT NOT NULL DEFAULT '';
ALTER TABLE verification ADD COLUMN log TEXT NOT NULL DEFAULT '';
