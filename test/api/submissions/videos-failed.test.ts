/** Videos that fail: later, at submission, or because an input image cannot be fetched. Sections 2.2 and 4.3 of the interface. */

import { expect, test, vi } from "vitest";
import { readBalance, call, finish, holdTime, newAccount, submit, unique, upstreamCalls, newTask } from "../../support/gateway.ts";

holdTime();

const videos = "/v1/videos/generations";

test("a failed video has an error and none of a result's fields", async () => {
  const { account, id } = await newTask(
    { polls: [{ progress: 30 }, { failed: "content_policy_violation" }] },
    { model: "vidC-1-0-pro-fast" },
  );
  const created_at = Math.floor(Date.now() / 1000);
  await finish(account, id);
  expect((await call(`${videos}/${id}`, { key: account.key })).body).toEqual({
    id,
    object: "video.generation",
    model: "vidC-1-0-pro-fast",
    created_at,
    status: "failed",
    progress: 30,
    error: { message: "The content violates the content policy." },
  });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a prompt that the provider refuses at submission is 422, reserves nothing and leaves no task", async () => {
  const account = await newAccount();
  const prompt = `sandbox:reject ${unique()}`;
  const { status, body } = await call(videos, { key: account.key, body: { model: "vidA-2", prompt } });
  expect(status).toBe(422);
  expect(body).toEqual({
    error: {
      message: "The content violates the content policy.",
      type: "content_policy_violation",
      code: "content_policy_violation",
      param: null,
    },
  });
  expect(await upstreamCalls(prompt)).toEqual([]);
  expect((await call("/v1/tasks", { key: account.key })).body.data).toEqual([]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("an input image that cannot be fetched fails the task as invalid_input", async () => {
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response("gone", { status: 404 }));
  const account = await newAccount();
  const id = await submit(account, videos, { model: "vidB-3.1-fast", prompt: unique(), images: ["https://pictures.example/a.png"] });
  expect((await finish(account, id)).body.data).toMatchObject({ status: "failed", error: { code: "invalid_input" } });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});
