/** Checks of refusals in each family of paths, and that they leave no trace. */

import { expect } from "vitest";
import { type Account, type Answer, readBalance, call } from "./gateway.ts";

/** The answer is an error in the envelope of its family, and contains nothing of the request. */
export function expectRefusal(path: string, { status, headers, body }: Answer, allowed: number[]): void {
  expect(allowed, `${path.slice(0, 100)} ${status}`).toContain(status);
  expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  expect(headers.get("x-injected")).toBeNull();
  if (path.includes("balance")) return expect(body).toEqual({ success: false, message: expect.any(String) });
  const error = { message: expect.any(String), type: expect.any(String), code: expect.any(String) };
  expect(body.error, path.slice(0, 100)).toMatchObject(error);
  if (/^\/v1\/tasks(\/|\?|$)/.test(path)) expect(body).toMatchObject({ code: status, message: body.error.message });
}

/** The answer is 400 because of this one field; `sent` is printed if it is not. */
export function expectRefusedFor(param: string, { status, body }: Answer, sent: object, code = "invalid_request"): void {
  const details = [expect.objectContaining({ param, message: expect.any(String) })];
  const error = { message: expect.stringContaining(param), type: "invalid_request", code, param, details };
  expect({ status, body }, JSON.stringify(sent)).toEqual({ status: 400, body: { error } });
}

/** Nothing of a new account's 100 units is reserved or charged. */
export const expectNothingPaid = async (account: Account) =>
  expect(await readBalance(account)).toEqual({ quota: 100, reserved: 0, used: 0, remaining: 100 });

/** Nothing is reserved or charged, and the new account has no task. */
export async function expectNoTrace(account: Account): Promise<void> {
  await expectNothingPaid(account);
  expect((await call("/v1/tasks", { key: account.key })).body.data).toEqual([]);
}
