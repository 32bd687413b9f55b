/** Replicate has no idempotency keys: a start without an answer is looked up among its predictions before it is repeated. */

import { expect, test } from "vitest";
import { readBalance, call, deliver, finish, holdTime, pass, unique } from "../../support/gateway.ts";
import { countAll, routesTo, submitTo } from "../support.ts";
import { pixel } from "../../media/images.ts";

holdTime();

const images = "/v1/images/generations";
const id = "bytedance/seedream-4.5";
const second = "bytedance/seedream-4";
const to = (...ids: string[]) => routesTo("replicate", "imgA-4", ...ids);
const png = `data:image/png;base64,${pixel}`;

/** A directive that sets the emulator's clock, because time is held here. */
const createdAt = (ms: number) => `[created ${new Date(Date.now() + ms).toISOString()}]`;

/** Submits, makes the first start fail, runs `meanwhile`, and continues. */
async function run(prompt: string, fields: object = {}, meanwhile: () => unknown = () => undefined, routes = to(id)) {
  const { account, body } = await submitTo(routes, images, { model: "imgA-4", prompt, ...fields });
  await deliver(body.id);
  await meanwhile();
  await pass(body.id, 2);
  const { data } = (await finish(account, body.id, 30)).body;
  return { data, used: (await readBalance(account)).used, reserved: (await readBalance(account)).reserved };
}

/** A prediction of another client with the same token. */
const predict = (input: object, model = id) =>
  fetch(`https://api.replicate.com/v1/models/${model}/predictions`, {
    method: "POST",
    headers: { authorization: "Bearer test-replicate-token", "content-type": "application/json" },
    body: JSON.stringify({ input }),
  });

const failed = { data: { status: "failed", error: { code: "provider_error" } } };
const lost = { ...failed, used: 0, reserved: 0 };
const made = { data: { status: "completed" }, used: 0.03, reserved: 0 };

test("accepted, and the connection broke: it is found and not repeated", async () => {
  const prompt = `${unique()} ${createdAt(0)} [drop 1]`;
  expect(await run(prompt)).toMatchObject(made);
  expect(await countAll(prompt, "start")).toBe(1);
});

test("accepted, and the answer had no id: it is found", async () => {
  const prompt = `${unique()} ${createdAt(0)} [no-id 1]`;
  expect(await run(prompt)).toMatchObject(made);
  expect(await countAll(prompt, "start")).toBe(1);
});

test("never accepted: it is not found, and is repeated", async () => {
  const prompt = `${unique()} ${createdAt(0)} [unreached 1]`;
  expect(await run(prompt)).toMatchObject(made);
  expect(await countAll(prompt, "start")).toBe(2);
});

test("an earlier prediction with the same input is not adopted", async () => {
  const prompt = `${unique()} ${createdAt(-60_000)} [unreached 1]`;
  await predict({ prompt, size: "2K", aspect_ratio: "1:1" });
  // One of the two starts is the separate prediction above.
  expect(await run(`${prompt} [unreached 1]`)).toMatchObject(made);
  expect(await countAll(`${prompt} [unreached 1]`, "start")).toBe(2);
});

test("accepted, beside an equal prediction of another client: the task's own is adopted", async () => {
  const prompt = `${unique()} ${createdAt(0)} [drop 1]`;
  const twin = () => predict({ prompt, size: "2K", aspect_ratio: "1:1" });
  expect(await run(prompt, {}, twin)).toMatchObject(made);
  expect(await countAll(prompt, "start")).toBe(2);
});

test("never accepted, and another account's task has an equal prediction: it is not adopted, and the start is repeated", async () => {
  const prompt = `${unique()} ${createdAt(0)} [unreached 1]`;
  const first = await submitTo(to(id), images, { model: "imgA-4", prompt });
  const second = await submitTo(to(id), images, { model: "imgA-4", prompt });
  await deliver(second.body.id); // the connection breaks before anything is accepted
  await deliver(first.body.id); // accepted, with an equal input
  await pass(second.body.id, 2);
  const files: string[] = [];
  for (const { account, body } of [first, second]) {
    const { data } = (await finish(account, body.id, 30)).body;
    files.push(data.result.images[0].url[0]);
    expect((await readBalance(account)).used).toBe(0.03);
  }
  expect(new Set(files).size).toBe(2);
  expect(await countAll(prompt, "start")).toBe(3);
});

test.each(["a list without webhooks", "no callbacks"])(
  "%s: an equal prediction may be another task's, so nothing is adopted or repeated",
  async (reason) => {
    const isBare = reason !== "no callbacks";
    const prompt = `${unique()} ${createdAt(0)} [drop 1]${isBare ? " [list-bare]" : ""}`;
    const { account, body } = await submitTo(to(id, second), images, { model: "imgA-4", prompt });
    const vars: Partial<Env> = isBare ? {} : { UPSTREAM_CALLBACKS: "off" };
    await deliver(body.id, "gateway-dispatch", vars);
    await pass(body.id, 2);
    await deliver(body.id, "gateway-dispatch", vars);
    expect((await finish(account, body.id, 30)).body).toMatchObject(failed);
    expect(await readBalance(account)).toMatchObject({ used: 0, reserved: 0 });
    expect(await countAll(prompt, "start")).toBe(1);
  },
);

test("the same prompt with another size or model is not adopted", async () => {
  const prompt = `${unique()} ${createdAt(0)} [drop 1]`;
  const others = async () => {
    await predict({ prompt, size: "2K", aspect_ratio: "16:9" });
    await predict({ prompt, size: "2K", aspect_ratio: "1:1" }, second);
  };
  expect(await run(prompt, {}, others)).toMatchObject(made);
  expect(await countAll(prompt, "start")).toBe(3);
});

test("a prediction with additional fields is ambiguous: nothing is adopted or repeated", async () => {
  const prompt = `${unique()} ${createdAt(0)} [unreached 1]`;
  const more = { prompt, size: "2K", aspect_ratio: "1:1", max_images: 1 };
  expect(await run(prompt, {}, () => predict(more))).toMatchObject(lost);
});

test("with an inline image: found, also beside another one", async () => {
  const prompt = `${unique()} ${createdAt(0)} [drop 1]`;
  const input = { prompt, size: "2K", aspect_ratio: "1:1", image_input: ["https://replicate.delivery/a.png"] };
  expect(await run(prompt, { images: [png] }, () => predict(input))).toMatchObject(made);
  const never = `${unique()} ${createdAt(0)} [unreached 1]`;
  expect(await run(never, { images: [png] }, () => predict({ ...input, prompt: never }))).toMatchObject(lost);
});

test("three images of which one was made before the connection broke: fewer than requested", async () => {
  const prompt = `${unique()} ${createdAt(0)} [drop 1]`;
  expect(await run(prompt, { n: 3 })).toMatchObject(lost);
  expect(await countAll(prompt, "start")).toBe(1);
});

test("three images of which the third was lost: two are delivered", async () => {
  const prompt = unique();
  const word = `${prompt} [unavailable 1]`;
  const { data } = await run(word, { n: 3 });
  expect(data.status).toBe("completed");
});

test("a prediction on the second page is found, and a next link to a foreign host is not followed", async () => {
  const prompt = `${unique()} ${createdAt(0)} [drop 1]`;
  const others = () => Promise.all(Array.from({ length: 25 }, () => predict({ prompt: `${unique()} ${createdAt(0)}` })));
  expect(await run(prompt, {}, others)).toMatchObject(made);
  expect(await countAll(prompt, "start")).toBe(1);
});

test.each(["[list-broken 1]", "[list-limit 1]"])("%s: repeated until the list answers", async (order) => {
  const prompt = `${unique()} ${createdAt(0)} [drop 1] ${order}`;
  expect(await run(prompt)).toMatchObject(made);
  expect(await countAll(prompt, "start")).toBe(1);
});

test("a refused start is not looked up, and an equal prediction of another client is not adopted", async () => {
  const prompt = `${unique()} ${createdAt(0)} [limit 1]`;
  const twin = () => predict({ prompt, size: "2K", aspect_ratio: "1:1" });
  expect(await run(prompt, {}, twin)).toMatchObject(made);
  expect(await countAll(prompt, "start")).toBe(3);
});

test("a list that never answers: nothing is repeated, also not on other routes", async () => {
  const prompt = `${unique()} ${createdAt(0)} [drop 1] [list-broken]`;
  expect(await run(prompt, {}, () => undefined, to(id, second))).toMatchObject(lost);
  expect(await countAll(prompt, "start")).toBe(1);
});

test("a wrong token during the look-up: nothing is repeated", async () => {
  const prompt = `${unique()} ${createdAt(0)} [drop 1]`;
  const { account, body } = await submitTo(to(id, second), images, { model: "imgA-4", prompt });
  await deliver(body.id);
  await pass(body.id, 2);
  await deliver(body.id, "gateway-dispatch", { REPLICATE_API_TOKEN: "a-wrong-token" });
  const { data } = (await call(`/v1/tasks/${body.id}`, { key: account.key })).body;
  expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(await countAll(prompt, "start")).toBe(1);
});
