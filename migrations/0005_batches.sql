-- Batches of an account, for its list. Everything else about a batch is in its object.

CREATE TABLE batch (
  account_id TEXT NOT NULL,
  id         TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX batch_by_time ON batch (account_id, created_at, id);
