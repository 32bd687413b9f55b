-- Challenges and links by their name, and logins by who the user is at their provider: signing in reads neither those that visitors left nor those of other users.
CREATE INDEX auth_verification_named ON auth_verification (identifier);
CREATE INDEX auth_account_at_provider ON auth_account (accountId, providerId);
