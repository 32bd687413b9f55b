-- What a key may be used for, as JSON: {"models": [...], "kinds": [...], "maxOpenTasks": n}. What is missing has no limit; NULL is none at all.
ALTER TABLE api_key ADD COLUMN scope TEXT;
