-- All entries of an account, newest first: tasks and chats. A chat has a row too, so that its reservation writes four rows.
DROP INDEX entry_tasks;
CREATE INDEX entry_by_account ON entry (account_id, kind = 'chat', at) WHERE step = 'reserve';

-- When an amount was last reserved on a wallet. It is updated with a row that is written anyway.
ALTER TABLE wallet ADD COLUMN reserved_at INTEGER;

UPDATE wallet SET reserved_at = latest.at
FROM (SELECT key_id AS id, max(at) AS at FROM entry WHERE step = 'reserve' GROUP BY key_id) latest
WHERE wallet.id = latest.id;

DROP TRIGGER entry_reserve;
CREATE TRIGGER entry_reserve AFTER INSERT ON entry WHEN NEW.step = 'reserve' BEGIN
  UPDATE wallet SET reserved = reserved + NEW.held, reserved_at = NEW.at WHERE id IN (NEW.account_id, NEW.key_id);
END;

-- The wallet that a key spends from: NULL is its own. The successor of a rotated key shares the wallet of the first key.
ALTER TABLE api_key ADD COLUMN wallet_id TEXT REFERENCES wallet (id);
