/** Browser tokens in requests: who they stand for, what they may do, and which pages may use them. */

import type { Caller } from "../db/callers.ts";
import { findCallerByHash } from "../db/callers.ts";
import { ApiError } from "../errors.ts";
import { sha256Hex, toTokenObjectId } from "../ids.ts";
import { type AppContext } from "./frame.ts";

export const isBrowserToken = (token: string) => token.startsWith("st-");

/**
 * The caller whom a browser token stands for; undefined when it has expired or its key is gone. Throws `key_scope` when the request comes from
 * another origin than the token allows. Pages may read the answer, refusals included.
 */
export async function openBrowserToken(c: AppContext, token: string): Promise<Caller | undefined> {
  c.set("allowOrigin", "*");
  const { TOKENS } = c.env;
  const id = toTokenObjectId(TOKENS, token);
  const terms = id && (await TOKENS.get(id).open(await sha256Hex(token)));
  const caller = terms && (await findCallerByHash(c.env, terms.keyHash));
  if (!caller) return undefined;
  if (terms.origin !== undefined) {
    c.set("allowOrigin", terms.origin);
    if (c.req.header("origin") !== terms.origin) throw new ApiError("key_scope");
  }
  const { taskIds, ...scope } = terms;
  return { ...caller, token: { id: id.toString(), taskIds, scope } };
}

/** Whether the caller may know of this task of its account: a browser token knows its own alone. */
export const maySee = ({ token }: Caller, taskId: string) => !token || token.taskIds.includes(taskId);
