/** Marks requests that the OpenAI Worker makes for a caller: they may use features of OpenAI's API that ours does not have. */

const requests = new WeakSet<Request>();

/** Marks this request object. Only the gateway can do that: no header or field of a caller can. */
export function markOpenAi(request: Request): Request {
  requests.add(request);
  return request;
}

/** True if the OpenAI Worker made this request. */
export const isOpenAi = (request: Request): boolean => requests.has(request);
