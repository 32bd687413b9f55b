/** Reads a request's JSON body: its type, its size, its form. */

import type * as z from "zod/mini";
import { violationsOf } from "../catalog/parse.ts";
import { ApiError, invalid } from "../errors.ts";
import { NetError } from "../net/net-error.ts";
import { readAll } from "../net/bounded-body.ts";
import type { AppContext } from "./frame.ts";

const MiB = 1024 * 1024;
/** Bodies where images may be inline or messages long, and all others. */
export const largeBody = 10 * MiB;
export const smallBody = 1 * MiB;

/** The body as an object; a `null` in it counts as absent, but for the fields `nullable`. Throws 400, 413 or 415. */
export async function readJson(c: AppContext, maxBytes: number, nullable: readonly string[] = []): Promise<Record<string, unknown>> {
  const type = (c.req.header("content-type") ?? "").split(";")[0]!.trim().toLowerCase();
  if (type !== "application/json") throw new ApiError("unsupported_media_type");
  const body = objectOf(await readBytes(c, maxBytes));
  const kept = Object.entries(body).filter(([name, value]) => value === null && nullable.includes(name));
  return { ...(withoutNulls(body, 4) as Record<string, unknown>), ...Object.fromEntries(kept) };
}

/** A small body that has to fit a schema. */
export async function readFields<T extends z.ZodMiniType>(
  c: AppContext,
  schema: T,
  nullable: readonly string[] = [],
): Promise<z.output<T>> {
  const body = await readJson(c, smallBody, nullable);
  const result = schema.safeParse(body);
  if (!result.success) throw new ApiError("invalid_request", { violations: violationsOf(result.error, body) });
  return result.data;
}

/** For endpoints that need no body: nothing, or a JSON object. */
export async function readNoBody(c: AppContext): Promise<void> {
  const bytes = await readBytes(c, smallBody);
  if (bytes.byteLength === 0) return;
  objectOf(bytes);
}

async function readBytes(c: AppContext, maxBytes: number): Promise<Uint8Array> {
  const { body } = c.req.raw;
  if (!body) return new Uint8Array();
  if (Number(c.req.header("content-length") ?? 0) > maxBytes) throw new ApiError("body_too_large");
  try {
    return await readAll(body, maxBytes);
  } catch (error) {
    if (error instanceof NetError && error.reason === "too_large") throw new ApiError("body_too_large");
    throw invalid("body", "not_json"); // the caller broke off
  }
}

function objectOf(bytes: Uint8Array): object {
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes));
  } catch {
    throw invalid("body", "not_json");
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw invalid("body", "not_an_object");
  return body;
}

/** Only as deep as bodies have fields: what lies deeper is the caller's own. */
function withoutNulls(value: unknown, depth: number): unknown {
  if (depth === 0 || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, depth - 1));
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, item]) => (item === null ? [] : [[name, withoutNulls(item, depth - 1)]])),
  );
}
