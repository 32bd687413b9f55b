-- The endpoint of an account's callbacks, and the secrets that sign them. A row is created when one of them is first needed.
CREATE TABLE webhook (
  account_id TEXT PRIMARY KEY REFERENCES account (id),
  url        TEXT,                                        -- the account's endpoint; NULL: callbacks go only to a task's own callback_url
  secret     TEXT NOT NULL,                               -- whsec_ and 32 bytes in Base64, unencrypted, because it must sign
  old_secret TEXT,                                        -- the previous one, which also signs for a day after rotated_at
  rotated_at INTEGER
) STRICT, WITHOUT ROWID;

-- An account's ended tasks in the order in which they ended: one row more for each. The row of a submission that was refused after all
-- (outcome 'refused') only stops a late reservation; its caller was never given a task.
CREATE INDEX entry_ended ON entry (account_id, closed_at) WHERE step = 'reserve' AND kind <> 'chat' AND closed_at IS NOT NULL AND outcome <> 'refused';
