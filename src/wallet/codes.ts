/** Redeems and revokes prepaid codes: one claim decides, then the account's wallet is credited once. Each step may be repeated after a crash. */

import { inLanes } from "../base/concurrency.ts";
import { isUnlimited } from "../db/accounts.ts";
import type { Actor } from "../db/audit-log.ts";
import { findCodeByHash, hashCode, setRedeemed, setRevoked, type Code } from "../db/codes.ts";
import { claimCode, readClaim } from "../storage/code-claims.ts";

type Bindings = Pick<Env, "DB" | "ASSETS" | "WALLETS">;

/** `used`: also by the account itself. `unknown`: also a revoked code, of which the redeemer learns nothing. `unlimited`: the account has an unlimited quota, and the code stays open. */
export type Redeemed = { state: "redeemed"; amount: number } | { state: "unknown" | "used" | "expired" | "unlimited" };

/** Credits the account with a code as a person typed it. Throws if a storage does not answer: the same account repeats it then. */
export async function redeemCode(env: Bindings, accountId: string, typed: string, by: Actor): Promise<Redeemed> {
  const hash = await hashCode(typed);
  const code = hash === undefined ? null : await findCodeByHash(env.DB, hash);
  if (!code || code.revokedAt !== null) return { state: "unknown" };
  if (code.redeemedAt !== null) return { state: "used" };
  if (await isUnlimited(env.DB, accountId)) return { state: "unlimited" };
  const now = Date.now();
  // Not after a claim: the code of a redemption that broke off is not lost.
  const isExpired = code.expiresAt !== null && code.expiresAt <= now;
  if (isExpired && (await readClaim(env.ASSETS, code.id))?.account !== accountId) return { state: "expired" };
  const claim = await claimCode(env.ASSETS, code.id, { account: accountId, at: now });
  if (claim.account === null) {
    await setRevoked(env.DB, [code.id], claim.at, by);
    return { state: "unknown" };
  }
  if (claim.account !== accountId) return { state: "used" };
  const { id, amount, note } = code;
  const credit = { id: `code:${id}`, kind: "code" as const, amount, at: claim.at, reason: note };
  const done = await env.WALLETS.getByName(accountId).credit(credit, by);
  await setRedeemed(env.DB, id, accountId, claim.at);
  // A restored database does not know that the code was spent, the wallet does.
  return done === "known" && claim.at < now - repeatMs ? { state: "used" } : { state: "redeemed", amount };
}

/** A repeat within this time continues a redemption whose answer was lost. */
const repeatMs = 600_000;

/** Revokes codes. Returns how many were: not those that were redeemed, also in the same moment. */
export async function revokeCodes({ DB, ASSETS }: Bindings, codes: Code[], by: Actor): Promise<number> {
  const at = Date.now();
  const claims = await inLanes(codes, async ({ id }) => ({ id, claim: await claimCode(ASSETS, id, { account: null, at }) }));
  const revoked = claims.flatMap(({ id, claim }) => (claim.account === null ? [id] : []));
  await setRevoked(DB, revoked, at, by);
  return revoked.length;
}
