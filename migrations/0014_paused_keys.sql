-- A paused key is refused like a deleted one until it is resumed.
ALTER TABLE api_key ADD COLUMN paused_at INTEGER; -- milliseconds, NULL while the key works
