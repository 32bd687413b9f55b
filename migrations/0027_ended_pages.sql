-- The ends of an account's tasks, in the order of /v1/events: a batch of settled entries writes one row here instead of one row of an index for each entry.
CREATE TABLE ended_page (
  account_id TEXT NOT NULL,
  ended_at   INTEGER NOT NULL,                            -- when its last task was settled, milliseconds; all of them were settled after those of earlier pages
  tasks      TEXT NOT NULL,                               -- their ids, a JSON list
  PRIMARY KEY (account_id, ended_at)
) STRICT, WITHOUT ROWID;

-- 1: the task is in a page. The index has the others: those that are alone in their batch, those of code from before the pages, and those that are written
-- later than tasks that were settled after them.
ALTER TABLE entry ADD COLUMN paged INTEGER;
DROP INDEX entry_ended;
CREATE INDEX entry_ended ON entry (substr(account_id, 5, 4), closed_at)
  WHERE step = 'reserve' AND kind <> 'chat' AND closed_at IS NOT NULL AND outcome <> 'refused' AND paged IS NULL;
