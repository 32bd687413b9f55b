-- The provider that made a character, and its handle there: other providers use only the character's image.
ALTER TABLE character ADD COLUMN provider TEXT;
ALTER TABLE character ADD COLUMN handle TEXT;              -- NULL if the provider stores no characters
