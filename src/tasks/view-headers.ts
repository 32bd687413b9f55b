/** The headers of every answer. */

/** `limit` is how many such requests the caller may make in a minute, "-" where none are counted. */
export const commonHeaders = (requestId: string, limit = "-"): Record<string, string> => ({
  "x-request-id": requestId,
  "x-content-type-options": "nosniff",
  ...(limit !== "-" && { "x-ratelimit-limit-requests": limit }),
});
