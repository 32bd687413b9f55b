/** Browser tokens in requests: resolves them to callers, and limits what they may do and which origins may use them. */

import type { Caller } from "../db/callers.ts";
import { findCallerByHash } from "../db/callers.ts";
import { ApiError } from "../errors.ts";
import { sha256Hex, toTokenObjectId } from "../ids.ts";
import { type AppContext } from "./frame.ts";

export const isBrowserToken = (token: string) => token.startsWith("st-");

/**
 * The caller for a browser token; undefined if the token has expired or its key was deleted. Throws `key_scope` if the request's origin is
 * not the token's. Pages of the allowed origin may read the answer, errors included.
 */
export async function openBrowserToken(c: AppContext, token: string): Promise<Caller | undefined> {
  c.set("allowOrigin", "*");
  const { TOKENS, DB } = c.env;
  const id = toTokenObjectId(TOKENS, token);
  const terms = id && (await TOKENS.get(id).open(await sha256Hex(token)));
  const caller = terms && (await findCallerByHash(DB, terms.keyHash));
  if (!caller) return undefined;
  if (terms.origin !== undefined) {
    c.set("allowOrigin", terms.origin);
    if (c.req.header("origin") !== terms.origin) throw new ApiError("key_scope");
  }
  const { taskIds, ...scope } = terms;
  return { ...caller, token: { id: id.toString(), taskIds, scope } };
}

/** True if the caller may see this task of its account: a browser token may see only the tasks that it submitted. */
export const maySee = ({ token }: Caller, taskId: string) => !token || token.taskIds.includes(taskId);
