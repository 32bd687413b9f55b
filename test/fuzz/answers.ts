/** Checks for every answer, and the video that some paths need. */

import { expect } from "vitest";
import { type ErrorCode, statusAndType } from "../../src/base/errors.ts";
import { type Account, type Answer, complete } from "../support/gateway.ts";

/** Creates a task with a video that remixes and characters can use as their source. */
export const readVideo = (account: Account) => complete(account, "/v1/videos/generations", { model: "vidA-2", prompt: "a quiet street" });

/** Sends a request and, if it takes more than a second, once more, because the machine may have been busy. */
export async function within1s(ask: () => Promise<Answer>): Promise<Answer> {
  for (let turn = 1; ; turn++) {
    const started = performance.now();
    const answer = await ask();
    const took = performance.now() - started;
    if (took < 1000) return answer;
    expect(turn, `${took} ms`).toBeLessThan(3);
  }
}

/** Checks that an error has its family's envelope and a code that matches its status. */
export function expectDocumented(path: string, { status, headers, body }: Answer, isHead = false): void {
  expect(status).toBeLessThan(500);
  expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  if (status < 400 || isHead) return;
  expect(headers.get("content-type")).toMatch(/^application\/json/);
  const { pathname } = new URL(`https://gateway.example${path}`);
  if (/^(?:\/v1)?(?:\/user)?\/balance\/?$/.test(pathname)) return expect(body).toEqual({ success: false, message: expect.any(String) });
  if (/^\/v1\/tasks(?:\/|$)/.test(pathname)) expect(body).toEqual({ code: status, message: body.error.message, error: expect.any(Object) });
  else expect(Object.keys(body as object)).toEqual(["error"]);
  const { code, type, message, param, details, ...rest } = body.error as Record<string, unknown>;
  expect(rest).toEqual({});
  expect(statusAndType(code as ErrorCode)).toEqual({ status, type });
  expect(message).toEqual(expect.stringMatching(/./));
  if (details === undefined) return expect(param).toBeNull();
  expect((details as { param: string }[])[0]!.param).toBe(param);
  for (const detail of details as object[]) expect(detail).toMatchObject({ param: expect.any(String), message: expect.any(String) });
}
