/** A refusal as every family of paths writes it. */

import { expect } from "vitest";
import type { Answer } from "./gateway.ts";

/** The answer says no in the shape of its family, and nothing of it came out of the request. */
export function expectRefusal(path: string, { status, headers, body }: Answer, allowed: number[]): void {
  expect(allowed, `${path.slice(0, 100)} ${status}`).toContain(status);
  expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  expect(headers.get("x-injected")).toBeNull();
  if (path.includes("balance")) return expect(body).toEqual({ success: false, message: expect.any(String) });
  const error = { message: expect.any(String), type: expect.any(String), code: expect.any(String) };
  expect(body.error, path.slice(0, 100)).toMatchObject(error);
  if (/^\/v1\/tasks(\/|\?|$)/.test(path)) expect(body).toMatchObject({ code: status, message: body.error.message });
}
