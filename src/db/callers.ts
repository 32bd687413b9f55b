/** Resolves an API key to its caller, with a cache of some seconds in each isolate. */

import { isWellFormedKey, sha256Hex } from "../ids.ts";
import sql from "./callers.txt";

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
  scope?: KeyScope;
  /** The browser token that was used instead of the key. */
  token?: {
    /** The id of the token's object. */
    id: string;
    /** The ids of the tasks that the token may see. */
    taskIds: string[];
    scope: KeyScope;
  };
}

/** The dependencies of a look-up: the database, and the wallet objects, which have the revision of changes that a replica may lack. */
export interface KeyBindings {
  DB: D1Database;
  WALLETS: { getByName(accountId: string): { keysRevision(): Promise<number> } };
}

interface KeyRow {
  keyId: string;
  accountId: string;
  expiresAt: number | null;
  scope: string | null;
  /** The revision of the account's keys, see `key-changes.ts` */
  revision: number;
}

interface CachedCaller {
  caller: Caller;
  /** The time in milliseconds at which this cache entry expires. */
  until: number;
}

/** How long an isolate caches a key: the time within which a deleted key is refused everywhere. */
const cacheMs = 8_000;
const maxCached = 10_000;
const cache = new Map<string, CachedCaller>();
/** Counts the evictions, so that the result of a look-up that began before one is not cached after it. */
let evictions = 0;

/**
 * The caller of this key, or undefined if it is mistyped, unknown, deleted or expired, or its account is disabled. A caller is
 * cached for some seconds without another look-up.
 */
export const findCaller = (bindings: KeyBindings, key: string): Caller | Promise<Caller | undefined> =>
  find(bindings, key, () => (isWellFormedKey(key) ? sha256Hex(key) : undefined));

/** The same for a key whose digest is known. */
export const findCallerByHash = (bindings: KeyBindings, hash: string): Caller | Promise<Caller | undefined> =>
  find(bindings, hash, () => hash);

/**
 * The row of a valid key. Read from the nearest replica if that has the last change of the account's keys, whose revision the account's
 * wallet object has. In every other case, and before a key is refused, the primary is read.
 */
async function readKey({ DB, WALLETS }: KeyBindings, hash: string, now: number): Promise<KeyRow | undefined> {
  const read = async (from: D1Database | D1DatabaseSession) => {
    const { results, meta } = await from.prepare(sql).bind(hash, now).run<KeyRow>();
    return { row: results[0], meta };
  };
  const { row, meta } = await read(DB.withSession("first-unconstrained"));
  if (meta.served_by_primary) return row;
  // If the object does not answer, or runs the previous version, the primary is read.
  const isRecent =
    row &&
    row.revision >=
      (await WALLETS.getByName(row.accountId)
        .keysRevision()
        .catch(() => Infinity));
  return isRecent ? row : (await read(DB)).row;
}

type ToHash = () => Promise<string> | string | undefined;

function find(bindings: KeyBindings, key: string, toHash: ToHash): Caller | Promise<Caller | undefined> {
  const now = Date.now();
  // In memory, callers are found by the key itself, in a hash table with a random seed per isolate; D1 only has the digest.
  const cached = cache.get(key);
  return cached && cached.until > now ? cached.caller : lookUp(bindings, key, toHash, now);
}

async function lookUp(bindings: KeyBindings, key: string, toHash: ToHash, now: number): Promise<Caller | undefined> {
  const hash = await toHash();
  if (hash === undefined) return undefined;
  const before = evictions;
  const row = await readKey(bindings, hash, now);
  cache.delete(key);
  if (!row) return undefined;
  const { accountId, keyId, scope } = row;
  const caller = { accountId, keyId, keyHash: hash, ...(scope !== null && { scope: JSON.parse(scope) as KeyScope }) };
  if (before !== evictions) return caller;
  if (cache.size >= maxCached) cache.delete(cache.keys().next().value ?? "");
  cache.set(key, { caller, until: Math.min(now + cacheMs, row.expiresAt ?? Infinity) });
  return caller;
}

/** Removes cached callers on this machine. */
export function forgetCallers(which: (known: CachedCaller) => boolean): void {
  evictions++;
  for (const [key, entry] of cache) if (which(entry)) cache.delete(key);
}
