/** `/v1/verify/{sha256}`: whether a file was made here. For everyone, without a key: it names no account, no prompt and no model. */

import { answerPlain } from "./request/answer.ts";
import type { AppContext } from "./request/context.ts";
import { clientNetwork, tooManyRequests } from "./request/strangers.ts";
import { limitsRates } from "../config.ts";
import { readFingerprint } from "../db/fingerprints.ts";
import { ApiError, invalid } from "../base/errors.ts";
import { toSeconds } from "../base/times.ts";

/** Answers with what is known about the file with this SHA-256. Stores nothing; one row of D1 is read, within the limit of the address. */
export async function verify(c: AppContext): Promise<Response> {
  c.set("allowOrigin", "*");
  c.set("isSampled", true);
  const sha256 = (c.req.param("sha256") ?? "").toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw invalid("sha256", "not_sha256");
  if (limitsRates(c.env) && !(await c.env.VERIFICATIONS.limit({ key: clientNetwork(c) })).success) throw tooManyRequests();
  const found = await readFingerprint(c.env.DB, sha256).catch((cause: unknown) => {
    throw new ApiError("unavailable", { cause });
  });
  // Without a rule caches may keep a 404, and the file may be known seconds later.
  if (!found) throw new ApiError("not_made_here", { headers: { "cache-control": "no-store" } });
  const { kind, type, credentials, madeAt } = found;
  const body = { object: "verification", sha256, kind, type, made_at: toSeconds(madeAt), credentials, ai_generated: true };
  return answerPlain(c, body, 200, { "cache-control": "public, max-age=3600" });
}
