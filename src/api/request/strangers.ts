/** Keys and tokens that do not exist: counted per address, which is refused before any look-up when it has sent too many. */

import type { AppContext } from "./context.ts";
import { limitsRates } from "../../config.ts";
import type { Caller } from "../../db/callers.ts";
import { ApiError } from "../../base/errors.ts";
import { toNetwork } from "../../net/ip-address.ts";
import { wholeRequest } from "./origin.ts";

/** Unknown keys of one address in a minute, equal to the binding UNKNOWN_KEYS in wrangler.toml. */
export const maxUnknown = 60;
const maxEntries = 10_000;

/** What one address has sent to this isolate in the current minute. */
interface Stranger {
  /** The end of the minute in milliseconds. */
  until: number;
  unknown: number;
  /** Keys that are being looked up, and how often: they count until they turn out to exist, so that parallel requests are limited too. */
  asked: Map<string, number>;
}

const strangers = new Map<string, Stranger>();
/** Keys and tokens that existed at their last look-up: an address that is refused may still use them. */
const familiar = new Set<string>();

/** Seconds to the next minute: the platform does not report when its window ends, but it has ended by then. */
export const secondsLeft = (now: number) => 60 - (Math.floor(now / 1000) % 60);

export const tooManyRequests = () => new ApiError("rate_limit_exceeded", { retryAfter: secondsLeft(Date.now()) });

/** The client's network; requests that another Worker makes for a caller have the caller's. */
export const clientNetwork = (c: AppContext) => toNetwork((wholeRequest(c) ?? c).req.header("cf-connecting-ip") ?? "unknown");

/** Looks up the caller of a key or token. Throws `rate_limit_exceeded` instead if the address has sent too many unknown ones in this minute. */
export async function findUnlessStranger(
  c: AppContext,
  credential: string,
  find: () => Caller | undefined | Promise<Caller | undefined>,
): Promise<Caller | undefined> {
  if (!limitsRates(c.env)) return find();
  const network = clientNetwork(c);
  const stranger = openStranger(network, Date.now());
  const { asked } = stranger;
  const isNew = !asked.has(credential) && !familiar.has(credential);
  if (isNew && stranger.unknown + asked.size >= maxUnknown) throw tooManyRequests();
  asked.set(credential, (asked.get(credential) ?? 0) + 1);
  let caller;
  try {
    caller = await find();
  } finally {
    const left = (asked.get(credential) ?? 1) - 1;
    if (left > 0) asked.set(credential, left);
    else asked.delete(credential);
  }
  if (caller) {
    makeRoom(familiar);
    familiar.add(credential);
    return caller;
  }
  familiar.delete(credential);
  stranger.unknown++;
  // Counts what other isolates have seen of this address.
  if (!(await c.env.UNKNOWN_KEYS.limit({ key: network })).success) stranger.unknown = maxUnknown;
  return undefined;
}

function openStranger(network: string, now: number): Stranger {
  let stranger = strangers.get(network);
  if (!stranger || stranger.until <= now) {
    strangers.delete(network); // the new entry is the latest
    makeRoom(strangers);
    strangers.set(network, (stranger = { until: now + 1000 * secondsLeft(now), unknown: 0, asked: new Map() }));
  }
  return stranger;
}

/** Deletes the oldest entry of a full map or set: to empty it would forget all counts, which 10,000 addresses could cause. */
function makeRoom(entries: Pick<Map<string, unknown>, "size" | "keys" | "delete">): void {
  if (entries.size >= maxEntries) entries.delete(entries.keys().next().value ?? "");
}
