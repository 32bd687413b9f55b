-- Passkeys of the console's users: only public keys. The columns are better-auth's.
CREATE TABLE auth_passkey (
  id           TEXT PRIMARY KEY,
  name         TEXT,
  publicKey    TEXT NOT NULL,
  userId       TEXT NOT NULL REFERENCES auth_user (id) ON DELETE CASCADE,
  credentialID TEXT NOT NULL UNIQUE,
  counter      INTEGER NOT NULL,
  deviceType   TEXT NOT NULL,
  backedUp     INTEGER NOT NULL,
  transports   TEXT,
  createdAt    TEXT,
  aaguid       TEXT
);

CREATE INDEX auth_passkey_by_user ON auth_passkey (userId);
