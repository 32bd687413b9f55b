-- The API key that is charged for a user's runs from the console: an ordinary key whose secret is never shown.
ALTER TABLE member ADD COLUMN key_id TEXT REFERENCES api_key (id);
