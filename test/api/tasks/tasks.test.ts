/** Paths below `/v1/tasks`: cancelling, and ids that were never issued. Contract 2 and 5. */

import { expect, test, vi } from "vitest";
import { TaskObject } from "../../../src/tasks/object/task-object.ts";
import { bindings } from "../../support/faults.ts";
import { type Account, readBalance, call, deliver, finish, holdTime, newAccount, submit, unique } from "../../support/gateway.ts";

holdTime();

const videos = "/v1/videos/generations";
const image = (account: Account) => submit(account, "/v1/images/generations", { model: "imgA-4", prompt: unique() });

const notFound = {
  code: 404,
  message: "The task does not exist.",
  error: { message: "The task does not exist.", type: "task_not_found", code: "task_not_found", param: null },
};

test("cancelling answers like the generic query, with everything returned", async () => {
  const account = await newAccount();
  const id = await image(account);
  await deliver(id);
  const { status, body } = await call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" });
  expect(status).toBe(200);
  expect(body).toEqual((await call(`/v1/tasks/${id}`, { key: account.key })).body);
  expect(body).toMatchObject({ code: 200, message: "The task was cancelled.", data: { status: "failed", error: { code: "cancelled" } } });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a final task cannot be cancelled: 409, and it does not change", async () => {
  const account = await newAccount();
  const id = await image(account);
  const before = await finish(account, id);
  const { status, body } = await call(`/v1/tasks/${id}/cancel`, { key: account.key, body: {} });
  expect(status).toBe(409);
  const error = { message: "The task has already ended.", type: "invalid_request", code: "task_already_final", param: null };
  expect(body).toEqual({ code: 409, message: error.message, error });
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body).toEqual(before.body);
});

test("a cancellation accepts no body or an object only", async () => {
  const account = await newAccount();
  const id = await image(account);
  for (const body of ["[]", "1", "nonsense"])
    expect(await call(`/v1/tasks/${id}/cancel`, { key: account.key, body })).toMatchObject({ status: 400, body: { code: 400 } });
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("queued");
  expect((await call(`/v1/tasks/${id}/cancel`, { key: account.key, body: {} })).status).toBe(200);
});

test("a task of another account can be neither read nor cancelled", async () => {
  const account = await newAccount();
  const stranger = await newAccount();
  const id = await image(account);
  expect(await call(`/v1/tasks/${id}`, { key: stranger.key })).toMatchObject({ status: 404, body: notFound });
  expect(await call(`/v1/tasks/${id}/cancel`, { key: stranger.key, method: "POST" })).toMatchObject({ status: 404, body: notFound });
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("queued");
});

test("an id that was never issued is 404 on every path and starts no object", async () => {
  const account = await newAccount();
  const id = await image(account);
  const reads = vi.spyOn(TaskObject.prototype, "read");
  const cancels = vi.spyOn(TaskObject.prototype, "cancel");
  const stubs = vi.spyOn(bindings.namespace(), "get");
  const last = id.at(-1)!;
  const flipped = id.slice(0, -2) + (id.at(-2) === "A" ? "B" : "A") + last;
  const spelled = id.slice(0, -1) + String.fromCharCode(last.charCodeAt(0) + 1);
  for (const forged of [
    "x",
    "task_",
    `task_${"A".repeat(43)}`,
    flipped,
    spelled,
    `${id}A`,
    id.toUpperCase(),
    "task_%F0%9F%98%80",
    "%E0%A4%A",
  ]) {
    expect(await call(`/v1/tasks/${forged}`, { key: account.key }), forged).toMatchObject({ status: 404, body: notFound });
    expect(await call(`/v1/tasks/${forged}/cancel`, { key: account.key, method: "POST" }), forged).toMatchObject({ status: 404 });
    for (const path of [videos, "/v1/characters_tasks"])
      expect((await call(`${path}/${forged}`, { key: account.key })).body, forged).toEqual({ error: notFound.error });
  }
  expect([reads, cancels, stubs].map(({ mock }) => mock.calls.length)).toEqual([0, 0, 0]);
});

test("unknown paths below /v1/tasks answer in the family's envelope", async () => {
  const account = await newAccount();
  const id = await image(account);
  const error = {
    message: "There is nothing at this address: the path is wrong, or its id does not exist or has expired.",
    type: "invalid_request",
    code: "not_found",
    param: null,
  };
  for (const path of [`/v1/tasks/${id}/unknown`, `/v1/tasks/${id}/cancel/more`])
    expect(await call(path, { key: account.key })).toMatchObject({ status: 404, body: { code: 404, message: error.message, error } });
  const { status, headers, body } = await call(`/v1/tasks/${id}`, { key: account.key, method: "PUT" });
  expect([status, headers.get("allow")?.split(", ").sort()]).toEqual([405, ["DELETE", "GET", "HEAD"]]);
  expect(body).toEqual({ code: 405, message: body.error.message, error: expect.objectContaining({ code: "method_not_allowed" }) });
});
