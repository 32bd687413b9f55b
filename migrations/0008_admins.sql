-- Who sees the operator's pages of the console.
ALTER TABLE account ADD COLUMN admin INTEGER NOT NULL DEFAULT 0 CHECK (admin IN (0, 1));
