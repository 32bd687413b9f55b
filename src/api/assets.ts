/** Delivery of assets under signed URLs: whole or in ranges, to every origin, until their second of expiry. */

import { Hono } from "hono";
import { isSigned } from "../asset-urls.ts";
import { describeAsset, openAsset } from "../assets.ts";
import { signingSecret } from "../config.ts";
import { ApiError } from "../errors.ts";
import type { AppContext, AppEnv } from "./frame.ts";

export const assets = new Hono<AppEnv>()
  .use(async (c, next) => {
    c.header("access-control-allow-origin", "*");
    c.header("access-control-expose-headers", "Content-Length, Content-Range, ETag, Repr-Digest, x-request-id");
    // Pictures and films are made to be shown on other sites.
    c.header("cross-origin-resource-policy", "cross-origin");
    await next();
  })
  .get("/*", deliver)
  .options("/*", (c) => {
    c.header("access-control-allow-methods", "GET, HEAD");
    c.header("access-control-allow-headers", "Range, If-None-Match, If-Range");
    c.header("access-control-max-age", "86400");
    return c.body(null, 204);
  });

async function deliver(c: AppContext): Promise<Response> {
  // Keys have no character that a URL would change: a path that needs decoding is none of ours.
  const key = c.req.path.slice(1);
  const { expires = "", digest = "", signature = "" } = c.req.query();
  const expiresAt = /^[1-9]\d{0,11}$/.test(expires) ? Number(expires) : -1;
  if (!(await isSigned(signingSecret(c.env), key, expiresAt, digest, signature))) throw new ApiError("invalid_signature");
  const now = Date.now() / 1000;
  if (now >= expiresAt) throw new ApiError("asset_expired");

  const etag = `"${digest}"`;
  const unchanged = c.req
    .header("if-none-match")
    ?.split(",")
    .some((tag) => tag.trim().replace(/^W\//, "") === etag || tag.trim() === "*");
  const rangeHeader = c.req.header("if-range") === undefined || c.req.header("if-range") === etag ? c.req.header("range") : undefined;
  c.header("etag", etag);
  c.header("accept-ranges", "bytes");
  c.header("cache-control", `private, max-age=${Math.floor(expiresAt - now)}, immutable`);
  c.header("content-disposition", "inline");
  c.header("repr-digest", `sha-256=:${Uint8Array.fromBase64(digest, { alphabet: "base64url" }).toBase64()}:`);
  if (unchanged) return c.body(null, 304);

  // The size is needed before a range can be judged; a whole file comes with its size.
  const isHead = c.req.method === "HEAD";
  const described = isHead || rangeHeader !== undefined ? await describeAsset(c.env.ASSETS, key) : undefined;
  if (described === null) throw new ApiError("asset_expired");
  const range = described && rangeHeader !== undefined ? parseRange(rangeHeader, described.size) : undefined;
  if (range === "unsatisfiable")
    throw new ApiError("range_not_satisfiable", { headers: { "content-range": `bytes */${described!.size}` } });
  const object = isHead ? described! : await openAsset(c.env.ASSETS, key, range);
  if (!object) throw new ApiError("asset_expired");

  c.header("content-type", object.httpMetadata?.contentType ?? "application/octet-stream");
  c.header("content-length", String(range ? range.length : object.size));
  if (range) c.header("content-range", `bytes ${range.offset}-${range.offset + range.length - 1}/${object.size}`);
  const body = "body" in object ? (object as R2ObjectBody).body : null;
  return c.newResponse(body, range ? 206 : 200);
}

/** One range of bytes (RFC 9110, 14.1.2). Anything else, also several ranges, is ignored: the whole file is an allowed answer. */
function parseRange(header: string, size: number): { offset: number; length: number } | "unsatisfiable" | undefined {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header.trim());
  if (!match || (match[1] === "" && match[2] === "")) return undefined;
  if (match[1] === "") {
    const length = Math.min(Number(match[2]), size);
    return length === 0 ? "unsatisfiable" : { offset: size - length, length };
  }
  const offset = Number(match[1]);
  const last = match[2] === "" ? size - 1 : Math.min(Number(match[2]), size - 1);
  if (match[2] !== "" && Number(match[2]) < offset) return undefined;
  return offset >= size ? "unsatisfiable" : { offset, length: last - offset + 1 };
}
