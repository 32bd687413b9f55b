-- The endpoint of an account's callbacks, and the secrets that sign them. A row is created when one of them is first needed.
CREATE TABLE webhook (
  account_id TEXT PRIMARY KEY REFERENCES account (id),
  url        TEXT,                                        -- the account's endpoint; NULL: callbacks go only to a task's own callback_url
  secret     TEXT NOT NULL,                               -- whsec_ and 32 bytes in Base64, unencrypted, because it must sign
  old_secret TEXT,                                        -- the previous one, which also signs for a day after rotated_at
  rotated_at INTEGER
) STRICT, WITHOUT ROWID;

-- An account's final tasks in the order of their ends; it costs one more row per settlement. The row of a submission that was refused
-- after its reservation (outcome 'refused') only stops a late reservation; its caller never got a task.
CREATE INDEX entry_ended ON entry (account_id, at) WHERE step = 'close' AND kind <> 'chat' AND outcome <> 'refused';
