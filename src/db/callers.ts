/** Resolves an API key to its caller, with a cache of some seconds in each isolate. */

import { isWellFormedKey, sha256Hex } from "../base/ids.ts";
import type { Role } from "../base/roles.ts";
import { parseRow, rowAsJson, type WalletRow } from "./grants.ts";
import { noteRevision, selectRevision } from "./models.ts";
import { queryIds } from "./query.ts";

/** The limits of a key; a missing field means no limit. */
export interface KeyScope {
  models?: string[] | undefined;
  kinds?: string[] | undefined;
  maxOpenTasks?: number | undefined;
}

/** The account and key of a request. */
export interface Caller {
  accountId: string;
  /** The key's wallet: its own id unless it replaced another key. */
  keyId: string;
  /** SHA-256 of the key; missing if the console calls for its user. */
  keyHash?: string;
  /** The user for whom the console calls. */
  userId?: string;
  /** The role of the key's owner, or of the console's user; missing for owners, and for keys that belong to the account. */
  role?: Exclude<Role, "owner"> | undefined;
  /** With the role `member`: the wallets of the owner's keys, whose tasks and usage alone it may see. */
  ownWallets?: string[] | undefined;
  scope?: KeyScope;
  /** The client token that was used instead of the key. */
  token?: {
    /** The id of the token's object. */
    id: string;
    /** The ids of the tasks that the token may see. */
    taskIds: string[];
    scope: KeyScope;
    /** Milliseconds since the epoch. */
    expiresAt: number;
    /** The ids of the characters that it may mention. */
    characters: string[];
    /** The ids of the only files that its bodies may name. */
    files: string[];
    /** Set for all tasks of the token by the key that created it. */
    callbackUrl?: string | undefined;
    reference?: string | undefined;
    /** What it may still submit, at most: tasks, and their total price in millionths. */
    left: { tasks: number; price: number };
  };
}

/** Whose rows are meant: the account's, or with `ownWallets` those of the member to whom these wallets belong. */
export type Owner = Pick<Caller, "accountId" | "ownWallets">;

/** True if the caller is a member, and what this key made is not the member's. */
export const isOthers = ({ ownWallets }: Pick<Caller, "ownWallets">, keyId: string): boolean =>
  ownWallets !== undefined && !ownWallets.includes(keyId);

/** SQL: the row was made with a key of the owner. The parameter is `toWallets`. */
export const isOwn = (parameter: string): string => `(${parameter} IS NULL OR key_id IN (SELECT value FROM json_each(${parameter})))`;
export const toWallets = ({ ownWallets }: Pick<Owner, "ownWallets">): string | null => (ownWallets ? JSON.stringify(ownWallets) : null);

/** The dependencies of a look-up: the database, and the wallet objects, which know the changes that a replica or a restored database lacks. */
export interface KeyBindings {
  DB: D1Database;
  WALLETS: {
    getByName(accountId: string): {
      checkKeys(seen: number, primary?: WalletRow[]): Promise<{ announced: number; isRestored: boolean }>;
    };
  };
}

interface KeyRow {
  keyId: string;
  accountId: string;
  expiresAt: number | null;
  scope: string | null;
  /** The revision of the account's keys, see `account-changes.ts` */
  revision: number;
  /** The user to whom the key belongs, and the role; null if it belongs to the account. */
  ownerId: string | null;
  role: Exclude<Role, "viewer"> | null;
  /** The rows of the account's money, the key's and the member's, as JSON. */
  account: string | null;
  key: string | null;
  member: string | null;
  /** The revision of the catalogue, see `models.ts` */
  models: number;
}

interface CachedCaller {
  caller: Caller;
  /** The time in milliseconds from which a request looks it up again while others use this entry. */
  renewsAt: number;
  /** The time in milliseconds at which this cache entry expires. */
  until: number;
  /** How many requests have used it. */
  uses: number;
}

/** The column by which a key is found: the digest of its secret, or its id for callers whose secret is not known. */
type KeyColumn = "hash" | "id";

const selectKey = (
  column: KeyColumn,
) => `SELECT coalesce(k.wallet_id, k.id) AS keyId, k.account_id AS accountId, k.expires_at AS expiresAt, k.scope, a.keys_revision AS revision, k.owner_id AS ownerId, m.role,
    ${selectRevision} AS models, ${rowAsJson("w")} AS account, ${rowAsJson("v", "m.id")} AS key, ${rowAsJson("u")} AS member
  FROM api_key k JOIN account a ON a.id = k.account_id LEFT JOIN wallet w ON w.id = a.id LEFT JOIN wallet v ON v.id = coalesce(k.wallet_id, k.id)
    LEFT JOIN membership m ON m.user_id = k.owner_id AND m.account_id = k.account_id LEFT JOIN wallet u ON u.id = m.id
  WHERE k.${column} = ?1 AND k.deleted_at IS NULL AND k.paused_at IS NULL AND a.disabled = 0 AND (k.owner_id IS NULL OR (m.disabled = 0 AND m.role <> 'viewer')) AND (k.expires_at IS NULL OR k.expires_at > ?2)`;

/** How long an isolate caches a key: the time within which a deleted or paused key is refused everywhere. */
const cacheMs = 8_000;
/** A key that is used this often while it is cached is looked up again before that time is over, by one request for all. */
const renewMs = 6_000;
const busyUses = 16;
const maxCached = 10_000;
/**
 * Other requests of a key wait this long for its running look-up. They look whether it is over after this time, then after twice as long and
 * so on, because no request can wake another and each look costs as much as a tenth of a look-up.
 */
const waitMs = 100;
const pollMs = 3;

interface Cache {
  column: KeyColumn;
  known: Map<string, CachedCaller>;
  /** When the look-up began that runs for a key, in milliseconds. The entry of a request that was cancelled stays, and is replaced. */
  running: Map<string, number>;
}
/** Callers by the key as it was sent. The hash table has a random seed per isolate; D1 has only the digest. */
const byKey: Cache = { column: "hash", known: new Map(), running: new Map() };
/** Found by the digest. A cache of its own: a digest that a caller sends in place of a key must find nothing. */
const byHash: Cache = { column: "hash", known: new Map(), running: new Map() };
const byId: Cache = { column: "id", known: new Map(), running: new Map() };
/** Counts the evictions, so that the result of a look-up that began before one is not cached after it. */
let evictions = 0;

/**
 * The caller of this key, or undefined if it is mistyped, unknown, deleted, paused or expired, or its account is disabled. A caller is
 * cached for some seconds without another look-up.
 */
export const findCaller = (bindings: KeyBindings, key: string): Caller | Promise<Caller | undefined> =>
  isWellFormedKey(key) ? find(bindings, byKey, key, () => sha256Hex(key)) : Promise.resolve(undefined);

/** The caller of a key that this isolate has cached. That of a busy key is looked up again under `waitUntil` before it expires. */
export function cachedCaller(bindings: KeyBindings, ctx: Pick<ExecutionContext, "waitUntil">, key: string): Caller | undefined {
  const now = Date.now();
  const cached = findCached(byKey, key, now);
  if (cached && cached.uses++ >= busyUses && cached.renewsAt <= now && !isRunning(byKey, key, now)) {
    const renewed = lookUp(bindings, byKey, key, () => sha256Hex(key), now);
    ctx.waitUntil(renewed.catch(() => undefined)); // the entry is used until it expires
  }
  return cached?.caller;
}

/** The same as `findCaller` for a key whose digest is known from our own storage. Never for a digest that a caller sends. */
export const findCallerByHash = (bindings: KeyBindings, hash: string): Caller | Promise<Caller | undefined> =>
  find(bindings, byHash, hash, () => hash);

/** The caller of the key with this id, on the same conditions: for work of the console's users that goes on without them. */
export const findCallerById = (bindings: KeyBindings, keyId: string): Caller | Promise<Caller | undefined> =>
  find(bindings, byId, keyId, () => keyId);

/**
 * The row of a valid key. Read from the nearest replica if that has the last change of the account's keys, whose revision the account's
 * wallet object has. In every other case, and before a key is refused, the primary is read. undefined also if the object says that the
 * database was restored and lacks such a change: the key may be one that was deleted. That costs one call of the object whenever the
 * cache does not have the key. The call takes along the money's rows of the primary, so that an object that does not have them need not
 * read them before its first hold.
 */
async function readKey({ DB, WALLETS }: KeyBindings, column: KeyColumn, value: string, now: number): Promise<KeyRow | undefined> {
  const read = async (from: D1Database | D1DatabaseSession) => {
    const { results, meta } = await from.prepare(selectKey(column)).bind(value, now).run<KeyRow>();
    if (results[0]) noteRevision(DB, results[0].models);
    return { row: results[0], isPrimary: meta.served_by_primary };
  };
  // An object that does not answer is not waited for: then only the primary is trusted.
  const check = async (row: KeyRow, isPrimary: boolean) =>
    WALLETS.getByName(row.accountId)
      .checkKeys(
        row.revision,
        isPrimary ? [row.account, row.key, row.member].flatMap((json) => (json === null ? [] : [parseRow(json)])) : undefined,
      )
      .catch(() => undefined);
  const near = await read(DB.withSession("first-unconstrained"));
  if (near.row) {
    const checked = await check(near.row, near.isPrimary ?? false);
    if (checked?.isRestored) return undefined;
    if (near.isPrimary || (checked && near.row.revision >= checked.announced)) return near.row;
  } else if (near.isPrimary) return undefined;
  const { row } = await read(DB);
  return row && !near.row && (await check(row, true))?.isRestored ? undefined : row;
}

/** The wallets of all keys that a member ever had: whose tasks and usage are the member's own. */
export const listOwnWallets = (db: D1Database, accountId: string, userId: string): Promise<string[]> =>
  queryIds(db, "SELECT DISTINCT coalesce(wallet_id, id) AS id FROM api_key WHERE account_id = ?1 AND owner_id = ?2", [accountId, userId]);

type ToValue = () => Promise<string> | string;

function findCached({ known }: Cache, name: string, now: number): CachedCaller | undefined {
  const cached = known.get(name);
  return cached && cached.until > now ? cached : undefined;
}

/** True if a look-up of the key runs for which it is worth waiting. */
const isRunning = ({ running }: Cache, name: string, now: number) => now - (running.get(name) ?? -Infinity) < waitMs;

function find(bindings: KeyBindings, cache: Cache, name: string, toValue: ToValue): Caller | Promise<Caller | undefined> {
  const now = Date.now();
  const cached = findCached(cache, name, now);
  if (cached) return cached.caller;
  return isRunning(cache, name, now) ? joinLookUp(bindings, cache, name, toValue) : lookUp(bindings, cache, name, toValue, now);
}

/** Waits for the running look-up of another request. Looks the key up itself if that takes too long or has cached nothing. */
async function joinLookUp(bindings: KeyBindings, cache: Cache, name: string, toValue: ToValue): Promise<Caller | undefined> {
  for (let ms = pollMs; ms < waitMs && cache.running.has(name); ms *= 2) await scheduler.wait(ms);
  const now = Date.now();
  return findCached(cache, name, now)?.caller ?? lookUp(bindings, cache, name, toValue, now);
}

async function lookUp(bindings: KeyBindings, cache: Cache, name: string, toValue: ToValue, now: number): Promise<Caller | undefined> {
  const { column, known, running } = cache;
  if (running.size >= maxCached) running.clear();
  running.set(name, now);
  try {
    const value = await toValue();
    const before = evictions;
    const row = await readKey(bindings, column, value, now);
    if (!row) {
      known.delete(name);
      return undefined;
    }
    const { accountId, keyId, scope, role } = row;
    const caller: Caller = {
      accountId,
      keyId,
      ...(column === "hash" && { keyHash: value }),
      ...(scope !== null && { scope: JSON.parse(scope) as KeyScope }),
      ...(role !== null && role !== "owner" && { role }),
      ...(role === "member" && row.ownerId !== null && { ownWallets: await listOwnWallets(bindings.DB, accountId, row.ownerId) }),
    };
    if (before !== evictions) return caller;
    known.delete(name); // the new entry is the last to be removed
    if (known.size >= maxCached) known.delete(known.keys().next().value ?? "");
    known.set(name, { caller, renewsAt: now + renewMs, until: Math.min(now + cacheMs, row.expiresAt ?? Infinity), uses: 0 });
    return caller;
  } finally {
    // Of two look-ups the later one is waited for.
    if (running.get(name) === now) running.delete(name);
  }
}

/** Removes cached callers on this machine. */
export function forgetCallers(which: (known: CachedCaller) => boolean): void {
  evictions++;
  for (const { known } of [byKey, byHash, byId]) for (const [name, entry] of known) if (which(entry)) known.delete(name);
}
