/** Requests that the OpenAI Worker makes for a caller: they may ask for what OpenAI's API knows and ours does not. */

const requests = new WeakSet<Request>();

/** Marks this very request. Only the gateway itself can: no header and no field of a caller does. */
export function markOpenAi(request: Request): Request {
  requests.add(request);
  return request;
}

/** Whether the OpenAI Worker made this request. */
export const isOpenAi = (request: Request): boolean => requests.has(request);
