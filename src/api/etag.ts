/** `If-None-Match`: 304 for an answer that the caller already has. */

import type { AppContext } from "./frame.ts";

/** The answer, or 304 with its headers if the request has its ETag. */
export function unlessKnown(c: AppContext, response: Response): Response | Promise<Response> {
  const tags = c.req.header("if-none-match");
  return tags === undefined || !isKnown(tags, response.headers.get("etag") ?? "") ? response : unchanged(response);
}

async function unchanged(response: Response): Promise<Response> {
  await response.body?.cancel();
  const answer = new Response(null, { status: 304, headers: response.headers });
  for (const name of ["content-type", "content-language", "content-length"]) answer.headers.delete(name);
  return answer;
}

/** Weak comparison (RFC 9110, 8.8.3.2): the `W/` prefix is ignored. */
const isKnown = (tags: string, etag: string) => tags.split(",").some((tag) => tag.trim() === "*" || bare(tag.trim()) === bare(etag));

const bare = (tag: string) => tag.replace(/^W\//, "");
