-- Models of the operator, and changes of built-in ones: each row is one revision of an entry. The newest row of a model counts.

CREATE TABLE model (
  revision INTEGER PRIMARY KEY,                           -- grows with each change of any model: the newest one is that of the whole catalogue
  id       TEXT NOT NULL,
  entry    TEXT NOT NULL,                                 -- JSON, as the operator wrote it
  removed  INTEGER NOT NULL DEFAULT 0 CHECK (removed IN (0, 1)), -- 1: the operator took the entry away. The row keeps what it was
  at       INTEGER NOT NULL
) STRICT;

CREATE INDEX model_by_id ON model (id, revision);
