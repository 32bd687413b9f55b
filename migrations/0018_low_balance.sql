-- The owners of an account get an e-mail when its balance falls below an amount, once for each time that it falls.
CREATE TABLE low_balance (
  account_id TEXT PRIMARY KEY,
  threshold  INTEGER NOT NULL CHECK (threshold > 0),      -- millionths
  told_at    INTEGER                                      -- when they were told, NULL while the balance is not below
) STRICT, WITHOUT ROWID;
