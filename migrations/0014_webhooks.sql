-- Where an account is called back, and the secrets that sign for it. A row is made when one of them is first needed.
CREATE TABLE webhook (
  account_id TEXT PRIMARY KEY REFERENCES account (id),
  url        TEXT,                                        -- the account's endpoint; NULL: callbacks go to a task's own callback_url alone
  secret     TEXT NOT NULL,                               -- whsec_ and 32 bytes in Base64, in the clear: it has to sign
  old_secret TEXT,                                        -- the one before it, which signs too for a day after rotated_at
  rotated_at INTEGER
) STRICT, WITHOUT ROWID;

-- An account's ended tasks in the order in which they ended: one row more for each. The row of a submission that was refused after all
-- (outcome 'refused') only stops a late reservation; its caller was never given a task.
CREATE INDEX entry_ended ON entry (account_id, closed_at) WHERE step = 'reserve' AND kind <> 'chat' AND closed_at IS NOT NULL AND outcome <> 'refused';
