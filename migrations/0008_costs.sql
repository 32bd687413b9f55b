-- What tasks and chats cost the operator. Callers never see it.

ALTER TABLE entry ADD COLUMN cost INTEGER;                -- of all attempts, NULL: the entry was written by code that did not know costs
ALTER TABLE entry ADD COLUMN attempts TEXT;               -- JSON: a list of the routes that were tried, each as its number, provider and model, with its cost. The task ended with the last one

-- Settled tasks and chats of all accounts by five minutes, for a day. The rows of outcome_sum lack the model, the route and amounts.
CREATE TABLE settled_sum (
  slot     INTEGER NOT NULL,                              -- its first millisecond
  kind     TEXT NOT NULL,
  model    TEXT NOT NULL,
  route    TEXT NOT NULL,                                 -- the provider and the model there, empty if it is not known
  outcome  TEXT NOT NULL,                                 -- completed, failed, caller: the caller caused the failure, attempt: another route ended the task
  took     INTEGER NOT NULL,                              -- of completed ones, eight times the logarithm to base two of one more than the seconds
  tasks    INTEGER NOT NULL,                              -- tasks and chats, or attempts
  charged  INTEGER NOT NULL,
  cost     INTEGER NOT NULL,
  uncosted INTEGER NOT NULL,                              -- how many of them cost an unknown amount
  PRIMARY KEY (slot, kind, model, route, outcome, took)
) STRICT, WITHOUT ROWID;

-- The same by hour, from the day on which the sums by five minutes are removed.
CREATE TABLE settled_hour (
  hour      INTEGER NOT NULL,                             -- its first millisecond
  kind      TEXT NOT NULL,
  model     TEXT NOT NULL,
  route     TEXT NOT NULL,
  completed INTEGER NOT NULL,
  failed    INTEGER NOT NULL,                             -- without those that the caller caused
  caller    INTEGER NOT NULL,
  attempts  INTEGER NOT NULL,                             -- attempts that another route followed
  charged   INTEGER NOT NULL,
  cost      INTEGER NOT NULL,
  uncosted  INTEGER NOT NULL,
  p50       INTEGER,                                      -- of the durations, as in settled_sum. NULL: none completed
  p95       INTEGER,
  PRIMARY KEY (hour, kind, model, route)
) STRICT, WITHOUT ROWID;
