-- The end of a task is also stored in its reserve row, so that lists read one row per task; daily sums make totals cheap.
ALTER TABLE entry ADD COLUMN closed_at INTEGER;           -- step reserve: when it was settled; NULL while it is open
-- Open tasks, without a lower bound on time.
CREATE INDEX entry_open ON entry (account_id, kind = 'chat', at, task_id, key_id, held) WHERE step = 'reserve' AND closed_at IS NULL;
-- Settled tasks by the filters of lists. It covers all columns that a page needs.
CREATE INDEX entry_filtered ON entry (account_id, model, kind, outcome = 'completed', at, task_id, closed_at)
  WHERE step = 'reserve' AND kind <> 'chat' AND closed_at IS NOT NULL;

-- An account's charges by day of submission (UTC), model and key. Usage reads these sums instead of each charge.
CREATE TABLE spending (
  account_id TEXT NOT NULL,
  day        INTEGER NOT NULL,                            -- its first millisecond since the epoch
  model      TEXT NOT NULL,
  key_id     TEXT NOT NULL,                               -- the key's wallet
  charged    INTEGER NOT NULL,
  returned   INTEGER NOT NULL,                            -- held and not charged
  completed  INTEGER NOT NULL,                            -- how many tasks and chats completed, and how many failed
  failed     INTEGER NOT NULL,
  PRIMARY KEY (account_id, day, model, key_id)
) STRICT, WITHOUT ROWID;

-- The number of open tasks of the account or key, without chats. It is updated with a row that is written anyway.
ALTER TABLE wallet ADD COLUMN open_tasks INTEGER NOT NULL DEFAULT 0 CHECK (open_tasks >= 0);

-- The progress of the audit: one row of JSON.
CREATE TABLE audit_progress (
  id    INTEGER PRIMARY KEY CHECK (id = 1),
  state TEXT NOT NULL
) STRICT;

UPDATE entry SET charged = settled.charged, outcome = settled.outcome, closed_at = settled.at
FROM (SELECT task_id, charged, outcome, at FROM entry WHERE step = 'close') settled
WHERE entry.task_id = settled.task_id AND entry.step = 'reserve';

INSERT INTO spending
SELECT account_id, at / 86400000 * 86400000, model, key_id, sum(charged), sum(held - charged), sum(outcome = 'completed'), sum(outcome <> 'completed')
FROM entry WHERE step = 'reserve' AND closed_at IS NOT NULL GROUP BY 1, 2, 3, 4;

UPDATE wallet SET open_tasks = open.tasks
FROM (SELECT w.id, count(*) AS tasks FROM entry e JOIN wallet w ON w.id IN (e.account_id, e.key_id)
      WHERE e.step = 'reserve' AND e.closed_at IS NULL AND e.kind <> 'chat' GROUP BY w.id) open
WHERE wallet.id = open.id;

DROP TRIGGER entry_reserve;
CREATE TRIGGER entry_reserve AFTER INSERT ON entry WHEN NEW.step = 'reserve' BEGIN
  UPDATE wallet SET reserved = reserved + NEW.held, reserved_at = NEW.at, open_tasks = open_tasks + (NEW.kind <> 'chat')
  WHERE id IN (NEW.account_id, NEW.key_id);
END;

DROP TRIGGER entry_close;
CREATE TRIGGER entry_close AFTER INSERT ON entry WHEN NEW.step = 'close' BEGIN
  UPDATE wallet SET reserved = reserved - NEW.held, used = used + NEW.charged,
    open_tasks = open_tasks - (NEW.kind <> 'chat' AND EXISTS (SELECT 1 FROM entry WHERE task_id = NEW.task_id AND step = 'reserve'))
  WHERE id IN (NEW.account_id, NEW.key_id);
  UPDATE entry SET charged = NEW.charged, outcome = NEW.outcome, closed_at = NEW.at WHERE task_id = NEW.task_id AND step = 'reserve';
  INSERT INTO spending
  SELECT account_id, at / 86400000 * 86400000, model, key_id, NEW.charged, NEW.held - NEW.charged, NEW.outcome = 'completed', NEW.outcome <> 'completed'
  FROM entry WHERE task_id = NEW.task_id AND step = 'reserve'
  ON CONFLICT DO UPDATE SET charged = charged + excluded.charged, returned = returned + excluded.returned,
    completed = completed + excluded.completed, failed = failed + excluded.failed;
END;
