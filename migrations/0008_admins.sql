-- Accounts with the admin role, which opens the console's admin pages.
ALTER TABLE account ADD COLUMN admin INTEGER NOT NULL DEFAULT 0 CHECK (admin IN (0, 1));
