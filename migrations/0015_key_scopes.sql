-- The scope of a key as JSON: {"models": [...], "kinds": [...], "maxOpenTasks": n}. A missing field means no limit; NULL means no limits at
-- all.
ALTER TABLE api_key ADD COLUMN scope TEXT;
