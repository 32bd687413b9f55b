-- What the wallet object of an account holds of the account's quota, and what it needs to write to this table safely.
ALTER TABLE wallet ADD COLUMN granted INTEGER NOT NULL DEFAULT 0 CHECK (granted BETWEEN 0 AND reserved); -- accounts: the part of `reserved` that the object spends from
ALTER TABLE wallet ADD COLUMN revision INTEGER NOT NULL DEFAULT 0; -- accounts: how many times the object wrote; lower than the object's own count: the database was restored

-- A deleted character keeps its row: a settlement that is repeated must not bring it back.
ALTER TABLE character ADD COLUMN deleted_at INTEGER;

-- Wallet objects write a task's row when it has ended, and move the sums themselves, for a whole batch at a time.
DROP TRIGGER entry_reserve;
CREATE TRIGGER entry_reserve AFTER INSERT ON entry WHEN NEW.step = 'reserve' AND NEW.closed_at IS NULL BEGIN
  UPDATE wallet SET reserved = reserved + NEW.held, reserved_at = NEW.at, open_tasks = open_tasks + (NEW.kind <> 'chat')
  WHERE id IN (NEW.account_id, NEW.key_id);
END;
