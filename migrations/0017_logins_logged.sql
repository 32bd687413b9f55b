-- The audit log names changes of how a user signs in, in each account of the user. They are made by code that is not ours, like sessions.
CREATE TRIGGER login_added_logged AFTER INSERT ON auth_account BEGIN
  INSERT INTO audit_log (account_id, at, id, act, actor, actor_id, target, after)
    SELECT account_id, CAST(1000 * unixepoch('now', 'subsec') AS INTEGER), 'aud_' || hex(randomblob(11)), 'login_added', 'user', NEW.userId,
      NEW.userId, json_object('login', NEW.providerId)
    FROM membership WHERE user_id = NEW.userId;
END;

CREATE TRIGGER login_removed_logged AFTER DELETE ON auth_account BEGIN
  INSERT INTO audit_log (account_id, at, id, act, actor, actor_id, target, before)
    SELECT account_id, CAST(1000 * unixepoch('now', 'subsec') AS INTEGER), 'aud_' || hex(randomblob(11)), 'login_removed', 'user', OLD.userId,
      OLD.userId, json_object('login', OLD.providerId)
    FROM membership WHERE user_id = OLD.userId;
END;

CREATE TRIGGER password_logged AFTER UPDATE OF password ON auth_account WHEN NEW.password IS NOT OLD.password BEGIN
  INSERT INTO audit_log (account_id, at, id, act, actor, actor_id, target)
    SELECT account_id, CAST(1000 * unixepoch('now', 'subsec') AS INTEGER), 'aud_' || hex(randomblob(11)), 'password_changed', 'user', NEW.userId, NEW.userId
    FROM membership WHERE user_id = NEW.userId;
END;

CREATE TRIGGER passkey_added_logged AFTER INSERT ON auth_passkey BEGIN
  INSERT INTO audit_log (account_id, at, id, act, actor, actor_id, target, after)
    SELECT account_id, CAST(1000 * unixepoch('now', 'subsec') AS INTEGER), 'aud_' || hex(randomblob(11)), 'passkey_added', 'user', NEW.userId,
      NEW.userId, json_object('name', NEW.name)
    FROM membership WHERE user_id = NEW.userId;
END;

CREATE TRIGGER passkey_removed_logged AFTER DELETE ON auth_passkey BEGIN
  INSERT INTO audit_log (account_id, at, id, act, actor, actor_id, target, before)
    SELECT account_id, CAST(1000 * unixepoch('now', 'subsec') AS INTEGER), 'aud_' || hex(randomblob(11)), 'passkey_removed', 'user', OLD.userId,
      OLD.userId, json_object('name', OLD.name)
    FROM membership WHERE user_id = OLD.userId;
END;

-- The address of a user, which mail is sent to and other logins are linked by.
CREATE TRIGGER address_logged AFTER UPDATE OF email ON auth_user WHEN NEW.email IS NOT OLD.email BEGIN
  INSERT INTO audit_log (account_id, at, id, act, actor, actor_id, target)
    SELECT account_id, CAST(1000 * unixepoch('now', 'subsec') AS INTEGER), 'aud_' || hex(randomblob(11)), 'address_changed', 'user', NEW.id, NEW.id
    FROM membership WHERE user_id = NEW.id;
END;

-- The address of the account follows its owner, and goes to another owner when that one leaves.
CREATE TRIGGER account_address_logged AFTER UPDATE OF email ON account WHEN NEW.email IS NOT OLD.email AND NEW.erased_at IS NULL BEGIN
  INSERT INTO audit_log (account_id, at, id, act, actor, actor_id, target)
    VALUES (NEW.id, CAST(1000 * unixepoch('now', 'subsec') AS INTEGER), 'aud_' || hex(randomblob(11)), 'account_address_changed', 'system', 'console', NEW.id);
END;
