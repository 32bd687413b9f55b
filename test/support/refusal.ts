/** A refusal as every family of paths writes it, and what it must not leave behind. */

import { expect } from "vitest";
import { type Account, type Answer, books, call } from "./gateway.ts";

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

/** The answer is 400 for this one field, as the paths write it that take submissions and chats; `sent` is shown when it is not. */
export function expectRefusedFor(param: string, { status, body }: Answer, sent: object, code = "invalid_request"): void {
  const details = [expect.objectContaining({ param, message: expect.any(String) })];
  const error = { message: expect.stringContaining(param), type: "invalid_request", code, param, details };
  expect({ status, body }, JSON.stringify(sent)).toEqual({ status: 400, body: { error } });
}

/** Nothing is held or charged of a fresh account's 100 units. */
export const expectNothingPaid = async (account: Account) =>
  expect(await books(account)).toEqual({ quota: 100, reserved: 0, used: 0, remaining: 100 });

/** Nothing is paid, and no task is in the fresh account's list. */
export async function expectNoTrace(account: Account): Promise<void> {
  await expectNothingPaid(account);
  expect((await call("/v1/tasks", { key: account.key })).body.data).toEqual([]);
}
