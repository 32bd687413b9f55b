/** Reads a request's JSON body: content type, size, structure. */

import type { AppContext } from "./context.ts";
import type * as z from "zod/mini";
import { toViolations } from "../../catalog/parse.ts";
import { findOversized, toOversized } from "../../catalog/sizes.ts";
import { ApiError, bodyTooLarge, type Violation } from "../../base/errors.ts";
import { isLocal } from "../../config.ts";
import { NetError } from "../../net/net-error.ts";
import { paceTimeMs, within } from "../../net/pace.ts";
import { JsonBodyError } from "../../media/json-error.ts";
import { parseJson } from "../../media/json-limits.ts";
import { largeReader, readWhole } from "../../media/large-reads.ts";
import { type Arrival, arrive, type Owner, smallEnough, toOwner } from "./arrival.ts";

const MiB = 1024 * 1024;
/** The size limits of bodies: of those that `large-body.ts` reads (chats and submissions, without their inline images), and of all others. */
export const largeBody = 10 * MiB;
export const smallBody = 1 * MiB;

/** The body as it was sent. Throws 400, 413 or 415. */
export async function readObject(c: AppContext, maxBytes: number): Promise<Record<string, unknown>> {
  requireJson(c);
  return parseObject(await readBytes(c, maxBytes));
}

/** Throws 415 for anything except uncompressed JSON: a compressed body could expand a thousandfold. */
export function requireJson(c: AppContext): void {
  requireUncompressed(c);
  const type = (c.req.header("content-type") ?? "").replace(/;.*/s, "").trim().toLowerCase();
  if (type !== "application/json") throw new ApiError("unsupported_media_type");
}

/** Throws 415 for a compressed body. */
export function requireUncompressed(c: AppContext): void {
  const encoding = c.req.header("content-encoding")?.trim().toLowerCase();
  if (encoding && encoding !== "identity") throw new ApiError("unsupported_media_type", { sentence: { key: "compressed", values: {} } });
}

interface ReadOptions {
  /** The fields in which `null` is a value. */
  nullable?: readonly string[];
  /** Below this depth `null` is a value too. */
  depth?: number;
  /** Rules that no schema has, for a body that the schema may refuse. Of a field with a violation of the schema only that one is reported. */
  check?: (body: Record<string, unknown>) => Violation[];
}

/** Reads a small body and validates it with a schema; `null` counts as absent. Throws 400 with all violations, 413 or 415. */
export async function readFields<T extends z.ZodMiniType>(
  c: AppContext,
  schema: () => T,
  { nullable = [], depth = 4, check = () => [] }: ReadOptions = {},
): Promise<z.output<T>> {
  const sent = await readObject(c, smallBody);
  const kept = Object.entries(sent).filter(([name, value]) => value === null && nullable.includes(name));
  const body = { ...withoutNulls(sent, depth), ...Object.fromEntries(kept) };
  const oversized = findOversized(body);
  if (oversized) throw new ApiError("invalid_request", { violations: [oversized] });
  const result = schema().safeParse(body);
  const found = result.success ? [] : toViolations(result.error, body);
  const more = check(body).filter(({ param }) => !found.some((violation) => violation.param === param));
  if (!result.success || more.length > 0) throw new ApiError("invalid_request", { violations: [...found, ...more] });
  return result.data;
}

/** For endpoints that need no body: nothing, or a JSON object. */
export async function readNoBody(c: AppContext): Promise<void> {
  requireUncompressed(c);
  const bytes = await readBytes(c, smallBody);
  if (bytes.byteLength === 0) return;
  parseObject(bytes);
}

/** The limit of events, which everyone can send: a body of this size is never stored while it arrives. */
const eventBody = 256 * 1024;

/** An event as text, as it was sent: for signatures. Throws 400, 408, 413, and 503 if too many are arriving. */
export const readText = async (c: AppContext): Promise<string> => new TextDecoder().decode(await readBytes(c, eventBody));

async function readBytes(c: AppContext, maxBytes: number): Promise<Uint8Array> {
  const { body } = c.req.raw;
  if (!body) return new Uint8Array();
  const header = c.req.header("content-length");
  const length = header === undefined ? undefined : Number(header);
  if (length !== undefined && length > maxBytes) throw bodyTooLarge(maxBytes);
  if (length === undefined || length > smallEnough) return readArriving(c, body, maxBytes);
  try {
    // A declared length is kept by HTTP itself.
    return await within(paceTimeMs(length), c.req.raw.bytes());
  } catch (error) {
    if (error instanceof NetError && error.reason === "timeout") throw new ApiError("body_too_slow");
    throw new ApiError("invalid_json"); // the caller disconnected
  }
}

/** Reads a body of any size up to the limit: it is counted while it arrives. */
function readArriving(c: AppContext, body: ReadableStream<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const caller = c.get("caller") as AppContext["var"]["caller"] | undefined;
  // Without a caller: the operator, and events of Stripe.
  return whileArriving(c, caller ? toOwner(caller) : { share: c.req.path }, body, maxBytes, async (arrival) => {
    const rest = await arrival.rest();
    try {
      return await readWhole(rest.pieces(), rest.bytes);
    } finally {
      await rest.discard();
    }
  });
}

/** Does the work with a body that arrives. */
export function whileArriving<T>(
  c: AppContext,
  owner: Owner,
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  work: (arrival: Arrival) => Promise<T>,
): Promise<T> {
  const done = (async () => {
    const arrival = arrive(c.env.ASSETS, owner, body, maxBytes);
    try {
      return await work(arrival);
    } catch (error) {
      await discard(c, () => arrival.read());
      throw error;
    } finally {
      arrival.end();
    }
  })();
  // If the caller disconnects, reading fails, which frees what the body holds. Without this the platform would cancel the request, and its
  // permit would only expire.
  c.executionCtx.waitUntil(done.catch(() => undefined));
  return done;
}

/** The refusal of a body that is not acceptable JSON. */
export function toJsonError(cause: unknown): ApiError {
  const oversized = cause instanceof JsonBodyError && cause.list && toOversized(cause.list);
  if (oversized) return new ApiError("invalid_request", { violations: [oversized] });
  // Most errors of the runtime's parser end with their place. The rest of its sentence may quote the body, and is not shown.
  const [, line, column] = (cause instanceof SyntaxError && /\(line (\d+) column (\d+)\)$/.exec(cause.message)) || [];
  if (line === undefined || column === undefined) return new ApiError("invalid_json", { cause });
  return new ApiError("invalid_json", { sentence: { key: "not_json_at", values: { line, column } }, cause });
}

/** The pause after which a client is taken to wait for its answer. */
const pauseMs = 500;

/**
 * Reads the rest of a refused body, in a local run alone: the server in front of the gateway there answers 500, or nothing, to a client whose
 * body is still arriving when the answer comes. Cloudflare's edge needs no such reading. Ends when the client pauses.
 */
async function discard({ env }: AppContext, read: () => Promise<Uint8Array | undefined>): Promise<void> {
  try {
    if (isLocal(env)) while (await within(pauseMs, read()));
  } catch {
    // The client waits, or has gone.
  }
}

/** `discard` for a body of which nothing was read. */
export async function discardBody(c: AppContext): Promise<void> {
  const { body } = c.req.raw;
  if (!body || body.locked) return;
  let reader: ReturnType<typeof largeReader> | undefined;
  await discard(c, () => (reader ??= largeReader(body)).read());
}

const strictText = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/** The bytes of a body as an object. Throws 400. */
export function parseObject(bytes: Uint8Array): Record<string, unknown> {
  let body: unknown;
  try {
    body = parseJson(strictText.decode(bytes));
  } catch (error) {
    throw toJsonError(error);
  }
  return asObject(body);
}

/** Requires a JSON value to be an object. */
export function asObject(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new ApiError("invalid_json");
  return value as Record<string, unknown>;
}

const hasNull = (value: unknown, depth: number): boolean =>
  value === null || (depth > 0 && typeof value === "object" && Object.values(value).some((item) => hasNull(item, depth - 1)));

/** Removes nulls to the depth of known fields: deeper values are the caller's own. A value without nulls is returned itself. */
export function withoutNulls<T>(value: T, depth: number): T;
export function withoutNulls(value: unknown, depth: number): unknown {
  if (depth === 0 || typeof value !== "object" || value === null || !hasNull(value, depth)) return value;
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, depth - 1));
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, item]) => (item === null ? [] : [[name, withoutNulls(item, depth - 1)]])),
  );
}
