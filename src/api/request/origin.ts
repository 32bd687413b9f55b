/** Requests that another Worker makes as part of a caller's request. Marked in the gateway's memory: no header or field of a caller can do it. */

import type { AppContext } from "./context.ts";

/** Each such request, and the caller's request that it is a part of. */
const parts = new WeakMap<Request, AppContext>();
const ofOpenAi = new WeakSet<Request>();

export function markAsPart(c: AppContext, part: Request): Request {
  parts.set(part, c);
  return part;
}

/** The caller's request that this one is a part of; undefined if the caller made it. */
export const wholeRequest = (c: AppContext): AppContext | undefined => parts.get(c.req.raw);

/** Marks a request of the OpenAI Worker, which may use features of OpenAI's API that ours does not have. */
export function markOpenAi(request: Request): Request {
  ofOpenAi.add(request);
  return request;
}

/** True if the OpenAI Worker made this request. */
export const isOpenAi = (request: Request): boolean => ofOpenAi.has(request);
