-- Counted attempts by their age, so that the removal of old ones does not read those of every network and address.
CREATE INDEX auth_rate_limit_age ON auth_rate_limit (lastRequest);
