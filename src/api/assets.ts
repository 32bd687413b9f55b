/** Delivery of assets under signed URLs: whole or in ranges, to every origin, until they expire. */

import { isSigned } from "../asset-urls.ts";
import { describeAsset, openAsset } from "../assets.ts";
import { BoundedCache } from "../bounded-cache.ts";
import { ApiError } from "../errors.ts";
import { commonHeaders } from "../tasks/view-headers.ts";
import { onError } from "./errors.ts";
import { type AppContext, withMiddleware } from "./frame.ts";
import { routing } from "./router.ts";

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

/**
 * Players read a video in many ranges, so the cost of a request matters: one handler with its middleware costs less than a chain, and
 * setting all headers at once costs less than one by one (`npm run bench:ranges`).
 */
export const assets = routing()
  .get("/*", withMiddleware(deliver, failed))
  .options(
    "/*",
    withMiddleware(async () => new Response(null, { status: 204, headers: { ...everySite, ...preflight } }), failed),
  );

async function failed(error: Error, c: AppContext): Promise<Response> {
  const response = await onError(error, c);
  for (const [name, value] of Object.entries(everySite)) response.headers.set(name, value);
  return response;
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

  const unchanged = c.req
    .header("if-none-match")
    ?.split(",")
    .some((tag) => tag.trim().replace(/^W\//, "") === etag || tag.trim() === "*");
  const ifRange = c.req.header("if-range");
  const asked = ifRange === undefined || ifRange === etag ? parseRange(c.req.header("range")) : undefined;
  const headers: Record<string, string> = {
    ...everySite,
    etag,
    "accept-ranges": "bytes",
    "cache-control": `private, max-age=${Math.floor(expiresAt - now)}, immutable`,
    "content-disposition": "inline",
    "repr-digest": reprDigest,
    ...commonHeaders(c.get("requestId")),
  };
  const finish = (status: number, body: ReadableStream | null) => {
    c.set("hasCommonHeaders", true);
    return new Response(body, { status, headers });
  };

  const isWithoutBody = unchanged || c.req.method === "HEAD";
  const object = isWithoutBody ? await describeAsset(c.env.ASSETS, key) : await openRange(c.env.ASSETS, key, asked);
  // Its owner may have deleted it: then a caller's copy is not confirmed.
  if (!object) throw new ApiError("asset_expired");
  if (unchanged) return finish(304, null);
  const { size } = object;
  const range = asked && resolveRange(asked, size);
  if (range === "unsatisfiable") throw new ApiError("range_not_satisfiable", { headers: { "content-range": `bytes */${size}` } });

  headers["content-type"] = object.httpMetadata?.contentType ?? "application/octet-stream";
  headers["content-length"] = String(range ? range.length : size);
  if (range) headers["content-range"] = `bytes ${range.offset}-${range.offset + range.length - 1}/${size}`;
  return finish(range ? 206 : 200, (object as Partial<R2ObjectBody>).body ?? null);
}

type Range = { offset: number; length?: number } | { suffix: number };

/**
 * Opens the file or its range in one call, because the size that resolves the range is returned with it.
 * For a range that the bucket refuses it returns the description without a body. null if the file does not exist.
 */
async function openRange(bucket: R2Bucket, key: string, range: Range | undefined): Promise<R2Object | R2ObjectBody | null> {
  if (!range) return openAsset(bucket, key);
  if ("suffix" in range && range.suffix === 0) return describeAsset(bucket, key);
  try {
    return await openAsset(bucket, key, range);
  } catch (error) {
    // R2 refuses ranges beyond the end with an error (10039). Only the size distinguishes that from a fault of the bucket.
    const object = await describeAsset(bucket, key);
    if (object && resolveRange(range, object.size) !== "unsatisfiable") throw error;
    return object;
  }
}

/** One byte range (RFC 9110, 14.1.2). Other ranges, including several, are ignored: the whole file is a valid answer. */
function parseRange(header = ""): Range | undefined {
  const [match, first = "", last = ""] = /^bytes=(\d{0,99})-(\d{0,99})$/i.exec(header.trim()) ?? [];
  if (match === undefined || (first === "" && last === "")) return undefined;
  if (first === "") return { suffix: toPosition(last) };
  const offset = toPosition(first);
  if (last === "") return { offset };
  const end = toPosition(last);
  return end < offset ? undefined : { offset, length: end - offset + 1 };
}

/** A position in a file. One beyond every file is any large number, which the bucket accepts. */
const toPosition = (digits: string) => Math.min(Number(digits), 1e15);

/** The range in a file of this size. */
function resolveRange(range: Range, size: number): { offset: number; length: number } | "unsatisfiable" {
  if ("suffix" in range) {
    const length = Math.min(range.suffix, size);
    return length === 0 ? "unsatisfiable" : { offset: size - length, length };
  }
  const { offset, length = size } = range;
  return offset >= size ? "unsatisfiable" : { offset, length: Math.min(length, size - offset) };
}
