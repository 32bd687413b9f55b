/** How long a consumer's lease lasts, and outputs that wait for their provider. */

import { expect, test } from "vitest";
import { openStub } from "../support/faults.ts";
import { readBalance, call, deliver, finish, holdTime, pass, passToPoll, unique } from "../support/gateway.ts";
import { submitTo } from "./support.ts";

holdTime();

test("a start that may not be repeated is leased until its immediate outputs are stored", async () => {
  const { body } = await submitTo({ "imgB-4o-image": [{ provider: "openai", model: "gpt-image-2" }] }, "/v1/images/generations", {
    model: "imgB-4o-image",
    prompt: unique(),
  });
  const work = await openStub(body.id).claim();
  const { step } = work!.task;
  // Forty seconds to store images after the upstream's own time limit, and ten of grace.
  expect(step.at - Date.now()).toBeGreaterThan(90_000);
});

test("outputs wait for a provider that was switched off in the meantime", async () => {
  const { account, body } = await submitTo({ "vidD-02": [{ provider: "minimax", model: "MiniMax-Hailuo-02" }] }, "/v1/videos/generations", {
    model: "vidD-02",
    prompt: unique(),
    duration: 10,
  });
  const id = body.id as string;
  await deliver(id);
  await passToPoll(id);
  await deliver(id, "gateway-dispatch", { MINIMAX_API_KEY: "" });
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("in_progress");
  await pass(id, 10);
  expect((await finish(account, id)).body.data.status).toBe("completed");
  expect((await readBalance(account)).reserved).toBe(0);
});
