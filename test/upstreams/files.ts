/** The images and videos that emulated upstreams make, and the host that serves them. */

import { readFileSync } from "node:fs";
import { encode } from "fast-png";
import { Hono } from "hono";
import { hasDirective, record } from "./emulator.ts";
import { named, type SignedType } from "../media/signed.ts";
import { signedFile } from "./signed.ts";

const video = readFileSync(new URL("../../src/sandbox/data/16x9-480.mp4", import.meta.url));
const made = new Map<string, { upstream: string; prompt: string; type: string; bytes: Uint8Array<ArrayBuffer> }>();

/** The request header with the base URL of the files' host; emulators put it before the path from `publish`. */
export const filesHeader = "x-emulator-files";

/** An image of this size in pixels, PNG. */
export const image = (width = 64, height = 64): Uint8Array<ArrayBuffer> =>
  new Uint8Array(encode({ width, height, data: new Uint8Array(width * height * 3).fill(120), channels: 3, depth: 8 }));

/** A video of two seconds, 16:9, 480p, MP4. */
export const videoBytes = (): Uint8Array<ArrayBuffer> => new Uint8Array(video);

/** The file made for a prompt, with its media type; with `[signed png]` (`jpeg`, `webp`, `mp4`) the file of that type with a maker's manifest, with `[own bytes]` one that no other prompt gets. */
export function makeFile(prompt: string, kind: "image" | "video", plain = kind === "video" ? videoBytes : image) {
  const signed = /\[signed (png|jpeg|webp|mp4)\]/.exec(prompt)?.[1] as SignedType | undefined;
  const type = `${kind}/${signed ?? (kind === "video" ? "mp4" : "png")}`;
  if (signed) return { type, bytes: signedFile(signed) };
  const bytes = plain();
  return { type, bytes: hasDirective(prompt, "own bytes") ? named[kind === "video" ? "mp4" : "png"](bytes, crypto.randomUUID()) : bytes };
}

/** A second of silence as one MP3 frame, and an empty scene as glTF, both with what follows their first bytes filled up. */
export const others = {
  audio: { type: "audio/mpeg", bytes: new Uint8Array([0x49, 0x44, 0x33, 4, 0, 0, 0, 0, 0, 0, ...Array.from({ length: 400 }, () => 0x55)]) },
  mesh: { type: "model/gltf-binary", bytes: new Uint8Array([0x67, 0x6c, 0x54, 0x46, 2, 0, 0, 0, ...Array.from({ length: 200 }, () => 1)]) },
};

/** Stores a file on the host and returns its path. Directives of the prompt: `[expired]` is 403, `[truncated]` breaks off half-way. */
export function publish(upstream: string, prompt: string, kind: "image" | "video" | "audio" | "mesh"): string {
  const id = crypto.randomUUID();
  const file = kind === "audio" || kind === "mesh" ? others[kind] : makeFile(prompt, kind);
  made.set(id, { upstream, prompt, ...file });
  return `/${id}.${file.type.replace(/.*\//, "")}`;
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
