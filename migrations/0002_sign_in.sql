-- Users of the console. The tables and columns are better-auth's (1.7), with other table names; dates are ISO texts.

CREATE TABLE auth_user (
  id            TEXT PRIMARY KEY,
  name          TEXT NOT NULL,
  email         TEXT NOT NULL UNIQUE,
  emailVerified INTEGER NOT NULL,
  image         TEXT,
  createdAt     TEXT NOT NULL,
  updatedAt     TEXT NOT NULL
);

CREATE TABLE auth_session (
  id        TEXT PRIMARY KEY,
  userId    TEXT NOT NULL REFERENCES auth_user (id) ON DELETE CASCADE,
  token     TEXT NOT NULL UNIQUE,
  expiresAt TEXT NOT NULL,
  ipAddress TEXT,
  userAgent TEXT,
  createdAt TEXT NOT NULL,
  updatedAt TEXT NOT NULL
);

CREATE INDEX auth_session_by_user ON auth_session (userId);

-- How a user signs in: a password's hash, or a linked login.
CREATE TABLE auth_account (
  id                    TEXT PRIMARY KEY,
  userId                TEXT NOT NULL REFERENCES auth_user (id) ON DELETE CASCADE,
  accountId             TEXT NOT NULL,
  providerId            TEXT NOT NULL,
  accessToken           TEXT,
  refreshToken          TEXT,
  idToken               TEXT,
  accessTokenExpiresAt  TEXT,
  refreshTokenExpiresAt TEXT,
  scope                 TEXT,
  password              TEXT,
  createdAt             TEXT NOT NULL,
  updatedAt             TEXT NOT NULL
);

CREATE INDEX auth_account_by_user ON auth_account (userId);

CREATE TABLE auth_verification (
  id         TEXT PRIMARY KEY,
  identifier TEXT NOT NULL,
  value      TEXT NOT NULL,
  expiresAt  TEXT NOT NULL,
  createdAt  TEXT,
  updatedAt  TEXT
);

CREATE TABLE auth_rate_limit (
  id          TEXT PRIMARY KEY,
  key         TEXT NOT NULL UNIQUE,
  count       INTEGER NOT NULL,
  lastRequest INTEGER NOT NULL
);

-- The gateway account that a user may read and spend from.
CREATE TABLE member (
  user_id    TEXT PRIMARY KEY REFERENCES auth_user (id),
  account_id TEXT NOT NULL REFERENCES account (id),
  created_at INTEGER NOT NULL                             -- milliseconds since the epoch
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX member_by_account ON member (account_id);
