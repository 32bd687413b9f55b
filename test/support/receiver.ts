/** Receivers of callbacks, instead of the internet. */

import { Webhook } from "standardwebhooks";
import { expect, vi } from "vitest";
import { taskEvent } from "../../src/api/schema/callbacks.ts";
import { type Account, call, deliver } from "./gateway.ts";

/** A received callback. */
export interface Received {
  url: string;
  headers: Record<string, string>;
  body: string;
  redirect: string | undefined;
}

type Answer = (signal: AbortSignal) => Response | Promise<Response>;

/** Replaces the internet: only these URLs answer; each call is added to the returned list. */
export function receivers(hosts: Record<string, Answer>): Received[] {
  const received: Received[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const { url, headers, redirect } = new Request(input, init);
    received.push({ url, headers: Object.fromEntries(headers), body: init?.body as string, redirect });
    const answer = hosts[url];
    if (!answer) throw new TypeError("Network connection lost.");
    return answer(init!.signal!);
  });
  return received;
}

export const ok = () => new Response(null, { status: 204 });

/** Never answers; ends when its caller aborts. */
export const hangs: Answer = (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));

/** Makes timeouts of ten seconds and more expire at once; returns their lengths in milliseconds. The test runner waits half a minute for background work. */
export function hurryTimeouts(): number[] {
  const original = setTimeout;
  const limits: number[] = [];
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms = 0) => {
    const isHurried = ms >= 10_000 && ms < 30_000;
    if (isHurried) limits.push(ms);
    return original(run, isHurried ? 0 : ms);
  }) as never);
  return limits;
}

export const readSecret = async (account: Account): Promise<string> =>
  (await call("/v1/webhook_secret", { key: account.key })).body.secret as string;

/** Checks the signature with the reference library, and the body against its schema; returns the body. */
export function verified({ body, headers }: Received, secret: string) {
  return taskEvent.parse(new Webhook(secret).verify(body, headers));
}

export const findCallback = async (account: Account, id: string) => (await call(`/v1/tasks/${id}/callback`, { key: account.key })).body;

export const setEndpoint = async (account: Account, url: string | null): Promise<void> => {
  const answer = await call("/v1/webhook", { key: account.key, method: "PUT", body: { url } });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
};

/** Delivers the task's message to the consumer of callbacks. */
export const callBack = (id: string, vars: Partial<Env> = {}) => deliver(id, "gateway-notify", vars);
