-- The key whose owner files and batches belong to: members of an account see their own ones only. Empty in rows of the release before.
ALTER TABLE file ADD COLUMN key_id TEXT;
ALTER TABLE batch ADD COLUMN key_id TEXT;

-- The size of the stored input of a batch, which counts with the files of the account for as long as the batch is kept.
ALTER TABLE batch ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0);

-- When the batch was listed, until its object is known to exist: a crash between the two leaves a row and perhaps an input.
ALTER TABLE batch ADD COLUMN begins_at INTEGER;

CREATE INDEX batch_not_begun ON batch (begins_at) WHERE begins_at IS NOT NULL;

CREATE TRIGGER batch_added AFTER INSERT ON batch WHEN NEW.bytes > 0 BEGIN
  INSERT INTO file_space (account_id, bytes) VALUES (NEW.account_id, NEW.bytes) ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER batch_removed AFTER DELETE ON batch WHEN OLD.bytes > 0 BEGIN
  UPDATE file_space SET bytes = bytes - OLD.bytes WHERE account_id = OLD.account_id;
END;
