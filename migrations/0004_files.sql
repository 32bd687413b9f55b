-- Files that callers upload. Their bytes are in the bucket.

CREATE TABLE file (
  account_id TEXT NOT NULL,
  id         TEXT NOT NULL,                               -- file_, the SHA-256 of the bytes and a random part, so files with the same bytes have the same first 48 characters
  type       TEXT NOT NULL,                               -- the media type that the bytes show
  bytes      INTEGER NOT NULL CHECK (bytes >= 0),
  name       TEXT,                                        -- of the file in the form that it came in
  object     TEXT NOT NULL,                               -- the key in the bucket. Files with the same bytes share it
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,                            -- from then on the file does not exist for its account. The row stays until the bytes are removed
  PRIMARY KEY (account_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX file_by_time ON file (account_id, created_at, id);
CREATE INDEX file_by_expiry ON file (expires_at);

-- The sum of the bytes of all files of an account, which the limit of an account is compared with.
CREATE TABLE file_space (
  account_id TEXT PRIMARY KEY,
  bytes      INTEGER NOT NULL CHECK (bytes >= 0)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER file_added AFTER INSERT ON file BEGIN
  INSERT INTO file_space (account_id, bytes) VALUES (NEW.account_id, NEW.bytes) ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER file_removed AFTER DELETE ON file BEGIN
  UPDATE file_space SET bytes = bytes - OLD.bytes WHERE account_id = OLD.account_id;
END;
