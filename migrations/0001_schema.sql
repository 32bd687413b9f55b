-- All that the gateway, the console and the operations Worker keep in D1. Amounts are integers in millionths of a balance unit. Columns named at, or ending
-- in _at, are milliseconds since the epoch. A day or month is its first millisecond in UTC.
-- A deployed D1 splits this text itself: comments contain no quotes, no semicolons and no words that start a statement.

-- Accounts and their API keys

CREATE TABLE account (
  id            TEXT PRIMARY KEY,
  email         TEXT NOT NULL UNIQUE,                     -- lowercase
  name          TEXT,
  disabled      INTEGER NOT NULL DEFAULT 0 CHECK (disabled IN (0, 1)),
  created_at    INTEGER NOT NULL,
  admin         INTEGER NOT NULL DEFAULT 0 CHECK (admin IN (0, 1)), -- 1: opens the admin pages of the console
  erased_at     INTEGER,                                  -- the owner was erased: the row stays, without a name, because the ledger refers to it
  keys_revision INTEGER NOT NULL DEFAULT 0                -- the last change of the keys, or of disabled, as the wallet object announced it: shows a reader whether a replica lags
) STRICT, WITHOUT ROWID;

-- Of two changes at the same time the earlier announced one is refused if it comes later, and is announced again.
CREATE TRIGGER account_keys_revision BEFORE UPDATE OF keys_revision ON account WHEN NEW.keys_revision <= OLD.keys_revision BEGIN
  SELECT RAISE(ABORT, 'keys_revision');
END;

-- One row for each account and each key. The checks are the backstop: nobody spends what was not granted, whatever runs in parallel.
CREATE TABLE wallet (
  id            TEXT PRIMARY KEY,                         -- the id of an account or a key
  quota         INTEGER,                                  -- NULL is unlimited
  granted       INTEGER NOT NULL DEFAULT 0 CHECK (granted >= 0), -- accounts: what the wallet object spends from
  used          INTEGER NOT NULL DEFAULT 0 CHECK (used >= 0),    -- the charges of all entries
  revision      INTEGER NOT NULL DEFAULT 0,               -- accounts: how many times the object wrote. Lower than its own count: the database was restored
  reserved_at   INTEGER,                                  -- when the latest entry was reserved
  budget        INTEGER CHECK (budget >= 0),              -- what may be spent in a window, NULL is no budget. The wallet object keeps the sum
  budget_window TEXT CHECK (budget_window IN ('day', 'month')),
  CHECK (quota IS NULL OR granted + used <= quota)
) STRICT, WITHOUT ROWID;

CREATE TABLE api_key (
  id         TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES account (id),
  name       TEXT NOT NULL,
  hash       TEXT NOT NULL UNIQUE,                        -- SHA-256 of the key in hexadecimal. The key itself is not stored
  prefix     TEXT NOT NULL,                               -- its first characters, so that users recognise it
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  deleted_at INTEGER,                                     -- kept when deleted: open tasks still settle on its wallet
  wallet_id  TEXT REFERENCES wallet (id),                 -- NULL is its own. The successor of a rotated key shares the wallet of the first key
  scope      TEXT                                         -- JSON: models, kinds, maxOpenTasks. A missing field is no limit, NULL no limits at all
) STRICT, WITHOUT ROWID;

CREATE INDEX api_key_by_account ON api_key (account_id, created_at);

-- Money

-- The ledger: one row for each task or chat that has ended. Open ones are in the wallet object.
CREATE TABLE entry (
  task_id    TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  key_id     TEXT NOT NULL,                               -- the wallet of the key
  kind       TEXT NOT NULL,                               -- image, video, character, remix, chat
  model      TEXT NOT NULL,
  held       INTEGER NOT NULL CHECK (held >= 0),
  charged    INTEGER NOT NULL CHECK (charged BETWEEN 0 AND held),
  outcome    TEXT NOT NULL,                               -- completed, why it failed, or refused: then it only stops a late reservation
  at         INTEGER NOT NULL,                            -- when it was reserved
  closed_at  INTEGER NOT NULL,                            -- when it was settled
  paged      INTEGER                                      -- 1: it is in an ended_page
) STRICT, WITHOUT ROWID;

-- Four random characters of the account find its rows, one in fourteen million accounts has the same ones, and the row tells whose it is: see ofAccount.
-- All entries by time, and those of tasks by the filters of lists.
CREATE INDEX entry_by_account ON entry (substr(account_id, 5, 4), kind = 'chat', at);
CREATE INDEX entry_filtered ON entry (substr(account_id, 5, 4), model, substr(kind, 1, 1), outcome = 'completed', at) WHERE kind <> 'chat';

-- The tasks in the order in which they ended: those of a batch in one page, the others in the index. Those are alone in their batch, or are written later than
-- tasks that were settled after them.
CREATE TABLE ended_page (
  account_id TEXT NOT NULL,
  ended_at   INTEGER NOT NULL,                            -- when its last task was settled. All of them were settled after those of earlier pages
  tasks      TEXT NOT NULL,                               -- their ids, a JSON list
  PRIMARY KEY (account_id, ended_at)
) STRICT, WITHOUT ROWID;

CREATE INDEX entry_ended ON entry (substr(account_id, 5, 4), closed_at) WHERE kind <> 'chat' AND outcome <> 'refused' AND paged IS NULL;

-- The charges by day of submission, model and key: usage reads these sums instead of each entry.
CREATE TABLE spending (
  account_id TEXT NOT NULL,
  day        INTEGER NOT NULL,
  model      TEXT NOT NULL,
  key_id     TEXT NOT NULL,
  charged    INTEGER NOT NULL,
  returned   INTEGER NOT NULL,                            -- held and not charged
  completed  INTEGER NOT NULL,                            -- how many tasks and chats completed, and how many failed
  failed     INTEGER NOT NULL,
  PRIMARY KEY (account_id, day, model, key_id)
) STRICT, WITHOUT ROWID;

-- Every change of the quota of an account: credits and debits, with the reason that an admin gave.
CREATE TABLE quota_change (
  id         INTEGER PRIMARY KEY,
  account_id TEXT NOT NULL,
  at         INTEGER NOT NULL,
  before     INTEGER,                                     -- the quotas, NULL is no limit
  after      INTEGER,
  admin_id   TEXT,                                        -- the account of the admin, NULL: the API for operators
  reason     TEXT
) STRICT;

CREATE INDEX quota_change_by_account ON quota_change (account_id, id);

CREATE TRIGGER account_quota AFTER UPDATE OF quota ON wallet
WHEN OLD.quota IS NOT NEW.quota AND EXISTS (SELECT 1 FROM account WHERE id = NEW.id) BEGIN
  INSERT INTO quota_change (account_id, at, before, after) VALUES (NEW.id, CAST(1000 * unixepoch('subsec') AS INTEGER), OLD.quota, NEW.quota);
END;

-- The archive: old entries are in the bucket, in files of JSON lines by account and month

-- A file. Its row is written in the transaction that removes the entries, so that each entry is in D1 or in one file.
CREATE TABLE archive_part (
  account_id TEXT NOT NULL,
  month      INTEGER NOT NULL,                            -- of submission
  part       INTEGER NOT NULL,                            -- counted up by one
  file       TEXT NOT NULL,                               -- its key in the bucket. Each version of a part is a new file
  entries    INTEGER NOT NULL,
  referenced INTEGER NOT NULL,                            -- how many of them have a reference
  held       INTEGER NOT NULL,
  charged    INTEGER NOT NULL,
  first_at   INTEGER NOT NULL,                            -- the earliest and the latest submission
  last_at    INTEGER NOT NULL,
  PRIMARY KEY (account_id, month, part)
) STRICT, WITHOUT ROWID;

-- The charges of all archived entries of a key: the audit adds them to the entries in D1.
CREATE TABLE archive_sum (
  account_id TEXT NOT NULL,
  key_id     TEXT NOT NULL,
  entries    INTEGER NOT NULL,
  charged    INTEGER NOT NULL,
  PRIMARY KEY (account_id, key_id)
) STRICT, WITHOUT ROWID;

-- Tasks and callers

-- The names that callers gave to tasks. Only tasks that have one have a row here.
CREATE TABLE task_reference (
  account_id TEXT NOT NULL,
  reference  TEXT NOT NULL,
  at         INTEGER NOT NULL,                            -- when the task was submitted
  task_id    TEXT NOT NULL,
  PRIMARY KEY (account_id, reference, at, task_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX task_reference_by_time ON task_reference (account_id, at);

CREATE TABLE character (
  id             TEXT PRIMARY KEY,
  account_id     TEXT NOT NULL,
  username       TEXT NOT NULL,                           -- lowercase, without the @
  display_name   TEXT NOT NULL,
  model          TEXT NOT NULL,
  provider       TEXT NOT NULL,                           -- the provider that made it
  handle         TEXT,                                    -- its id there, NULL if the provider stores no characters
  picture_type   TEXT NOT NULL,                           -- of the file characters/ID in the bucket
  picture_digest TEXT NOT NULL,                           -- its SHA-256, base64url
  created_at     INTEGER NOT NULL,
  deleted_at     INTEGER                                  -- the row stays: a settlement that is repeated must not bring it back
) STRICT, WITHOUT ROWID;

CREATE INDEX character_by_account ON character (account_id, created_at);
CREATE INDEX character_deleted ON character (deleted_at) WHERE deleted_at IS NOT NULL;

-- The endpoint for the callbacks of an account, and the secrets that sign them. A row is made when one of them is first needed.
CREATE TABLE webhook (
  account_id TEXT PRIMARY KEY REFERENCES account (id),
  url        TEXT,                                        -- NULL: callbacks go only to the callback_url of a task
  secret     TEXT NOT NULL,                               -- whsec_ and 32 bytes in Base64, unencrypted, because it must sign
  old_secret TEXT,                                        -- the previous one, which also signs for a day after rotated_at
  rotated_at INTEGER
) STRICT, WITHOUT ROWID;

-- The log of requests that callers see in the console: in pages, so that a request costs no row of its own.
CREATE TABLE request_page (
  account_id TEXT NOT NULL,
  began_at   INTEGER NOT NULL,                            -- the time of its first request
  requests   INTEGER NOT NULL,
  errors     INTEGER NOT NULL,                            -- those of them with a status of 400 or above
  entries    TEXT NOT NULL,                               -- one JSON object a line: src/db/requests.ts
  PRIMARY KEY (account_id, began_at)
) STRICT;

CREATE INDEX request_page_by_time ON request_page (began_at);

-- The durations of the last hundred tasks of each kind, model and route, newest first: seconds as a JSON list.
CREATE TABLE typical_time (
  sort    TEXT PRIMARY KEY,                               -- kind, model, provider, and the model there
  seconds TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The tasks and chats of all accounts that ended in the last hours, by five minutes: the status page. Those that the caller ended are not counted.
CREATE TABLE outcome_sum (
  slot         INTEGER NOT NULL,                          -- its first millisecond
  kind         TEXT NOT NULL,
  is_completed INTEGER NOT NULL,
  took         INTEGER NOT NULL,                          -- eight times the logarithm to base two of one more than the seconds
  tasks        INTEGER NOT NULL,
  PRIMARY KEY (slot, kind, is_completed, took)
) STRICT, WITHOUT ROWID;

-- Operations

-- Each alert by its stable name: the last time it began, and the last change that receivers got.
CREATE TABLE alert (
  name     TEXT PRIMARY KEY,
  began_at INTEGER NOT NULL,
  ended_at INTEGER,                                       -- NULL while the cause lasts
  causes   TEXT NOT NULL,                                 -- JSON: some of the ids it is about
  told     TEXT CHECK (told IN ('began', 'ended')),       -- the last change that was delivered, NULL: none
  -- the receivers that have accepted the change which is being delivered, as JSON: one dead receiver must not repeat or silence the others
  accepted_by TEXT NOT NULL DEFAULT '[]'
) STRICT, WITHOUT ROWID;

-- Calls of makers and messages of queues of all isolates in the last hour, by five minutes. Written a few times a minute by each isolate.
CREATE TABLE call_sum (
  slot    INTEGER NOT NULL,                               -- its first millisecond
  name    TEXT NOT NULL,                                  -- route and its provider and model, or queue and its step
  is_good INTEGER NOT NULL,                               -- 1 for a usable answer, or a message in time
  calls   INTEGER NOT NULL,
  PRIMARY KEY (slot, name, is_good)
) STRICT, WITHOUT ROWID;

-- Rare events that an alert is about, the last time of each: a dead letter, a provider whose account failed, an account whose callbacks fail.
CREATE TABLE incident (
  kind TEXT NOT NULL,                                     -- dead_letter, provider, callback
  id   TEXT NOT NULL,                                     -- a task, a provider, an account
  at   INTEGER NOT NULL,
  PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;

-- The progress of each regular job.
CREATE TABLE upkeep (
  job   TEXT PRIMARY KEY,
  state TEXT NOT NULL                                     -- JSON
) STRICT, WITHOUT ROWID;

-- Erasures that are not complete, and the last of the entries whose task is erased.
CREATE TABLE erasure (
  account_id TEXT PRIMARY KEY,
  began_at   INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  task_id    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Users of the console. The tables and columns named auth are those of better-auth 1.7, dates in them are ISO texts.

CREATE TABLE auth_user (
  id            TEXT PRIMARY KEY,
  name          TEXT NOT NULL,
  email         TEXT NOT NULL UNIQUE,
  emailVerified INTEGER NOT NULL,
  image         TEXT,
  createdAt     TEXT NOT NULL,
  updatedAt     TEXT NOT NULL
);

CREATE TABLE auth_session (
  id        TEXT PRIMARY KEY,
  userId    TEXT NOT NULL REFERENCES auth_user (id) ON DELETE CASCADE,
  token     TEXT NOT NULL UNIQUE,
  expiresAt TEXT NOT NULL,
  ipAddress TEXT,
  userAgent TEXT,
  createdAt TEXT NOT NULL,
  updatedAt TEXT NOT NULL
);

CREATE INDEX auth_session_by_user ON auth_session (userId);
CREATE INDEX auth_session_expiry ON auth_session (expiresAt);

-- How a user signs in: the hash of a password, or a linked login.
CREATE TABLE auth_account (
  id                    TEXT PRIMARY KEY,
  userId                TEXT NOT NULL REFERENCES auth_user (id) ON DELETE CASCADE,
  accountId             TEXT NOT NULL,
  providerId            TEXT NOT NULL,
  accessToken           TEXT,
  refreshToken          TEXT,
  idToken               TEXT,
  accessTokenExpiresAt  TEXT,
  refreshTokenExpiresAt TEXT,
  scope                 TEXT,
  password              TEXT,
  createdAt             TEXT NOT NULL,
  updatedAt             TEXT NOT NULL
);

CREATE INDEX auth_account_by_user ON auth_account (userId);

-- Only public keys
CREATE TABLE auth_passkey (
  id           TEXT PRIMARY KEY,
  name         TEXT,
  publicKey    TEXT NOT NULL,
  userId       TEXT NOT NULL REFERENCES auth_user (id) ON DELETE CASCADE,
  credentialID TEXT NOT NULL UNIQUE,
  counter      INTEGER NOT NULL,
  deviceType   TEXT NOT NULL,
  backedUp     INTEGER NOT NULL,
  transports   TEXT,
  createdAt    TEXT,
  aaguid       TEXT
);

CREATE INDEX auth_passkey_by_user ON auth_passkey (userId);

CREATE TABLE auth_verification (
  id         TEXT PRIMARY KEY,
  identifier TEXT NOT NULL,
  value      TEXT NOT NULL,
  expiresAt  TEXT NOT NULL,
  createdAt  TEXT,
  updatedAt  TEXT
);

CREATE INDEX auth_verification_expiry ON auth_verification (expiresAt);

CREATE TABLE auth_rate_limit (
  id          TEXT PRIMARY KEY,
  key         TEXT NOT NULL UNIQUE,
  count       INTEGER NOT NULL,
  lastRequest INTEGER NOT NULL
);

-- The gateway account that a user may read and spend from
CREATE TABLE member (
  user_id    TEXT PRIMARY KEY REFERENCES auth_user (id),
  account_id TEXT NOT NULL REFERENCES account (id),
  created_at INTEGER NOT NULL,
  key_id     TEXT REFERENCES api_key (id),                -- is charged for runs of the console: an ordinary key whose secret is never shown
  language   TEXT                                         -- in which the console was last opened, for e-mail that no request causes. NULL is English
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX member_by_account ON member (account_id);

-- Invitations to an account that the operator opened: a user with the token and the e-mail address of the account may sign up for it.
CREATE TABLE invitation (
  token_hash TEXT PRIMARY KEY,                            -- SHA-256 of the token in hexadecimal. The token itself is only in the link
  account_id TEXT NOT NULL REFERENCES account (id),
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
