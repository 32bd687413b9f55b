/** `MAX_OPEN_TASKS`: how many tasks of an account may be open at once. Contract 4. */

import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { asAdmin, readBalance, call, finish, holdTime, newAccount, submit, image } from "../../support/gateway.ts";

holdTime();

const images = "/v1/images/generations";

test("a 429 for open tasks has the headers of every 429; with rate limits off it has Retry-After alone", async () => {
  const account = await newAccount();
  expect((await asAdmin(`/keys/${account.keyId}`, { method: "PATCH", body: { max_open_tasks: 1 } })).status).toBe(200);
  await submit(account, images, image());
  for (const [RATE_LIMITS, reset] of [
    ["on", "5s"],
    ["off", null],
  ] as const) {
    const vars = { RATE_LIMITS };
    for (const path of [images, `${images}?dry_run=true`]) {
      const { status, headers } = await call(path, { key: account.key, body: image(), vars });
      expect([status, headers.get("retry-after"), headers.get("x-ratelimit-reset-requests")], path).toEqual([429, "5", reset]);
      expect(headers.has("x-ratelimit-limit-requests")).toBe(RATE_LIMITS === "on");
    }
  }
});

test("above the limit a submission is 429 with any key and leaves no trace; chats are not affected", async () => {
  const account = await newAccount();
  const other = (await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "other", quota: null } })).body.key as string;
  const wallet = env.WALLETS.getByName(account.id);
  for (let count = 0; count < 498; count++) {
    const charge = { taskId: `task_${count}`, accountId: account.id, keyId: account.keyId, kind: "image", model: "imgA-4" };
    expect(await wallet.reserve(charge, 0, { maxOpenTasks: 500 })).toEqual({ answer: "reserved" });
  }
  const open = [await submit(account, images, image()), await submit(account, images, image())];
  for (const key of [account.key, other]) {
    const { status, headers, body } = await call(images, { key, body: image() });
    expect([status, headers.get("retry-after")]).toEqual([429, "5"]);
    expect(body.error).toMatchObject({ code: "too_many_open_tasks", type: "rate_limit_exceeded", param: null });
  }
  expect(await readBalance(account)).toMatchObject({ reserved: 0.06 });
  expect((await call("/v1/tasks", { key: account.key })).body.data).toHaveLength(2);
  const chat = { model: "textA-1", messages: [{ role: "user", content: "hi" }] };
  expect((await call("/v1/chat/completions", { key: account.key, body: chat })).status).toBe(200);
  await finish(account, open[0]!);
  await submit(account, images, image());
  expect((await call(images, { key: account.key, body: image() })).status).toBe(429);
  await call(`/v1/tasks/${open[1]}/cancel`, { key: account.key, method: "POST" });
  await submit(account, images, image());
});
