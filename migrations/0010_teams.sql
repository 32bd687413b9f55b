-- Teams: an account has members with roles, keys have owners, and what people do is logged. Columns named at, or ending in _at, are milliseconds since the epoch.

-- The users of an account. The table member has one user for each account: the previous release reads it, and both are kept alike below.
CREATE TABLE membership (
  id         TEXT PRIMARY KEY,                            -- also of the wallet row with the budget
  account_id TEXT NOT NULL REFERENCES account (id),
  user_id    TEXT NOT NULL REFERENCES auth_user (id),
  role       TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
  disabled   INTEGER NOT NULL DEFAULT 0 CHECK (disabled IN (0, 1)),
  created_at INTEGER NOT NULL,
  key_id     TEXT REFERENCES api_key (id),                -- is charged for runs of the console: an ordinary key whose secret is never shown
  language   TEXT                                         -- in which the console was last opened, for e-mail that no request causes. NULL is English
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX membership_of_user ON membership (user_id, account_id);
CREATE INDEX membership_of_account ON membership (account_id, created_at);

INSERT INTO membership (id, account_id, user_id, role, created_at, key_id, language)
  SELECT 'mem_' || hex(randomblob(11)), account_id, user_id, 'owner', created_at, key_id, language FROM member;
INSERT INTO wallet (id) SELECT id FROM membership;

CREATE TRIGGER member_added AFTER INSERT ON member
WHEN NOT EXISTS (SELECT 1 FROM membership WHERE user_id = NEW.user_id AND account_id = NEW.account_id) BEGIN
  INSERT INTO membership (id, account_id, user_id, role, created_at, key_id, language)
    VALUES ('mem_' || hex(randomblob(11)), NEW.account_id, NEW.user_id, 'owner', NEW.created_at, NEW.key_id, NEW.language);
  INSERT INTO wallet (id) SELECT id FROM membership WHERE user_id = NEW.user_id AND account_id = NEW.account_id;
END;

CREATE TRIGGER member_key AFTER UPDATE OF key_id ON member BEGIN
  UPDATE membership SET key_id = NEW.key_id WHERE user_id = NEW.user_id AND account_id = NEW.account_id;
END;

CREATE TRIGGER member_removed AFTER DELETE ON member BEGIN
  DELETE FROM membership WHERE user_id = OLD.user_id AND account_id = OLD.account_id AND role = 'owner' AND disabled = 0;
END;

-- Only owners: the previous release knows no roles, and gives its one user everything.
CREATE TRIGGER membership_added AFTER INSERT ON membership WHEN NEW.role = 'owner' BEGIN
  INSERT INTO member (user_id, account_id, created_at, key_id, language)
    SELECT NEW.user_id, NEW.account_id, NEW.created_at, NEW.key_id, NEW.language
    WHERE NOT EXISTS (SELECT 1 FROM member WHERE user_id = NEW.user_id OR account_id = NEW.account_id);
END;

CREATE TRIGGER membership_changed AFTER UPDATE OF role, disabled ON membership WHEN NEW.role <> 'owner' OR NEW.disabled = 1 BEGIN
  DELETE FROM member WHERE user_id = NEW.user_id AND account_id = NEW.account_id;
END;

CREATE TRIGGER membership_removed AFTER DELETE ON membership BEGIN
  DELETE FROM member WHERE user_id = OLD.user_id AND account_id = OLD.account_id;
END;

-- Invitations to be a member: for one address by mail, or a link for several people.
CREATE TABLE member_invitation (
  id         TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES account (id),
  token_hash TEXT NOT NULL UNIQUE,                        -- SHA-256 of the token in hexadecimal. The token itself is only in the link
  role       TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
  email      TEXT,                                        -- lowercase. NULL: everyone with the link
  name       TEXT,                                        -- of a link
  max_uses   INTEGER NOT NULL,
  uses       INTEGER NOT NULL DEFAULT 0,
  invited_by TEXT NOT NULL,                               -- a user
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  CHECK (uses <= max_uses)
) STRICT, WITHOUT ROWID;

CREATE INDEX member_invitation_of_account ON member_invitation (account_id, created_at);
CREATE INDEX member_invitation_by_email ON member_invitation (email) WHERE email IS NOT NULL;

-- A key belongs to a member, and works while its owner may use keys. NULL: to the account.
ALTER TABLE api_key ADD COLUMN owner_id TEXT;

-- Who did what: one row an act, written together with the act.
CREATE TABLE audit_log (
  account_id TEXT NOT NULL,                               -- empty for acts that concern no account
  at         INTEGER NOT NULL,
  id         TEXT NOT NULL,
  act        TEXT NOT NULL,
  actor      TEXT NOT NULL,                               -- user, key, operator, system
  actor_id   TEXT,                                        -- of the user or the key, or a name of the system
  address    TEXT,                                        -- the IP address
  target     TEXT,                                        -- what was changed: an id or a name
  before     TEXT,                                        -- JSON objects without secrets
  after      TEXT,
  PRIMARY KEY (account_id, at, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX audit_log_by_time ON audit_log (at);

CREATE TRIGGER audit_log_kept BEFORE UPDATE ON audit_log BEGIN
  SELECT RAISE(ABORT, 'the audit log is append only');
END;

-- A session is opened by a password, a passkey or another login, in code that is not ours.
CREATE TRIGGER session_logged AFTER INSERT ON auth_session BEGIN
  INSERT INTO audit_log (account_id, at, id, act, actor, actor_id, address, after)
    SELECT account_id, CAST(1000 * unixepoch(NEW.createdAt, 'subsec') AS INTEGER), 'aud_' || hex(randomblob(11)), 'signed_in', 'user', NEW.userId,
      nullif(NEW.ipAddress, ''), json_object('browser', NEW.userAgent)
    FROM membership WHERE user_id = NEW.userId AND disabled = 0;
END;

-- step
UPDATE api_key SET owner_id = (SELECT user_id FROM member WHERE account_id = api_key.account_id)
  WHERE account_id IN (SELECT account_id FROM member);
