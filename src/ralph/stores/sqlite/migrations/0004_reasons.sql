-- Why an iteration was, or was not, the last of its stage.
ALTER TABLE iteration ADD COLUMN reason TEXT NOT NULL DEFAULT '';
