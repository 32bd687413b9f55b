-- The card that paid, as the history of payments shows it, such as Visa 4242. NULL: not a card, not known, or the account was erased
ALTER TABLE payment ADD COLUMN card TEXT;

-- Payments that a person has not made yet.
CREATE INDEX payment_open ON payment (created_at) WHERE state = 'open' AND automatic = 0;
