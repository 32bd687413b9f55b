/** `/v1/tokens`: makes tokens for browsers, which submit and read a few tasks and nothing else. */

import { Hono } from "hono";
import * as z from "zod/mini";
import { modelNamed, modelNames } from "../catalog/models.ts";
import { ApiError } from "../errors.ts";
import { newBrowserToken, sha256Hex } from "../ids.ts";
import { retry } from "../retry.ts";
import { admitted } from "./auth.ts";
import { readFields } from "./body.ts";
import { notAllowed } from "./errors.ts";
import { type AppContext, type AppEnv, answer } from "./frame.ts";
import { canonical, someOf, taskKinds } from "./key-scope.ts";
import { maxCostField } from "./options.ts";

const taskModels = modelNames.filter((name) => modelNamed(name)!.family !== "chat");
const isOrigin = (text: string) => /^https?:/.test(text) && URL.parse(text)?.origin === text;

const newToken = z.object({
  tasks: z.int().check(z.gte(1), z.lte(20)),
  max_cost: maxCostField,
  kinds: z.optional(someOf(taskKinds)),
  models: z.optional(someOf(taskModels)),
  origin: z.optional(z.string().check(z.refine(isOrigin, { params: { rule: "bad_origin" } }))),
  expires_in: z.int().check(z.gte(60), z.lte(3600)),
});

export const tokens = new Hono<AppEnv>().post("/", admitted("submission"), create).all("/", notAllowed("POST"));

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
    maxCost: Math.round(maxCost * 1e6),
    models: models && canonical(models),
    ...scope,
    expiresAt,
  };
  const hash = await sha256Hex(token);
  await retry("token", id.toString(), () => TOKENS.get(id).issue({ ...terms, hash }));
  c.header("cache-control", "no-store");
  return answer(c, { token, expires_at: expiresAt / 1000 }, 201);
}
