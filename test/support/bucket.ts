/** S3 buckets of callers, instead of the internet: they verify signatures and digests, and can be dead, slow, forbidden, full, or change what they get. */

import { vi } from "vitest";
import { type Account, call } from "./gateway.ts";
import type { Received } from "./receiver.ts";

interface StoredObject {
  bytes: Uint8Array<ArrayBuffer>;
  type: string | null;
}

/**
 * `dead`: no connection. `hangs`: never answers. `stalls`: takes the first bytes and no more. `hasty`: answers 200 before it has the file.
 * `moves`: answers with a redirect, as S3 does for a bucket whose name is not known everywhere yet. `changes`: stores other bytes than it got, verifies nothing, and says truly what it has. `mute`: never names a checksum. `write_only`: the
 * key may not read. `google`: takes no header about checksums, as Google Cloud Storage defines none.
 */
export type Mode =
  | "works"
  | "dead"
  | "hangs"
  | "stalls"
  | "hasty"
  | "forbidden"
  | "full"
  | "moves"
  | "changes"
  | "mute"
  | "write_only"
  | "loses"
  | "google";

export interface Bucket {
  mode: Mode;
  /** By the key in the bucket. */
  objects: Map<string, StoredObject>;
  /** `PUT key` and so on, in their order. */
  requests: string[];
  /** The presigned paths that take a file without a signature in a header. */
  presigned: Set<string>;
}

export const secretAccessKey = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
export const accessKeyId = "AKIAIOSFODNN7EXAMPLE";

type Receivers = Record<string, () => Response>;

/** Replaces the internet: these origins have a bucket `media`, and these URLs receive callbacks. */
export function buckets(origins: string[], receivers: Receivers = {}): { at: Record<string, Bucket>; received: Received[] } {
  const at: Record<string, Bucket> = Object.fromEntries(
    origins.map((origin) => [origin, { mode: "works", objects: new Map(), requests: [], presigned: new Set() }]),
  );
  const received: Received[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const bucket = at[url.origin];
    if (bucket) return answer(bucket, url, init!);
    const { headers, redirect } = new Request(url, { ...init, body: null });
    received.push({ url: url.href, headers: Object.fromEntries(headers), body: init?.body as string, redirect });
    const receiver = receivers[url.href];
    if (!receiver) throw new TypeError("Network connection lost.");
    return receiver();
  });
  return { at, received };
}

const refuse = (status: number, code: string) =>
  new Response(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>Secret details</Message></Error>`, { status });

const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort);
  });

async function answer(bucket: Bucket, url: URL, init: RequestInit): Promise<Response> {
  const { method = "GET", body, signal, redirect } = init;
  if (redirect !== "manual") throw new Error("a redirect could lead to any host");
  const headers = new Headers(init.headers as Record<string, string>);
  const [, name, ...rest] = url.pathname.split("/");
  const key = decodeURIComponent(rest.join("/"));
  bucket.requests.push(`${method} ${key}`);
  const { mode } = bucket;
  if (mode === "dead") throw new TypeError("Network connection lost.");
  if (mode === "hangs") return untilAborted(signal!);
  if (mode === "hasty" && method === "PUT") return new Response(null);
  const stream = body as ReadableStream<Uint8Array> | null | undefined;
  if (mode === "stalls" && stream) {
    await stream.getReader().read();
    return untilAborted(signal!);
  }
  const sent: Uint8Array<ArrayBuffer> = stream ? await readWhole(stream, signal!) : new Uint8Array(0);
  if (mode === "google" && [...headers.keys()].some((one) => one.startsWith("x-amz-checksum-"))) {
    bucket.requests.push("400");
    return refuse(400, "InvalidArgument");
  }
  if (mode === "forbidden" || (mode === "write_only" && method !== "PUT")) return refuse(403, "AccessDenied");
  if (!bucket.presigned.has(url.pathname + url.search)) {
    if (name !== "media") return refuse(404, "NoSuchBucket");
    if (!(await isSigned(method, url, headers))) return refuse(403, "SignatureDoesNotMatch");
    if (mode !== "changes" && headers.get("x-amz-content-sha256") !== (await sha256(sent)).toHex())
      return refuse(400, "XAmzContentSHA256Mismatch");
  }
  if (mode === "moves") return refuse(307, "TemporaryRedirect");
  if (mode === "full" && method === "PUT") return refuse(507, "XMinioStorageFull");
  const saysSum = mode !== "mute" && mode !== "google" && mode !== "write_only";
  if (method === "PUT") {
    const bytes = new Uint8Array(sent);
    if (mode === "changes") bytes[0]! ^= 1;
    if (mode !== "loses") bucket.objects.set(key, { bytes, type: headers.get("content-type") });
    return new Response(null);
  }
  const found = bucket.objects.get(key);
  if (method === "DELETE") {
    bucket.objects.delete(key);
    return new Response(null, { status: 204 });
  }
  if (!found) return refuse(404, "NoSuchKey");
  const isAsked = headers.get("x-amz-checksum-mode") === "ENABLED";
  return new Response(method === "HEAD" ? null : found.bytes, {
    headers: {
      ...(method === "HEAD" && { "content-length": String(found.bytes.byteLength) }),
      ...(saysSum && isAsked && { "x-amz-checksum-sha256": (await sha256(found.bytes)).toBase64() }),
    },
  });
}

/** The whole body; rejects if the sender stops or the body ends early. */
async function readWhole(stream: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await Promise.race([new Response(stream).arrayBuffer(), untilAborted(signal)]));
}

const encode = (text: string) => new Uint8Array(new TextEncoder().encode(text));
const sha256 = async (bytes: Uint8Array<ArrayBuffer>) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

async function hmac(key: Uint8Array<ArrayBuffer>, text: string): Promise<Uint8Array<ArrayBuffer>> {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, encode(text)));
}

/** Verifies an AWS Signature Version 4 in the header, from the specification and not with the library that signs. */
async function isSigned(method: string, url: URL, headers: Headers): Promise<boolean> {
  const form = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;
  const [, id, day = "", region = "", names = "", signature] = form.exec(headers.get("authorization") ?? "") ?? [];
  const time = headers.get("x-amz-date") ?? "";
  if (id !== accessKeyId || !time.startsWith(day) || !names.split(";").includes("x-amz-content-sha256")) return false;
  const escape = (text: string) =>
    encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
  const lines = names.split(";").map((name) => `${name}:${name === "host" ? url.host : headers.get(name)}`);
  const path = url.pathname.split("/").map((part) => escape(decodeURIComponent(part)));
  // Servers sign the path as it arrives, or escape it again: both have to be the same.
  if (path.join("/") !== url.pathname) return false;
  const canonical = [method, url.pathname, "", ...lines, "", names, headers.get("x-amz-content-sha256")].join("\n");
  const digest = (await sha256(encode(canonical))).toHex();
  let key = encode(`AWS4${secretAccessKey}`);
  for (const part of [day, region, "s3", "aws4_request"]) key = await hmac(key, part);
  const wanted = await hmac(key, ["AWS4-HMAC-SHA256", time, `${day}/${region}/s3/aws4_request`, digest].join("\n"));
  return wanted.toHex() === signature;
}

/** Makes the time limits of attempts and tests expire at once; returns their lengths in milliseconds. */
export function hurryAttempts(): number[] {
  const original = setTimeout;
  const limits: number[] = [];
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms = 0) => {
    const isHurried = ms === 10_000 || (ms >= 20_000 && ms <= 600_000);
    if (isHurried) limits.push(ms);
    return original(run, isHurried ? 20 : ms);
  }) as never);
  return limits;
}

export const origin = "https://s3.example.com";
const given = { kind: "s3", endpoint: origin, bucket: "media", region: "eu-central-1", access_key_id: accessKeyId };

/** Gives the account a destination, `shop` by default. */
export const setDestination = (account: Account, change: object = {}, name = "shop") =>
  call(`/v1/destinations/${name}`, { key: account.key, method: "PUT", body: { ...given, secret_access_key: secretAccessKey, ...change } });
