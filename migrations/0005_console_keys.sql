-- The API key that pays for what a person runs from the console's pages: an ordinary one, whose secret nobody has.
ALTER TABLE member ADD COLUMN key_id TEXT REFERENCES api_key (id);
