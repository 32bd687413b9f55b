/** Webhooks in D1: each account's endpoint and signing secrets. Not related to money. */

/** How long the previous secret is still used for signing after a rotation. */
const oldSecretMs = 24 * 3_600_000;

export interface Webhook {
  /** The account's endpoint; null if none is set. */
  url: string | null;
  secret: string;
  oldSecret: string | null;
  /** When `oldSecret` was replaced, in milliseconds; null if never. */
  rotatedAt: number | null;
}

const columns = "url, secret, old_secret AS oldSecret, rotated_at AS rotatedAt";

/** How long an isolate caches a webhook: the time after which a changed endpoint or secret is used everywhere. */
const cacheMs = 5_000;
const maxCached = 1_000;
const cache = new Map<string, { webhook: Webhook; until: number }>();

/** A new signing secret in the format of Standard Webhooks: `whsec_` and 32 random bytes in Base64. */
const newSecret = () => `whsec_${crypto.getRandomValues(new Uint8Array(32)).toBase64()}`;

const findWebhook = (db: D1Database, accountId: string) =>
  db.prepare(`SELECT ${columns} FROM webhook WHERE account_id = ?1`).bind(accountId).first<Webhook>();

/** The account's webhook; creates its secret if it has no secret yet. Throws if D1 does not answer. */
export async function readWebhook(db: D1Database, accountId: string): Promise<Webhook> {
  const found = await findWebhook(db, accountId);
  if (found) return found;
  // Of two parallel calls that create a secret the first one wins for both.
  await db.prepare("INSERT INTO webhook (account_id, secret) VALUES (?1, ?2) ON CONFLICT DO NOTHING").bind(accountId, newSecret()).run();
  return (await findWebhook(db, accountId))!;
}

/** The account's webhook, cached for some seconds in this isolate. */
export async function cachedWebhook(db: D1Database, accountId: string): Promise<Webhook> {
  const cached = cache.get(accountId);
  if (cached && cached.until > Date.now()) return cached.webhook;
  const webhook = await readWebhook(db, accountId);
  cache.delete(accountId);
  if (cache.size >= maxCached) cache.delete(cache.keys().next().value ?? "");
  cache.set(accountId, { webhook, until: Date.now() + cacheMs });
  return webhook;
}

/** Sets the account's endpoint, or removes it with null. */
export async function setEndpoint(db: D1Database, accountId: string, url: string | null): Promise<void> {
  await db
    .prepare("INSERT INTO webhook (account_id, url, secret) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET url = excluded.url")
    .bind(accountId, url, newSecret())
    .run();
  cache.delete(accountId);
}

/**
 * Replaces the account's secret and returns the new one. The previous secret is also used for signing for a day. The one before that is
 * dropped at once, so that two rotations revoke a leaked secret.
 */
export async function rotateSecret(db: D1Database, accountId: string): Promise<string> {
  const secret = newSecret();
  await db
    .prepare(
      `INSERT INTO webhook (account_id, secret) VALUES (?1, ?2)
       ON CONFLICT DO UPDATE SET old_secret = secret, secret = excluded.secret, rotated_at = ?3`,
    )
    .bind(accountId, secret, Date.now())
    .run();
  cache.delete(accountId);
  return secret;
}

/** The secrets that sign at the time `now` (milliseconds), the newest first. */
export const signingSecrets = ({ secret, oldSecret, rotatedAt }: Webhook, now: number): string[] =>
  oldSecret !== null && now < (rotatedAt ?? 0) + oldSecretMs ? [secret, oldSecret] : [secret];

/** True if the account has an endpoint. */
export const hasEndpoint = async (db: D1Database, accountId: string): Promise<boolean> =>
  (await db.prepare("SELECT 1 FROM webhook WHERE account_id = ?1 AND url IS NOT NULL").bind(accountId).first()) !== null;
