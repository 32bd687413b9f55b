-- Quota that is bought: codes, payments, and what each adds to or takes from the quota of an account.

-- What refunds and disputes took beyond what the quota had left. The quota that callers see is quota - debt. While it is below use, nothing new is held.
ALTER TABLE wallet ADD COLUMN debt INTEGER NOT NULL DEFAULT 0 CHECK (debt >= 0);

-- Each credit (or debit, below 0) of the quota of an account, once. Written in the transaction that moves the quota.
CREATE TABLE credit (
  id         TEXT PRIMARY KEY,                            -- kind and the id of its cause: code:code_1, payment:pi_1, refund:re_1, dispute:dp_1
  account_id TEXT NOT NULL,
  kind       TEXT NOT NULL,                               -- code, payment, refund, dispute, returned
  amount     INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  reason     TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX credit_by_account ON credit (account_id, at);

-- The credit that moved the quota, NULL: an operator did
ALTER TABLE quota_change ADD COLUMN credit_id TEXT;

DROP TRIGGER account_quota;

CREATE TRIGGER account_quota AFTER UPDATE OF quota, debt ON wallet
WHEN (OLD.quota - OLD.debt) IS NOT (NEW.quota - NEW.debt) AND EXISTS (SELECT 1 FROM account WHERE id = NEW.id) BEGIN
  INSERT INTO quota_change (account_id, at, before, after)
  VALUES (NEW.id, CAST(1000 * unixepoch('subsec') AS INTEGER), OLD.quota - OLD.debt, NEW.quota - NEW.debt);
END;

-- Prepaid codes. The codes themselves are shown once, when they are made.
CREATE TABLE code (
  id          TEXT PRIMARY KEY,
  hash        TEXT NOT NULL UNIQUE,                       -- SHA-256 of the code in hexadecimal
  series      TEXT NOT NULL,                              -- the request that made it
  amount      INTEGER NOT NULL CHECK (amount > 0),
  note        TEXT,
  created_at  INTEGER NOT NULL,
  expires_at  INTEGER,
  redeemed_by TEXT,                                       -- an account
  redeemed_at INTEGER,
  revoked_at  INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX code_by_series ON code (series, id);
CREATE INDEX code_by_account ON code (redeemed_by) WHERE redeemed_by IS NOT NULL;
