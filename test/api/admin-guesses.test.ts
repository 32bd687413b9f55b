/** Guesses of the operator's token: wrong tokens are counted per address (IPv6: per network of 64 bits), correct tokens are not. Contract 8. */

import "../support/alone.ts";
import { expect, test, vi } from "vitest";
import { call, holdTime } from "../support/gateway.ts";

holdTime();

let addresses = 0;
const newAddress = () => `2001:db8:0:${(++addresses).toString(16)}::1`;
const secondsLeft = () => 60 - (Math.floor(Date.now() / 1000) % 60);

/** Sends a request from an address with a token, to a gateway whose rate limits are on. */
const ask = (address: string, token: string | undefined, vars: Partial<Env> = {}) =>
  call("/admin/accounts?limit=1", {
    ...(token !== undefined && { key: token }),
    headers: { "cf-connecting-ip": address },
    vars: { RATE_LIMITS: "on", ...vars },
  });

/** Sends thirty wrong tokens from one address within one minute of the clock that the local limiter uses. */
async function thirty(): Promise<{ address: string; statuses: number[]; next: Awaited<ReturnType<typeof ask>> }> {
  const minuteNow = () => Math.floor((performance.timeOrigin + performance.now()) / 60_000);
  for (;;) {
    const minute = minuteNow();
    const address = newAddress();
    const guesses = ["wrong", undefined, "test-admi", "test-admin-", "TEST-ADMIN", "sk-x"];
    const answers = await Promise.all(Array.from({ length: 30 }, (_, at) => ask(address, guesses[at % guesses.length])));
    const next = await ask(address, "wrong");
    if (minute === minuteNow()) return { address, statuses: answers.map(({ status }) => status), next };
  }
}

test("the 31st wrong token of a minute is 429, as is the right token until the minute ends; other addresses are not affected", async () => {
  const { address, statuses, next } = await thirty();
  expect(new Set(statuses)).toEqual(new Set([401]));
  const limited = (answer: typeof next) => {
    expect(answer.status).toBe(429);
    expect(answer.headers.get("x-ratelimit-reset-requests")).toBe(`${answer.headers.get("retry-after")}s`);
    expect(answer.headers.get("retry-after")).toBe(String(secondsLeft()));
    expect(answer.body).toEqual({
      error: { message: "Too many requests. Try again later.", type: "rate_limit_exceeded", code: "rate_limit_exceeded", param: null },
    });
  };
  limited(next);
  limited(await ask(address, "test-admin"));
  expect((await ask(newAddress(), "test-admin")).status).toBe(200);
  vi.setSystemTime(Date.now() + 1000 * secondsLeft() - 1000);
  limited(await ask(address, "test-admin"));
  vi.setSystemTime(Date.now() + 1000);
  expect((await ask(address, "test-admin")).status).toBe(200);
});

test("addresses of one IPv6 network count together", async () => {
  const limit = vi.fn<RateLimit["limit"]>(async () => ({ success: false }));
  const address = newAddress();
  expect((await ask(address, "wrong", { ADMIN_FAILURES: { limit } })).status).toBe(429);
  expect((await ask(address.replace("::1", ":1:2:3:4"), "wrong", { ADMIN_FAILURES: { limit } })).status).toBe(429);
  expect(limit).toHaveBeenCalledTimes(1);
});

test("right tokens are never counted, however many arrive at once", async () => {
  const limit = vi.fn<RateLimit["limit"]>(async () => ({ success: false }));
  const address = newAddress();
  const answers = await Promise.all(Array.from({ length: 100 }, () => ask(address, "test-admin", { ADMIN_FAILURES: { limit } })));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(limit).not.toHaveBeenCalled();
  expect((await ask(address, "wrong", { ADMIN_FAILURES: { limit } })).status).toBe(429);
  expect(limit.mock.calls).toEqual([[{ key: address.replace("::1", "::/64") }]]);
});

test("a guess over the limit is refused before its token is checked: no digest, no second limiter call", async () => {
  const limit = vi.fn<RateLimit["limit"]>(async () => ({ success: false }));
  const address = newAddress();
  expect((await ask(address, "wrong", { ADMIN_FAILURES: { limit } })).status).toBe(429);
  const digest = vi.spyOn(crypto.subtle, "digest");
  for (const token of ["wrong", "test-admin", undefined])
    expect((await ask(address, token, { ADMIN_FAILURES: { limit } })).status).toBe(429);
  expect(digest).not.toHaveBeenCalled();
  expect(limit).toHaveBeenCalledTimes(1);
});

test("nothing is counted when limits are off or ADMIN_TOKEN is not set", async () => {
  const limit = vi.fn<RateLimit["limit"]>(async () => ({ success: false }));
  const address = newAddress();
  expect((await ask(address, "wrong", { RATE_LIMITS: "off", ADMIN_FAILURES: { limit } })).status).toBe(401);
  expect((await ask(address, "wrong", { ADMIN_TOKEN: "", ADMIN_FAILURES: { limit } })).status).toBe(404);
  expect(limit).not.toHaveBeenCalled();
});
