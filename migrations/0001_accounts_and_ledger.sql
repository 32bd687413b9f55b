-- Accounts, their API keys, the ledger, and characters. Amounts are integers in millionths of a balance unit.

CREATE TABLE account (
  id         TEXT PRIMARY KEY,
  email      TEXT NOT NULL UNIQUE,                        -- lower case
  name       TEXT,
  disabled   INTEGER NOT NULL DEFAULT 0 CHECK (disabled IN (0, 1)),
  created_at INTEGER NOT NULL                             -- milliseconds since the epoch, as every _at below
) STRICT, WITHOUT ROWID;

CREATE TABLE api_key (
  id         TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES account (id),
  name       TEXT NOT NULL,
  hash       TEXT NOT NULL UNIQUE,                        -- SHA-256 of the key in hexadecimal; the key itself is not stored
  prefix     TEXT NOT NULL,                               -- its first characters, so that users recognise it
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  deleted_at INTEGER                                      -- kept when deleted: open tasks still settle on its wallet
) STRICT, WITHOUT ROWID;

CREATE INDEX api_key_by_account ON api_key (account_id, created_at);

-- One row for each account and each key. The checks are the backstop: no amount can become negative, whatever runs in parallel.
CREATE TABLE wallet (
  id       TEXT PRIMARY KEY,                              -- an account's or a key's id
  quota    INTEGER,                                       -- NULL is unlimited
  reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0),
  used     INTEGER NOT NULL DEFAULT 0 CHECK (used >= 0),
  CHECK (quota IS NULL OR reserved + used <= quota)
) STRICT, WITHOUT ROWID;

-- The ledger: at most one row for each task and step. Settle and refund share the step 'close', so only one of them is possible.
CREATE TABLE entry (
  task_id    TEXT NOT NULL,
  step       TEXT NOT NULL CHECK (step IN ('reserve', 'close')),
  account_id TEXT NOT NULL,
  key_id     TEXT NOT NULL,
  kind       TEXT NOT NULL,                               -- image, video, character, remix, chat
  model      TEXT NOT NULL,
  held       INTEGER NOT NULL CHECK (held >= 0),          -- reserve: taken from the quota; close: returned to it
  charged    INTEGER NOT NULL DEFAULT 0 CHECK (charged BETWEEN 0 AND held),
  outcome    TEXT,                                        -- close: completed, failed
  at         INTEGER NOT NULL,
  PRIMARY KEY (task_id, step)
) STRICT, WITHOUT ROWID;

-- Lists an account's tasks, newest first. Chats are not tasks.
CREATE INDEX entry_tasks ON entry (account_id, at) WHERE step = 'reserve' AND kind <> 'chat';

CREATE TRIGGER entry_reserve AFTER INSERT ON entry WHEN NEW.step = 'reserve' BEGIN
  UPDATE wallet SET reserved = reserved + NEW.held WHERE id IN (NEW.account_id, NEW.key_id);
END;

CREATE TRIGGER entry_close AFTER INSERT ON entry WHEN NEW.step = 'close' BEGIN
  UPDATE wallet SET reserved = reserved - NEW.held, used = used + NEW.charged WHERE id IN (NEW.account_id, NEW.key_id);
END;

CREATE TABLE character (
  id             TEXT PRIMARY KEY,                        -- ch_...
  account_id     TEXT NOT NULL,
  username       TEXT NOT NULL,                           -- lower case, without the @
  display_name   TEXT NOT NULL,
  model          TEXT NOT NULL,
  picture_type   TEXT NOT NULL,                           -- of the file characters/{id} in the bucket
  picture_digest TEXT NOT NULL,                           -- its SHA-256, base64url
  created_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX character_by_account ON character (account_id, created_at);
