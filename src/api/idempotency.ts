/** `Idempotency-Key`: how it is read, what a body's identity is, and how a repeat is answered. */

import { ApiError } from "../errors.ts";
import { type AppContext, answer } from "./frame.ts";

/** The request's key, or undefined without one. Throws when it is empty, too long or not printable ASCII. */
export function idempotencyKeyOf(c: AppContext): string | undefined {
  const key = c.req.header("idempotency-key");
  if (key === undefined) return undefined;
  if (!/^[\x20-\x7e]{1,255}$/.test(key))
    throw new ApiError("invalid_request", { violations: [{ param: "Idempotency-Key", rule: "bad_idempotency_key" }] });
  return key;
}

/** JSON with sorted keys: two spellings of the same body are the same text. */
export function canonicalJson(value: unknown): string {
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
