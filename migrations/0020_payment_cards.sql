-- The card that paid, as the history of payments shows it, such as Visa 4242. NULL: not a card, not known, or the account was erased
ALTER TABLE payment ADD COLUMN card TEXT;
