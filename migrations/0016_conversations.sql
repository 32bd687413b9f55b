-- The conversations of a user with models, on the chat page of the console. Only that user sees them, in the account that pays for them.
CREATE TABLE conversation (
  id         TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  user_id    TEXT NOT NULL,
  title      TEXT NOT NULL,
  at         INTEGER NOT NULL,                            -- of the last change, and its revision
  turns      TEXT NOT NULL                                -- JSON: src/console/chat/record.ts
) STRICT, WITHOUT ROWID;

CREATE INDEX conversation_by_user ON conversation (account_id, user_id, at);
