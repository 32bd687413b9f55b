/** Webhooks in D1: each account's endpoint and signing secrets, which are sealed. Not related to money. */

import { dayMs } from "../base/times.ts";
import { deriveBytes, openSealed, seal, sealAgain, type SealingSecrets } from "../signing/sealing.ts";
import { type Announcer, changeKeys, replaceSecret } from "./account-changes.ts";
import { type Actor, auditRow, auditRowIfChanged } from "./audit-log.ts";
import { execute, hasRow, queryRow, queryRows } from "./query.ts";

export type WebhookBindings = SealingSecrets & { DB: D1Database };

/** How long the previous secret is still used for signing after a rotation. */
const oldSecretMs = dayMs;

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

const findRow = (db: D1Database, accountId: string) =>
  queryRow<Webhook>(db, `SELECT ${columns} FROM webhook WHERE account_id = ?1`, [accountId]);

/** The account's row, with sealed secrets; creates one if the account has none. */
async function openRow(env: WebhookBindings, accountId: string): Promise<Webhook> {
  const { DB } = env;
  const found = await findRow(DB, accountId);
  if (found) return found;
  // Of two parallel calls that create a secret the first one wins for both.
  const secret = await seal(env, accountId, newSecret());
  await execute(DB, "INSERT INTO webhook (account_id, secret) VALUES (?1, ?2) ON CONFLICT DO NOTHING", [accountId, secret]);
  return (await findRow(DB, accountId))!;
}

/** The account's webhook; creates its secret if it has no secret yet. Throws if D1 does not answer, or the secret cannot be opened: after a rotation of the account's secret it can. */
export async function readWebhook(env: WebhookBindings, accountId: string): Promise<Webhook> {
  const row = await openRow(env, accountId);
  return {
    ...row,
    secret: await openSealed(env, accountId, row.secret),
    // One that cannot be opened does not sign.
    oldSecret: row.oldSecret === null ? null : await openSealed(env, accountId, row.oldSecret).catch(() => null),
  };
}

/** The account's webhook, cached for some seconds in this isolate. */
export async function cachedWebhook(env: WebhookBindings, accountId: string): Promise<Webhook> {
  const cached = cache.get(accountId);
  if (cached && cached.until > Date.now()) return cached.webhook;
  const webhook = await readWebhook(env, accountId);
  cache.delete(accountId);
  if (cache.size >= maxCached) cache.delete(cache.keys().next().value ?? "");
  cache.set(accountId, { webhook, until: Date.now() + cacheMs });
  return webhook;
}

/** An address without what may be a secret in it: its query. */
const toShown = (url: string | null): string | null => url && url.replace(/\?.*/, "?…");

/** Sets the account's endpoint, or removes it with null. */
export async function setEndpoint(
  env: WebhookBindings,
  announcer: Announcer,
  by: Actor,
  accountId: string,
  url: string | null,
): Promise<void> {
  const before = (await findRow(env.DB, accountId))?.url ?? null;
  const statement = env.DB.prepare(
    "INSERT INTO webhook (account_id, url, secret) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET url = excluded.url",
  ).bind(accountId, url, await seal(env, accountId, newSecret()));
  const act = { act: "webhook_changed", before: { url: toShown(before) }, after: { url: toShown(url) } } as const;
  const logged = auditRow(env.DB, accountId, by, act);
  await changeKeys(env.DB, announcer, accountId, [statement, logged], { act: "webhook_endpoint", url });
  cache.delete(accountId);
}

/**
 * Replaces the account's secret and returns the new one. The previous secret is also used for signing for a day. The one before that is
 * dropped at once, so that two rotations revoke a leaked secret. With an idempotency key a repeat within the day returns the same secret and
 * changes nothing: a second click must not end the secret that receivers have.
 */
export async function rotateSecret(
  env: WebhookBindings,
  announcer: Announcer,
  by: Actor,
  accountId: string,
  key?: string,
): Promise<string> {
  const row = key === undefined ? null : await openRow(env, accountId);
  // Computed from the secret that it replaces, so that a repeat finds it again and a later rotation with the same key does not.
  const replacing = async (old: string) => `whsec_${(await deriveBytes(env, `rotation\n${accountId}\n${key}\n${old}`)).toBase64()}`;
  if (row?.oldSecret && Date.now() < (row.rotatedAt ?? 0) + oldSecretMs) {
    const earlier = await replacing(row.oldSecret);
    if ((await openSealed(env, accountId, row.secret).catch(() => undefined)) === earlier) return earlier;
  }
  const secret = row ? await replacing(row.secret) : newSecret();
  const change = { act: "webhook_secret", secret: await seal(env, accountId, secret), at: Date.now() } as const;
  const statements = [
    replaceSecret(env.DB, accountId, change.secret, change.at, row?.secret),
    auditRowIfChanged(env.DB, accountId, by, { act: "webhook_secret_rotated" }),
  ];
  const [replaced] = await changeKeys(env.DB, announcer, accountId, statements, change);
  cache.delete(accountId);
  // Another request was faster, perhaps with the same key.
  return replaced?.results.length === 0 ? rotateSecret(env, announcer, by, accountId, key) : secret;
}

/**
 * Seals the secrets of the next `limit` accounts after `after` with the current key, after a rotation of
 * SEALING_KEY. Returns the last of these accounts; undefined after the last one of all. May be repeated.
 */
export async function sealSecrets(env: WebhookBindings, after: string, limit: number): Promise<string | undefined> {
  const { DB } = env;
  const rows = await queryRows<Pick<Webhook, "secret" | "oldSecret"> & { accountId: string }>(
    DB,
    "SELECT account_id AS accountId, secret, old_secret AS oldSecret FROM webhook WHERE account_id > ?1 ORDER BY account_id LIMIT ?2",
    [after, limit],
  );
  const statements = [];
  for (const { accountId, secret, oldSecret } of rows) {
    const sealed = await sealAgain(env, accountId, secret);
    const oldSealed = oldSecret === null ? null : await sealAgain(env, accountId, oldSecret);
    if (sealed === secret && oldSealed === oldSecret) continue;
    // Not if the secret was rotated meanwhile.
    statements.push(
      DB.prepare("UPDATE webhook SET secret = ?2, old_secret = ?3 WHERE account_id = ?1 AND secret = ?4 AND old_secret IS ?5").bind(
        accountId,
        sealed,
        oldSealed,
        secret,
        oldSecret,
      ),
    );
  }
  if (statements.length > 0) await DB.batch(statements);
  return rows.length < limit ? undefined : rows.at(-1)?.accountId;
}

/** The secrets that sign at the time `now` (milliseconds), the newest first. */
export const signingSecrets = ({ secret, oldSecret, rotatedAt }: Webhook, now: number): string[] =>
  oldSecret !== null && now < (rotatedAt ?? 0) + oldSecretMs ? [secret, oldSecret] : [secret];

export const hasEndpoint = (db: D1Database, accountId: string): Promise<boolean> =>
  hasRow(db, "SELECT 1 FROM webhook WHERE account_id = ?1 AND url IS NOT NULL", [accountId]);
