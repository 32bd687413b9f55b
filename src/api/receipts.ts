/** `/v1/tasks/{id}/receipt`, and the keys that verify receipts. */

import { ApiError } from "../errors.ts";
import { toObjectId } from "../ids.ts";
import { publicKeys, readReceipt } from "../receipt-keys.ts";
import { type AppContext, answer } from "./frame.ts";

/** Answers with the receipt of a final task, which is created at the first request and never changes. */
export async function showReceipt(c: AppContext, taskId: string): Promise<Response> {
  const id = toObjectId(c.env.TASKS, taskId);
  const jws = id && (await c.env.TASKS.get(id).receipt(c.get("caller").accountId));
  if (!jws) throw new ApiError("task_not_found");
  c.set("task", taskId);
  if (jws === "open") throw new ApiError("task_not_final");
  return answer(c, { receipt: readReceipt(jws), jws });
}

/** Pages on any origin may verify receipts, and may do so often. */
export async function showKeys(c: AppContext): Promise<Response> {
  c.header("cache-control", "public, max-age=300");
  c.header("access-control-allow-origin", "*");
  return c.json({ keys: await publicKeys(c.env) });
}
