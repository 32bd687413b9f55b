/** The common response headers. */

/** `limit` is the rate limit per minute, "-" without limits. */
export const commonHeaders = (requestId: string, limit = "-"): Record<string, string> => ({
  "x-request-id": requestId,
  "x-content-type-options": "nosniff",
  ...(limit !== "-" && { "x-ratelimit-limit-requests": limit }),
});
