/** `/openapi.json`: the description of the API that `npm run generate` writes. The platform compresses it for clients that accept that. */

import { createHash } from "node:crypto";
import description from "./openapi.json";

let made: { text: string; etag: string } | undefined;

/** The text and its ETag; created once, at the first request. */
function make(): { text: string; etag: string } {
  const text = JSON.stringify(description);
  return { text, etag: `"${createHash("sha256").update(text).digest("base64url")}"` };
}

/** Answers a request for the description: for every origin, 304 if the client already has it. */
export function describeApi({ headers: asked }: Request): Response {
  made ??= make();
  // A weak ETag, because compression on the way changes the bytes.
  const headers = { etag: `W/${made.etag}`, "access-control-allow-origin": "*", "cache-control": "public, no-cache" };
  const known = new Set(
    asked
      .get("if-none-match")
      ?.split(",")
      .map((tag) => tag.trim().replace(/^W\//, "")),
  );
  if (known.has(made.etag) || known.has("*")) return new Response(null, { status: 304, headers });
  return new Response(made.text, { headers: { ...headers, "content-type": "application/json" } });
}
