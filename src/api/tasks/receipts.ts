/** `/v1/tasks/{id}/receipt`, and the keys that verify receipts. */

import type { AppContext } from "../request/context.ts";
import { ApiError } from "../../base/errors.ts";
import { publicKeys, readReceipt } from "../../signing/receipts.ts";
import { answer, answerPlain } from "../request/answer.ts";
import { askObject } from "./tasks.ts";

/** Answers with the receipt of a final task, which is created at the first request and never changes. */
export async function showReceipt(c: AppContext, taskId: string): Promise<Response> {
  const jws = await askObject(c, taskId, async (task) => task.receipt(c.get("caller").accountId));
  if (jws === "open") throw new ApiError("task_not_final");
  return answer(c, { receipt: readReceipt(jws), jws });
}

/** Pages on any origin may verify receipts, and may do so often. */
export async function showKeys(c: AppContext): Promise<Response> {
  const headers = { "cache-control": "public, max-age=300", "access-control-allow-origin": "*" };
  return answerPlain(c, { keys: await publicKeys(c.env) }, 200, headers);
}
