-- Who made a character, and its handle there: only that provider knows it by more than its picture.
ALTER TABLE character ADD COLUMN provider TEXT;
ALTER TABLE character ADD COLUMN handle TEXT;              -- NULL where the provider keeps no characters
