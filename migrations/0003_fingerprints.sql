-- The fingerprints of files that tasks made, so that anyone can ask whether a file was made here. A row names no account, no task, no prompt and no model, and
-- nothing else here refers to it. It has no index by time: the daily job walks along the key.
CREATE TABLE fingerprint (
  sha256      BLOB PRIMARY KEY,
  kind        TEXT NOT NULL,                              -- of the task: image, video, remix
  type        TEXT NOT NULL,                              -- media type of the file
  credentials TEXT NOT NULL,                              -- maker, gateway, none
  made_at     INTEGER NOT NULL                            -- when the first task with these bytes completed
) STRICT, WITHOUT ROWID;
