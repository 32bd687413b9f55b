/** Answers with a stored file: whole or in ranges, or that the caller's copy is still valid. */

import { describeAsset, openAsset } from "../../storage/assets.ts";
import { ApiError } from "../../base/errors.ts";
import { isKnown, respond } from "./answer.ts";
import type { AppContext } from "./context.ts";

/**
 * The answer with the file under this key, its range, 304, or only its headers. undefined if the file does not exist, also with
 * `If-None-Match`. Throws 416.
 */
export async function sendStored(c: AppContext, key: string, etag: string, more: Record<string, string>): Promise<Response | undefined> {
  const unchanged = isKnown(c, etag);
  const ifRange = c.req.header("if-range");
  // Only GET has ranges (RFC 9110, 14.2).
  const isGet = c.req.method === "GET";
  const asked = isGet && (ifRange === undefined || ifRange === etag) ? parseRange(c.req.header("range")) : undefined;
  const headers: Record<string, string> = { ...more, etag, "accept-ranges": "bytes" };

  const isWithoutBody = unchanged || !isGet;
  const object = isWithoutBody ? await describeAsset(c.env.ASSETS, key) : await openRange(c.env.ASSETS, key, asked);
  if (!object) return undefined;
  if (unchanged) return respond(c, null, 304, headers);
  const { size } = object;
  const range = asked && resolveRange(asked, size);
  if (range === "unsatisfiable") throw new ApiError("range_not_satisfiable", { headers: { "content-range": `bytes */${size}` } });

  headers["content-type"] = object.httpMetadata?.contentType ?? "application/octet-stream";
  headers["content-length"] = String(range ? range.length : size);
  if (range) headers["content-range"] = `bytes ${range.offset}-${range.offset + range.length - 1}/${size}`;
  return respond(c, (object as Partial<R2ObjectBody>).body ?? null, range ? 206 : 200, headers);
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

function resolveRange(range: Range, size: number): { offset: number; length: number } | "unsatisfiable" {
  if ("suffix" in range) {
    const length = Math.min(range.suffix, size);
    return length === 0 ? "unsatisfiable" : { offset: size - length, length };
  }
  const { offset, length = size } = range;
  return offset >= size ? "unsatisfiable" : { offset, length: Math.min(length, size - offset) };
}
