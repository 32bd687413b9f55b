/** The images and videos that emulated upstreams make, and the host that serves them. */

import { readFileSync } from "node:fs";
import { encode } from "fast-png";
import { Hono } from "hono";
import { hasDirective, record } from "./emulator.ts";

const video = readFileSync(new URL("../../src/sandbox/data/16x9-480.mp4", import.meta.url));
const made = new Map<string, { upstream: string; prompt: string; type: string; bytes: Uint8Array<ArrayBuffer> }>();

/** The request header with the base URL of the files' host; emulators put it before the path from `publish`. */
export const filesHeader = "x-emulator-files";

/** An image of this size in pixels, PNG. */
export const image = (width = 64, height = 64): Uint8Array<ArrayBuffer> =>
  new Uint8Array(encode({ width, height, data: new Uint8Array(width * height * 3).fill(120), channels: 3, depth: 8 }));

/** A video of two seconds, 16:9, 480p, MP4. */
export const videoBytes = (): Uint8Array<ArrayBuffer> => new Uint8Array(video);

/** Stores a file on the host and returns its path. Directives of the prompt: `[expired]` is 403, `[truncated]` breaks off half-way. */
export function publish(upstream: string, prompt: string, kind: "image" | "video"): string {
  const id = crypto.randomUUID();
  made.set(
    id,
    kind === "video"
      ? { upstream, prompt, type: "video/mp4", bytes: videoBytes() }
      : { upstream, prompt, type: "image/png", bytes: image() },
  );
  return `/${id}.${kind === "video" ? "mp4" : "png"}`;
}

/** Public files: a request with credentials leaks them, and is refused. */
export const files = new Hono().get("/:name", (c) => {
  const file = made.get(c.req.param("name").replace(/\..*/, ""));
  if (!file) return c.notFound();
  record({ upstream: file.upstream, call: "file", prompt: file.prompt });
  if (c.req.header("authorization") ?? c.req.header("x-goog-api-key")) return c.text("credentials do not belong here", 400);
  if (hasDirective(file.prompt, "expired")) return c.text("expired", 403);
  const headers = { "content-type": file.type };
  if (hasDirective(file.prompt, "truncated")) {
    // Declares a length, and closes the connection before it is reached.
    const whole = { ...headers, "content-length": String(file.bytes.byteLength), connection: "close" };
    return new Response(file.bytes.slice(0, file.bytes.byteLength / 2), { headers: whole });
  }
  // Without a length, as content delivery networks often answer.
  if (hasDirective(file.prompt, "unknown-length")) return new Response(new Blob([file.bytes]).stream(), { headers });
  return new Response(file.bytes, { headers });
});
