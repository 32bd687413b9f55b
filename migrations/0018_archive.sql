-- Settled entries that are old are in the bucket, in files of JSON lines by account and month; see src/archive.ts. D1 keeps what finds and checks them.

-- A file of the archive. Its row is written in the transaction that deletes the entries, so that each entry is in D1 or in one file.
CREATE TABLE archive_part (
  account_id TEXT NOT NULL,
  month      INTEGER NOT NULL,                            -- of submission, UTC: its first millisecond
  part       INTEGER NOT NULL,                            -- from 1
  file       TEXT NOT NULL,                               -- its key in the bucket; each version of a part is a new file
  entries    INTEGER NOT NULL,
  referenced INTEGER NOT NULL,                            -- how many of them have a reference
  held       INTEGER NOT NULL,                            -- sums in millionths
  charged    INTEGER NOT NULL,
  first_at   INTEGER NOT NULL,                            -- the earliest and the latest submission, milliseconds
  last_at    INTEGER NOT NULL,
  PRIMARY KEY (account_id, month, part)
) STRICT, WITHOUT ROWID;

-- What was charged by all archived entries of a key's wallet: the audit adds it to the entries in D1.
CREATE TABLE archive_sum (
  account_id TEXT NOT NULL,
  key_id     TEXT NOT NULL,
  entries    INTEGER NOT NULL,
  charged    INTEGER NOT NULL,
  PRIMARY KEY (account_id, key_id)
) STRICT, WITHOUT ROWID;

-- The progress of each regular job: a row of JSON each.
CREATE TABLE upkeep (
  job   TEXT PRIMARY KEY,                                 -- archive, check, sweep, sums, expired
  state TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What expires is found by these without reading the rest.
CREATE INDEX character_deleted ON character (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX auth_session_expiry ON auth_session (expiresAt);
CREATE INDEX auth_verification_expiry ON auth_verification (expiresAt);
