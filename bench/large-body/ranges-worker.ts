/** The gateway, and beside it bare reads of the same bucket: `PUT /bare/{key}` stores a file and returns its signed URL, `GET` reads a range of it. */

import { signedUrl } from "../../src/asset-urls.ts";
import gateway from "../../src/worker.ts";

export * from "../../src/worker.ts";

/** Any value of the right form: the digest is signed and passed on, not compared with the file. */
const digest = "A".repeat(43);

export default {
  ...gateway,
  async fetch(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
    const { pathname, origin } = new URL(request.url);
    if (!pathname.startsWith("/bare/")) return gateway.fetch(request, env, ctx);
    const key = pathname.slice("/bare/".length);
    if (request.method === "PUT") {
      await env.ASSETS.put(key, request.body, { httpMetadata: { contentType: "video/mp4" } });
      return new Response(await signedUrl(origin, env.ASSET_SIGNING_SECRET ?? "", { key, digest }, Date.now() + 3_600_000));
    }
    const file = await env.ASSETS.get(key, { range: request.headers });
    return new Response(file?.body, { status: 206, headers: { "content-type": "video/mp4" } });
  },
};
