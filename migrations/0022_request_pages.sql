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
