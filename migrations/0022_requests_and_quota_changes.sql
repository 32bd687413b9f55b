-- The log of requests that callers see in the console: requests of an account in pages, so that a request costs no row of its own.
CREATE TABLE request_page (
  account_id TEXT NOT NULL,
  began_at   INTEGER NOT NULL,                            -- the time of its first request, milliseconds since the epoch
  requests   INTEGER NOT NULL,
  errors     INTEGER NOT NULL,                            -- those of them with a status of 400 or above
  entries    TEXT NOT NULL,                               -- one JSON object a line: src/db/requests.ts
  PRIMARY KEY (account_id, began_at)
) STRICT;

-- Old pages are deleted for all accounts at once.
CREATE INDEX request_page_by_time ON request_page (began_at);

-- Every change of an account's quota, whoever made it: credits and debits, with the reason that an admin gave.
CREATE TABLE quota_change (
  id         INTEGER PRIMARY KEY,
  account_id TEXT NOT NULL,
  at         INTEGER NOT NULL,                            -- milliseconds since the epoch
  before     INTEGER,                                     -- the quotas in millionths; NULL is no limit
  after      INTEGER,
  admin_id   TEXT,                                        -- the account of the admin; NULL: the operator's API
  reason     TEXT
) STRICT;
CREATE INDEX quota_change_by_account ON quota_change (account_id, id);

CREATE TRIGGER account_quota AFTER UPDATE OF quota ON wallet
WHEN OLD.quota IS NOT NEW.quota AND EXISTS (SELECT 1 FROM account WHERE id = NEW.id) BEGIN
  INSERT INTO quota_change (account_id, at, before, after) VALUES (NEW.id, CAST(1000 * unixepoch('subsec') AS INTEGER), OLD.quota, NEW.quota);
END;
