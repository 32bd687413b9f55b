/** After a crash between any two steps of a task with an own input it still ends once, is charged once, and leaves no file behind. */

import "../../support/alone.ts";
import { env } from "cloudflare:workers";
import { beforeEach, expect, test, vi } from "vitest";
import { perform } from "../../../src/tasks/consumer/perform.ts";
import { WalletObject } from "../../../src/wallet/object.ts";
import { crash, openStub, stopAt } from "../../support/faults.ts";
import {
  alarm,
  call,
  deliver,
  finish,
  holdTime,
  newAccount,
  pass,
  passToPoll,
  readBalance,
  settledBalance,
  submit,
  unique,
} from "../../support/gateway.ts";
import { deleteModels } from "../../support/models.ts";
import { capture, countAll } from "../support.ts";
import { mesh, put, speech } from "./support.ts";

holdTime();
beforeEach(async () => {
  capture();
  await deleteModels();
});

const keys = async (prefix: string) => (await env.ASSETS.list({ prefix })).objects.map(({ key }) => key);

test.each([
  ["before it stores anything", false, false],
  ["before it stores anything, and so does the object", false, true],
  ["after it stored the files", true, false],
  ["after it stored the files, and so does the object", true, true],
])("the consumer crashes %s", async (_, isStored, isObjectToo) => {
  const account = await newAccount();
  await put("sculptor", mesh);
  const url = `https://images.example/${unique()}.png`;
  const id = await submit(account, "/v1/tasks", { model: "sculptor", input: { input_image_url: url } });
  await deliver(id);
  await passToPoll(id);
  const work = await openStub(id).claim();
  expect(work).toMatchObject({ step: "collect" });
  if (isStored) await perform(work!, env, { holdsLease: async () => true, report: async () => true });
  if (isObjectToo) await crash(openStub(id));
  await pass(id, 130);
  const { data } = (await finish(account, id)).body;
  expect(data).toMatchObject({ status: "completed", cost: { charged: 0.16 } });
  expect(data.result.files).toHaveLength(2);
  expect(await countAll(url, "start")).toBe(1);
  for (let time = 0; time < 2; time++) {
    await deliver(id);
    await alarm(id);
  }
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0.16 });
  await pass(id, 86_401);
  expect(await keys(`assets/${id}/`)).toEqual([]);
});

test("the object crashes between the last state and the settlement", async () => {
  const account = await newAccount();
  await put("narrator", speech);
  const text = unique();
  const id = await submit(account, "/v1/tasks", { model: "narrator", input: { text } });
  await deliver(id);
  await passToPoll(id);
  const stopped = stopAt(WalletObject.prototype as never, "settle", false);
  const delivery = deliver(id);
  await stopped();
  await crash(openStub(id));
  await delivery;
  vi.restoreAllMocks();
  capture();
  await pass(id, 31);
  expect((await finish(account, id)).body.data).toMatchObject({ status: "completed", cost: { charged: 0.05 } });
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0.05 });
});

test("the upstream accepts and its answer is lost: nobody asks twice, nothing is charged, and inline files are gone", async () => {
  const account = await newAccount();
  await put("sculptor", mesh);
  const id = await submit(account, "/v1/tasks", {
    model: "sculptor",
    input: { input_image_url: `https://a.example/[drop]${unique()}.png` },
  });
  expect((await finish(account, id)).body.data).toMatchObject({
    status: "failed",
    error: { code: "provider_error" },
    cost: { charged: 0 },
  });
  expect(await countAll(id, "start")).toBe(0);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  expect(await keys(`inputs/${id}/`)).toEqual([]);
  expect((await call("/v1/tasks?kind=file", { key: account.key })).body.data).toHaveLength(1);
});
