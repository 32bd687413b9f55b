-- Each file, and the input of each batch, counts as at least 64 KiB: a row and an object of one byte cost as much as larger ones.

-- What small files count beyond their bytes.
ALTER TABLE file_space ADD COLUMN padding INTEGER NOT NULL DEFAULT 0 CHECK (padding >= 0);

-- In the same step as the triggers, so that no file is added between them. A row an account, and files exist for seven days at most.
UPDATE file_space SET padding =
    (SELECT coalesce(sum(max(0, 65536 - file.bytes)), 0) FROM file WHERE file.account_id = file_space.account_id)
    + (SELECT coalesce(sum(max(0, 65536 - batch.bytes)), 0) FROM batch WHERE batch.account_id = file_space.account_id AND batch.bytes > 0);

DROP TRIGGER file_added;
CREATE TRIGGER file_added AFTER INSERT ON file BEGIN
  INSERT INTO file_space (account_id, bytes, padding) VALUES (NEW.account_id, NEW.bytes, max(0, 65536 - NEW.bytes))
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes, padding = padding + excluded.padding;
END;

DROP TRIGGER file_removed;
CREATE TRIGGER file_removed AFTER DELETE ON file BEGIN
  UPDATE file_space SET bytes = bytes - OLD.bytes, padding = padding - max(0, 65536 - OLD.bytes) WHERE account_id = OLD.account_id;
END;

DROP TRIGGER batch_added;
CREATE TRIGGER batch_added AFTER INSERT ON batch WHEN NEW.bytes > 0 BEGIN
  INSERT INTO file_space (account_id, bytes, padding) VALUES (NEW.account_id, NEW.bytes, max(0, 65536 - NEW.bytes))
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes, padding = padding + excluded.padding;
END;

DROP TRIGGER batch_removed;
CREATE TRIGGER batch_removed AFTER DELETE ON batch WHEN OLD.bytes > 0 BEGIN
  UPDATE file_space SET bytes = bytes - OLD.bytes, padding = padding - max(0, 65536 - OLD.bytes) WHERE account_id = OLD.account_id;
END;
