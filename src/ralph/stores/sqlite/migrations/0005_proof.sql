-- What speaks for a promise: a check that was red before, a judge, or nothing but words.
ALTER TABLE verification ADD COLUMN red_before INTEGER;                 -- NULL: nobody looked
ALTER TABLE verification ADD COLUMN by_words INTEGER NOT NULL DEFAULT 0;
ALTER TABLE verification ADD COLUMN judge TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN by_words TEXT NOT NULL DEFAULT '';          -- stages that passed by words only
CREATE INDEX task_by_words ON task(id, by_words) WHERE by_words != '';
