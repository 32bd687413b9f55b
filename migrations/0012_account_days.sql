-- What each account paid and cost by the day of settlement. Written by the operations Worker from the entries of a day that is over, because they leave the
-- database later.
CREATE TABLE account_day (
  day        INTEGER NOT NULL,                            -- its first millisecond
  account_id TEXT NOT NULL,
  charged    INTEGER NOT NULL,
  cost       INTEGER NOT NULL,
  completed  INTEGER NOT NULL,
  failed     INTEGER NOT NULL,                            -- without a result, also those that the caller caused
  uncosted   INTEGER NOT NULL,                            -- how many attempts cost an unknown amount
  PRIMARY KEY (day, account_id)
) STRICT, WITHOUT ROWID;
