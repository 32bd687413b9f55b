/** Callbacks from providers when work on a task has ended: `POST /callbacks/{provider}/{task}/{signature}`. Not for API callers. */

import { isCallbackUrl } from "../signing/maker-callback-urls.ts";
import { ApiError } from "../base/errors.ts";
import { providerNamed } from "../providers/index.ts";
import { withTimeout } from "../providers/shared/http.ts";
import { continueCalledBack } from "../tasks/consumer/called-back.ts";
import { answerPlain } from "./request/answer.ts";
import type { AppContext } from "./request/context.ts";

const readTimeoutMs = 10_000;
/** Makers wait a few seconds for an answer; a slow poll and the storing of a file continue after it. */
const answerMs = 2_000;

/** For bodies that are too large or too slow, unreachable signing keys, a provider that is switched off, and a crashed object: the maker may call again, and polls continue. */
function unavailable(cause: unknown): never {
  throw new ApiError("unavailable", { cause });
}

/** Answers 200 to every call with both signatures, also when the task has ended or was deleted: an error would only make the maker repeat the call. */
export async function receiveCallback(c: AppContext): Promise<Response> {
  const { provider = "", task = "", signature = "" } = c.req.param() as Record<string, string | undefined>;
  if (!(await isCallbackUrl(c.env, provider, task, signature))) {
    await c.req.raw.body?.cancel();
    throw new ApiError("not_found");
  }
  c.set("task", task);
  const read = async () => providerNamed(c.env, provider).readCallback!(c.req.raw);
  const verdict = await withTimeout(read(), readTimeoutMs).catch(unavailable);
  if (!verdict) throw new ApiError("unauthorized");
  if (typeof verdict === "object") return answerPlain(c, verdict.answer);
  if (verdict === true) {
    const continued = continueCalledBack(task, provider, c.env);
    c.executionCtx.waitUntil(continued.catch(() => undefined)); // reported below
    await Promise.race([continued, scheduler.wait(answerMs)]).catch(unavailable);
  }
  return answerPlain(c, { status: "success" });
}
