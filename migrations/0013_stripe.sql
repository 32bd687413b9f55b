-- Payments by Stripe. What a payment adds to the quota is a row of credit (payment:<payment intent>), written with the quota itself.

-- The customer at Stripe of an account.
CREATE TABLE payer (
  account_id  TEXT PRIMARY KEY,
  customer_id TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  erased_at   INTEGER                                     -- the account was erased, and the customer is still to be deleted at Stripe
) STRICT, WITHOUT ROWID;

CREATE INDEX payer_to_erase ON payer (erased_at) WHERE erased_at IS NOT NULL;

CREATE TABLE payment (
  id         TEXT PRIMARY KEY,                            -- ours, which the metadata at Stripe names
  account_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  money      INTEGER NOT NULL CHECK (money > 0),          -- in the smallest unit of the currency, such as cents
  currency   TEXT NOT NULL,
  amount     INTEGER NOT NULL CHECK (amount > 0),         -- what it adds to the quota
  state      TEXT NOT NULL,                               -- open, paid, expired, failed
  session_id TEXT,                                        -- of Checkout
  intent_id  TEXT UNIQUE,                                 -- the payment intent
  paid_at    INTEGER,
  automatic  INTEGER NOT NULL DEFAULT 0,                  -- 1: an automatic top-up, with the stored card in method_id
  method_id  TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX payment_by_account ON payment (account_id, created_at);

-- At most one automatic top-up of an account is under way.
CREATE UNIQUE INDEX payment_automatic ON payment (account_id) WHERE automatic = 1 AND state = 'open';

-- Automatic top-up: when the balance falls below the threshold, money is taken from the stored card, up to the ceiling in a month.
CREATE TABLE top_up (
  account_id TEXT PRIMARY KEY,
  threshold  INTEGER NOT NULL,
  money      INTEGER NOT NULL CHECK (money > 0),          -- of each payment
  currency   TEXT NOT NULL,
  amount     INTEGER NOT NULL CHECK (amount > 0),         -- what each adds to the quota
  ceiling    INTEGER NOT NULL,                            -- money in a month (UTC)
  method_id  TEXT,                                        -- of the stored card, NULL until a person has stored one at Stripe
  method_at  INTEGER NOT NULL DEFAULT 0,                  -- when it was stored
  paused_at  INTEGER,
  paused_for TEXT,                                        -- declined, disputed
  mailed_at  INTEGER,                                     -- when the owners were told
  looked_at  INTEGER NOT NULL DEFAULT 0                   -- when the balance was last compared
) STRICT, WITHOUT ROWID;

CREATE INDEX top_up_by_look ON top_up (looked_at) WHERE paused_at IS NULL AND method_id IS NOT NULL;

-- Refunds and disputes of payments.
CREATE TABLE payment_return (
  id         TEXT PRIMARY KEY,                            -- of the refund or dispute at Stripe
  payment_id TEXT NOT NULL,
  kind       TEXT NOT NULL,                               -- refund, dispute
  money      INTEGER NOT NULL,
  state      TEXT NOT NULL,                               -- taken, or returned: a dispute was won, or a refund failed
  at         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX payment_return_by_payment ON payment_return (payment_id);

-- The events of Stripe that were handled. Each is written with what it changes.
CREATE TABLE payment_event (
  id TEXT PRIMARY KEY,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX payment_event_by_time ON payment_event (at);
