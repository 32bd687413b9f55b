/** `Idempotency-Key`: how it is read, what a body's identity is, and how a repeat is answered. */

import { ApiError } from "../errors.ts";
import { sha256Hex } from "../ids.ts";
import { type AppContext, answer } from "./frame.ts";
import type { LargeBody } from "./large-body.ts";

/** The request's key, or undefined without one. Throws when it is empty, too long or not printable ASCII. */
export function readIdempotencyKey(c: AppContext): string | undefined {
  const key = c.req.header("idempotency-key");
  if (key === undefined) return undefined;
  if (!/^[\x20-\x7e]{1,255}$/.test(key))
    throw new ApiError("invalid_request", { violations: [{ param: "Idempotency-Key", rule: "bad_idempotency_key" }] });
  return key;
}

/** What makes two requests the same: their path and their body, whatever the order of its fields; images count by their digests. */
export async function fingerprint(path: string, { body, images }: LargeBody): Promise<string> {
  let text = canonicalJson(body);
  for (const image of images.values()) text = text.replaceAll(image.placeholder, "problem" in image ? image.problem : image.sha256);
  return sha256Hex(`${path}\n${text}`);
}

/** JSON with sorted keys: two spellings of the same body are the same text. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === "object" && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}

/** The answer to a repeat: the first one's. */
export function replayed(c: AppContext, view: object): Response {
  c.header("idempotent-replayed", "true");
  return answer(c, view);
}
