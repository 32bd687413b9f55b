-- Each index of the ledger had the whole id of the account beside the task's: a sixth of the database. Four of its random characters find the
-- account's rows (one in fourteen million accounts has the same ones), and the row itself tells whose it is. Queries name both: `ofAccount` in src/db/ledger.ts.
DROP INDEX entry_by_account;
CREATE INDEX entry_by_account ON entry (substr(account_id, 5, 4), kind = 'chat', at) WHERE step = 'reserve';
DROP INDEX entry_filtered;
CREATE INDEX entry_filtered ON entry (substr(account_id, 5, 4), model, substr(kind, 1, 1), outcome = 'completed', at)
  WHERE step = 'reserve' AND kind <> 'chat' AND closed_at IS NOT NULL;
DROP INDEX entry_ended;
CREATE INDEX entry_ended ON entry (substr(account_id, 5, 4), closed_at)
  WHERE step = 'reserve' AND kind <> 'chat' AND closed_at IS NOT NULL AND outcome <> 'refused';
