-- Everything that an account spent, newest first: its tasks by themselves, and its chats. A row for a chat too, which makes four to reserve.
DROP INDEX entry_tasks;
CREATE INDEX entry_by_account ON entry (account_id, kind = 'chat', at) WHERE step = 'reserve';

-- When something was last reserved on a wallet. It rides along with the row that is written anyway.
ALTER TABLE wallet ADD COLUMN reserved_at INTEGER;

UPDATE wallet SET reserved_at = latest.at
FROM (SELECT key_id AS id, max(at) AS at FROM entry WHERE step = 'reserve' GROUP BY key_id) latest
WHERE wallet.id = latest.id;

DROP TRIGGER entry_reserve;
CREATE TRIGGER entry_reserve AFTER INSERT ON entry WHEN NEW.step = 'reserve' BEGIN
  UPDATE wallet SET reserved = reserved + NEW.held, reserved_at = NEW.at WHERE id IN (NEW.account_id, NEW.key_id);
END;

-- The wallet that a key spends from: NULL is its own. A key that took another's place shares that one's.
ALTER TABLE api_key ADD COLUMN wallet_id TEXT REFERENCES wallet (id);
