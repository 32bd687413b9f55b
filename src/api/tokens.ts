/** `/v1/tokens`: creates tokens for browsers, which can only submit and read a few tasks. */

import { ApiError } from "../errors.ts";
import { newBrowserToken, sha256Hex } from "../ids.ts";
import { retry } from "../retry.ts";
import { admitted } from "./auth.ts";
import { readFields } from "./body.ts";
import { type AppContext, answer } from "./frame.ts";
import { canonical } from "./key-scope.ts";
import { routing } from "./router.ts";
import { newToken } from "./schema/bodies.ts";

export const tokens = routing().post("/", admitted("submission"), create);

async function create(c: AppContext): Promise<Response> {
  const { TOKENS } = c.env;
  const { accountId, keyHash } = c.get("caller");
  if (keyHash === undefined) throw new ApiError("key_scope");
  const { tasks, max_cost: maxCost, expires_in: seconds, models, ...scope } = await readFields(c, newToken);
  const expiresAt = 1000 * (Math.floor(Date.now() / 1000) + seconds);
  const id = TOKENS.newUniqueId();
  const token = newBrowserToken(id);
  const terms = {
    accountId,
    keyHash,
    tasks,
    // Rounded down, except for the error of the multiplication: 1.005 is 1,005,000 millionths.
    maxCost: Math.floor(maxCost * 1e6 + 1e-3),
    models: models && canonical(models),
    ...scope,
    expiresAt,
  };
  const hash = await sha256Hex(token);
  await retry("token", id.toString(), () => TOKENS.get(id).issue({ ...terms, hash }));
  c.header("cache-control", "no-store");
  return answer(c, { token, expires_at: expiresAt / 1000 }, 201);
}
