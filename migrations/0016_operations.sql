-- What the operator's checks, the status page and the erasure of accounts need.

-- Each alert by its stable name: the last time it began, and the last change that receivers got.
CREATE TABLE alert (
  name     TEXT PRIMARY KEY,
  began_at INTEGER NOT NULL,                              -- milliseconds since the epoch, as every _at below
  ended_at INTEGER,                                       -- NULL while the cause lasts
  causes   TEXT NOT NULL,                                 -- JSON: some of the ids it is about
  told     TEXT CHECK (told IN ('began', 'ended'))        -- the last change that was delivered; NULL: none
) STRICT, WITHOUT ROWID;

-- Rare events that an alert is about, the last time of each: a dead letter, a provider's account that failed, an account whose callbacks fail.
CREATE TABLE incident (
  kind TEXT NOT NULL,                                     -- dead_letter, provider, callback
  id   TEXT NOT NULL,                                     -- a task, a provider, an account
  at   INTEGER NOT NULL,
  PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;

-- The progress of the check of open tasks: one row of JSON.
CREATE TABLE check_progress (
  id    INTEGER PRIMARY KEY CHECK (id = 1),
  state TEXT NOT NULL
) STRICT;

-- Ends of tasks and chats of all accounts in the last hours, by five minutes: the status page. Ends that the caller caused are not counted.
CREATE TABLE outcome_sum (
  slot         INTEGER NOT NULL,                          -- its first millisecond
  kind         TEXT NOT NULL,
  is_completed INTEGER NOT NULL,
  took         INTEGER NOT NULL,                          -- eight times the logarithm to base two of one more than the seconds
  tasks        INTEGER NOT NULL,
  PRIMARY KEY (slot, kind, is_completed, took)
) STRICT, WITHOUT ROWID;

-- When the account's owner was erased. The row stays, without a name, because the ledger refers to it.
ALTER TABLE account ADD COLUMN erased_at INTEGER;

-- Erasures that are not complete, and the last of the account's entries whose task is erased.
CREATE TABLE erasure (
  account_id TEXT PRIMARY KEY,
  began_at   INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  task_id    TEXT NOT NULL
) STRICT, WITHOUT ROWID;
