/** Images, from submission to delivery: sections 2.1, 2.3 and 4.2 of the interface. */

import { expect, test } from "vitest";
import { readBalance, call, finish, holdTime, newAccount, submit, unique } from "../../support/gateway.ts";

holdTime();

test("the answer to a submission has the task record with all defaults resolved", async () => {
  const account = await newAccount();
  const prompt = unique();
  const { status, body } = await call("/v1/images/generations", { key: account.key, body: { model: "imgC-alias-pro", prompt } });
  expect(status).toBe(200);
  expect(body).toEqual({
    id: expect.stringMatching(/^task_[A-Za-z0-9_-]{1,59}$/),
    object: "generation.task",
    model: "imgC-3-pro-image-preview",
    status: "queued",
    progress: 0,
    created_at: Math.floor(Date.now() / 1000),
    metadata: { kind: "image", prompt, size: "1:1", n: 1, quality: "standard", reserved: 0.12 },
  });
});

test("two images are generated, charged, and delivered under signed URLs", async () => {
  const account = await newAccount(1);
  const id = await submit(account, "/v1/images/generations", { model: "imgA-4", prompt: unique(), n: 2, size: "16:9" });
  expect(await readBalance(account)).toEqual({ quota: 1, reserved: 0.06, used: 0, remaining: 0.94 });
  const { body } = await finish(account, id);
  expect(body).toEqual({
    code: 200,
    data: {
      id,
      object: "generation.task",
      model: "imgA-4",
      status: "completed",
      progress: 100,
      created_at: expect.any(Number),
      completed_at: expect.any(Number),
      expires_at: body.data.completed_at + 86_400,
      metadata: expect.objectContaining({ kind: "image", n: 2, size: "16:9" }),
      cost: { reserved: 0.06, charged: 0.06, returned: 0 },
      result: {
        images: [
          { url: [expect.any(String)], credentials: "none", expires_at: body.data.expires_at },
          { url: [expect.any(String)], credentials: "none", expires_at: body.data.expires_at },
        ],
      },
    },
  });
  expect(await readBalance(account)).toEqual({ quota: 1, reserved: 0, used: 0.06, remaining: 0.94 });
  const file = await call(body.data.result.images[0].url[0]);
  expect(file.status).toBe(200);
  expect(file.headers.get("content-type")).toBe("image/png");
});
