-- The language in which a user last opened the console, for e-mail that no request of theirs causes; NULL is English.
ALTER TABLE member ADD COLUMN language TEXT;
