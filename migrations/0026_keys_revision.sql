-- When an account's keys, or whether it is disabled, changed last, as its wallet object announced it (milliseconds, always growing): a reader of a replica sees by it whether the replica is behind.
ALTER TABLE account ADD COLUMN keys_revision INTEGER NOT NULL DEFAULT 0;

-- Of two changes at the same time the earlier announced one is refused if it comes later, and is announced again.
CREATE TRIGGER account_keys_revision BEFORE UPDATE OF keys_revision ON account WHEN NEW.keys_revision <= OLD.keys_revision BEGIN
  SELECT RAISE(ABORT, 'keys_revision');
END;
