/** Destinations in D1: each account's buckets for delivery, whose secrets are sealed. Not related to money. */

import { openSealed, seal, sealAgain, type SealingSecrets } from "../signing/sealing.ts";
import { type Announcer, changeKeys, type DestinationRow, putDestination, removeDestination } from "./account-changes.ts";
import { type Actor, auditRow, auditRowIfChanged, type Facts } from "./audit-log.ts";
import { queryRow, queryRows } from "./query.ts";

export type DestinationBindings = SealingSecrets & { DB: D1Database };

/** A bucket of the caller, as it is shown: without its secret. Times in milliseconds. */
export type Destination = Omit<DestinationRow, "secret">;

const shownColumns =
  "name, kind, endpoint, bucket, region, access_key_id AS accessKeyId, prefix, created_at AS createdAt, changed_at AS changedAt";
const columns = `${shownColumns}, secret`;

/** The account's destinations by name. */
export const listDestinations = (db: D1Database, accountId: string): Promise<Destination[]> =>
  queryRows(db, `SELECT ${shownColumns} FROM destination WHERE account_id = ?1 ORDER BY name`, [accountId]);

export const findDestination = (db: D1Database, accountId: string, name: string): Promise<Destination | undefined> =>
  queryRow(db, `SELECT ${shownColumns} FROM destination WHERE account_id = ?1 AND name = ?2`, [accountId, name]);

/** A destination with its secret, to sign with; undefined if the account has none of this name. Throws if D1 does not answer or the secret cannot be opened. */
export async function openDestination(env: DestinationBindings, accountId: string, name: string): Promise<DestinationRow | undefined> {
  const row = await queryRow<DestinationRow>(env.DB, `SELECT ${columns} FROM destination WHERE account_id = ?1 AND name = ?2`, [
    accountId,
    name,
  ]);
  return row && { ...row, secret: await openSealed(env, accountId, row.secret) };
}

/** What the audit log says of a destination. */
const factsOf = ({ endpoint, bucket, region, accessKeyId, prefix }: Destination): Facts => ({
  endpoint,
  bucket,
  region,
  access_key_id: accessKeyId,
  prefix,
});

/** Creates or replaces a destination, given with its secret. undefined if the account has the maximum number of destinations. */
export async function setDestination(
  env: DestinationBindings,
  announcer: Announcer,
  by: Actor,
  accountId: string,
  given: Omit<DestinationRow, "createdAt" | "changedAt">,
  now: number,
): Promise<Destination | undefined> {
  const replaced = await findDestination(env.DB, accountId, given.name);
  const secret = await seal(env, accountId, given.secret);
  const destination: DestinationRow = { ...given, secret, createdAt: replaced?.createdAt ?? now, changedAt: now };
  const act = {
    act: "destination_set",
    target: given.name,
    before: replaced ? factsOf(replaced) : undefined,
    after: factsOf(destination),
  } as const;
  const statements = [putDestination(env.DB, accountId, destination), auditRowIfChanged(env.DB, accountId, by, act)];
  const [put] = await changeKeys(env.DB, announcer, accountId, statements, { act: "destination", destination });
  if (put?.meta.changes === 0) return undefined;
  const { secret: _secret, ...shown } = destination;
  return shown;
}

/** Removes a destination; false if the account has none of this name. */
export async function deleteDestination(
  env: DestinationBindings,
  announcer: Announcer,
  by: Actor,
  accountId: string,
  name: string,
): Promise<boolean> {
  const known = await findDestination(env.DB, accountId, name);
  if (!known) return false;
  const act = { act: "destination_deleted", target: name, before: factsOf(known) } as const;
  const statements = [removeDestination(env.DB, accountId, name), auditRow(env.DB, accountId, by, act)];
  await changeKeys(env.DB, announcer, accountId, statements, { act: "destination_deleted", name });
  return true;
}

/** Seals a presigned URL of the caller: whoever has it may write. */
export const sealUrl = (env: SealingSecrets, accountId: string, url: string): Promise<string> => seal(env, accountId, url);

const sealedAtOnce = 200;

/**
 * Seals the secrets of destinations of the accounts after `after`, up to and with `last` (all if undefined), with the current key, after a
 * rotation of SEALING_KEY. May be repeated.
 */
export async function sealDestinations(env: DestinationBindings, after: string, last: string | undefined): Promise<void> {
  const { DB } = env;
  let place = { accountId: after, name: "\u{10ffff}" };
  for (;;) {
    const rows = await queryRows<Pick<DestinationRow, "name" | "secret"> & { accountId: string }>(
      DB,
      `SELECT account_id AS accountId, name, secret FROM destination
       WHERE (account_id, name) > (?1, ?2) AND (?3 IS NULL OR account_id <= ?3) ORDER BY account_id, name LIMIT ?4`,
      [place.accountId, place.name, last ?? null, sealedAtOnce],
    );
    const statements = [];
    for (const { accountId, name, secret } of rows) {
      const sealed = await sealAgain(env, accountId, secret);
      // Not if the destination was replaced meanwhile.
      const update = "UPDATE destination SET secret = ?3 WHERE account_id = ?1 AND name = ?2 AND secret = ?4";
      if (sealed !== secret) statements.push(DB.prepare(update).bind(accountId, name, sealed, secret));
    }
    if (statements.length > 0) await DB.batch(statements);
    const end = rows.at(-1);
    if (!end || rows.length < sealedAtOnce) return;
    place = end;
  }
}
