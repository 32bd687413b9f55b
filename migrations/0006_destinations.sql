-- Buckets of callers to which results are delivered. The secret is sealed.
CREATE TABLE destination (
  account_id TEXT NOT NULL REFERENCES account (id),
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  bucket TEXT NOT NULL,
  region TEXT NOT NULL,
  access_key_id TEXT NOT NULL,
  secret TEXT NOT NULL,
  prefix TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, name)
) STRICT, WITHOUT ROWID;

-- The ends of deliveries, in one order with the ends of tasks of the account, which the wallet object gives their times.
CREATE TABLE delivery_event (
  task_id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES account (id),
  at INTEGER NOT NULL,
  outcome TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX delivery_event_by_account ON delivery_event (account_id, at);
CREATE INDEX delivery_event_by_time ON delivery_event (at);
