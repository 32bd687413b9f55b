-- The callers' own names for tasks. Only tasks that have one have a row here.
CREATE TABLE task_reference (
  account_id TEXT NOT NULL,
  reference  TEXT NOT NULL,
  at         INTEGER NOT NULL,                            -- when the task was submitted
  task_id    TEXT NOT NULL,
  PRIMARY KEY (account_id, reference, at, task_id)
) STRICT, WITHOUT ROWID;

-- An account's tasks with references in a time range, for usage by reference.
CREATE INDEX task_reference_by_time ON task_reference (account_id, at);

-- The durations of the last hundred tasks of each kind, model and route, newest first: seconds as a JSON list. Written once for many tasks.
CREATE TABLE typical_time (
  sort    TEXT PRIMARY KEY,                               -- kind, model, provider and the provider's model
  seconds TEXT NOT NULL
) STRICT, WITHOUT ROWID;
