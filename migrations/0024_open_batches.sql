-- True for batches that have not ended: an account may have only so many at a time. Those of earlier releases do not count.
ALTER TABLE batch ADD COLUMN is_open INTEGER NOT NULL DEFAULT 0 CHECK (is_open IN (0, 1));
CREATE INDEX batch_open ON batch (account_id) WHERE is_open = 1;
