/** An event stream or wait that a request holds open: counted for its key or client token, and ended with it. */

import type { AppContext } from "./context.ts";
import { limitsRates } from "../../config.ts";
import { findCallerByHash } from "../../db/callers.ts";
import { ApiError } from "../../base/errors.ts";
import { alert } from "../../base/log.ts";
import { renewMs } from "../../wallet/open-waits.ts";
import { noKey } from "./auth.ts";
import { isOpenAi } from "./origin.ts";

export interface OpenWait {
  /** Waits this many milliseconds. Throws `unauthorized` if the key or token is no longer valid, and `too_many_waits`. */
  pause(ms: number): Promise<void>;
  /** Must be called at the end; may be repeated. */
  end(): void;
}

/**
 * Begins a stream or wait. Throws `too_many_waits` if the key or token has the maximum of them open. They are counted in the account's wallet
 * object, because a key's requests arrive in many isolates and a rate limiter does not see when they end. If the object does not answer they
 * are not limited. A call of OpenAI's images, which waits too, counts as a submission only: it must not fail after its task was made.
 */
export async function openWait(c: AppContext): Promise<OpenWait> {
  const { accountId, keyId, token } = c.get("caller");
  const [name, id] = [token?.id ?? keyId, crypto.randomUUID()];
  const counts = limitsRates(c.env) && !isOpenAi(c.req.raw);
  const wallet = () => c.env.WALLETS.getByName(accountId);
  const uncounted = (error: unknown) => alert("wait", { request: c.get("requestId"), account: accountId, outcome: "uncounted" }, error);
  let renewAt = 0;
  let isEnded = false;
  const hold = async () => {
    if (!counts || isEnded || Date.now() < renewAt) return;
    renewAt = Date.now() + renewMs;
    const isHeld = await wallet()
      .holdWait(name, id)
      .catch((error: unknown) => (uncounted(error), true));
    if (!isHeld) throw new ApiError("too_many_waits");
  };
  await hold();
  return {
    async pause(ms) {
      await scheduler.wait(ms);
      await requireValid(c);
      await hold();
    },
    end() {
      if (isEnded) return;
      isEnded = true;
      if (!counts) return;
      const ended = wallet().endWait(name, id);
      c.executionCtx.waitUntil(ended.catch(uncounted));
    },
  };
}

/** Throws `unauthorized` if the caller's key or token has ended since the request began. The console checks its users itself. */
async function requireValid(c: AppContext): Promise<void> {
  const { keyHash, token } = c.get("caller");
  const isExpired = token && token.expiresAt <= Date.now();
  if (isExpired || (keyHash !== undefined && !(await findCallerByHash(c.env, keyHash)))) throw noKey(c);
}
