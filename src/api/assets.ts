/** Delivery of assets under signed URLs: whole or in ranges, to every origin, until they expire. */

import { respond } from "./request/answer.ts";
import type { AppContext } from "./request/context.ts";
import { isSigned } from "../signing/asset-urls.ts";
import { BoundedCache } from "../base/bounded-cache.ts";
import { ApiError } from "../base/errors.ts";
import { wantsPage } from "./forward.ts";
import { onError } from "./request/errors.ts";
import { sendStored } from "./request/send-stored.ts";

/** Pages of every origin may read and embed images and videos, and read errors, so that they can show why an image is missing. */
const everySite = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "Content-Length, Content-Range, ETag, Repr-Digest, x-request-id",
  "cross-origin-resource-policy": "cross-origin",
};

const preflight = {
  "access-control-allow-methods": "GET, HEAD",
  "access-control-allow-headers": "Range, If-None-Match, If-Range",
  "access-control-max-age": "86400",
};

export const answerAssetPreflight = (c: AppContext): Response => respond(c, null, 204, { ...everySite, ...preflight });

/**
 * Answers with the file or a range of it. Players read a video in many ranges, so the cost of a request matters (`npm run bench -- files`).
 * A browser that opens a link which does not work gets `page`, with the error's status.
 */
export async function showAsset(c: AppContext, page: () => Promise<Response>): Promise<Response> {
  c.set("isSampled", true);
  try {
    return await deliver(c);
  } catch (error) {
    const refused = onError(error, c, { ...everySite, vary: "Accept, Accept-Language" });
    if (!wantsPage(c) || (refused.status !== 403 && refused.status !== 410)) return refused;
    const { body, headers } = await page();
    return new Response(body, { status: refused.status, headers });
  }
}

/** What a link with a valid signature says about its file, as headers. */
interface Link {
  etag: string;
  reprDigest: string;
  /** In seconds. */
  expiresAt: number;
}

/** The links that were checked, by secrets and URL: a player reads a file in many ranges by one link. */
const checked = new BoundedCache<Link>(1024 * 1024);

/** Throws if the link is not signed. */
async function checkLink(c: AppContext, key: string, name: string): Promise<Link> {
  const { expires = "", digest = "", signature = "" } = c.req.query();
  const expiresAt = /^[1-9]\d{0,11}$/.test(expires) ? Number(expires) : -1;
  if (!(await isSigned(c.env, key, expiresAt, digest, signature))) throw new ApiError("invalid_signature");
  const base64 = Uint8Array.fromBase64(digest, { alphabet: "base64url" }).toBase64();
  const link = { etag: `"${digest}"`, reprDigest: `sha-256=:${base64}:`, expiresAt };
  checked.set(name, link, 3 * digest.length);
  return link;
}

async function deliver(c: AppContext): Promise<Response> {
  // Asset keys contain no character that needs URL encoding, so a path with encoded characters is not an asset's.
  const key = c.req.path.slice(1);
  const name = [c.env.ASSET_SIGNING_SECRET, c.env.ASSET_SIGNING_SECRET_OLD, c.get("url")].join();
  const { etag, reprDigest, expiresAt } = checked.get(name) ?? (await checkLink(c, key, name));
  const now = c.get("started") / 1000;
  if (now >= expiresAt) throw new ApiError("asset_expired");

  const sent = await sendStored(c, key, etag, {
    ...everySite,
    "cache-control": `private, max-age=${Math.floor(expiresAt - now)}, immutable`,
    "content-disposition": "inline",
    "repr-digest": reprDigest,
  });
  // Its owner may have deleted it.
  if (!sent) throw new ApiError("asset_expired");
  return sent;
}
