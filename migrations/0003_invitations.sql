-- Invitations into an account that the operator opened: a user with the token and the account's e-mail address may sign up for it.
CREATE TABLE invitation (
  token_hash TEXT PRIMARY KEY,                            -- SHA-256 of the token in hexadecimal; the token itself is only in the link
  account_id TEXT NOT NULL REFERENCES account (id),
  expires_at INTEGER NOT NULL                             -- milliseconds since the epoch
) STRICT, WITHOUT ROWID;
