/** Replicate knows no keys: a start whose answer never came is looked up among its predictions before it is repeated. */

import { expect, test } from "vitest";
import { books, call, deliver, finish, holdTime, pass, unique } from "../../support/gateway.ts";
import { countOf, routesTo, submitTo } from "../support.ts";

holdTime();

const images = "/v1/images/generations";
const id = "bytedance/seedream-4.5";
const second = "bytedance/seedream-4";
const to = (...ids: string[]) => routesTo("replicate", "imgA-4", ...ids);
const png = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** The emulator's clock is told: time is held here. */
const createdAt = (ms: number) => `[created ${new Date(Date.now() + ms).toISOString()}]`;

/** Submits, lets the first start go wrong, does `meanwhile`, and lets it go on. */
async function run(prompt: string, fields: object = {}, meanwhile: () => unknown = () => undefined, routes = to(id)) {
  const { account, body } = await submitTo(routes, images, { model: "imgA-4", prompt, ...fields });
  await deliver(body.id);
  await meanwhile();
  await pass(body.id, 2);
  const { data } = (await finish(account, body.id, 30)).body;
  return { data, used: (await books(account)).used, reserved: (await books(account)).reserved };
}

/** Somebody else's prediction with the same token. */
const predict = (input: object, model = id) =>
  fetch(`https://api.replicate.com/v1/models/${model}/predictions`, {
    method: "POST",
    headers: { authorization: "Bearer test-replicate-token", "content-type": "application/json" },
    body: JSON.stringify({ input }),
  });

const lost = { data: { status: "failed", error: { code: "provider_error" } }, used: 0, reserved: 0 };
const made = { data: { status: "completed" }, used: 0.03, reserved: 0 };

test("accepted, and the connection broke: it is found and not made twice", async () => {
  const prompt = `${unique()} ${createdAt(0)} [drop 1]`;
  expect(await run(prompt)).toMatchObject(made);
  expect(await countOf(prompt, "start")).toBe(1);
});

test("accepted, and the answer had no id: it is found", async () => {
  const prompt = `${unique()} ${createdAt(0)} [no-id 1]`;
  expect(await run(prompt)).toMatchObject(made);
  expect(await countOf(prompt, "start")).toBe(1);
});

test("never reached: none is found and it is made", async () => {
  const prompt = `${unique()} ${createdAt(0)} [unreached 1]`;
  expect(await run(prompt)).toMatchObject(made);
  expect(await countOf(prompt, "start")).toBe(2);
});

test("an earlier prediction for the same input is not taken for it", async () => {
  const prompt = `${unique()} ${createdAt(-60_000)} [unreached 1]`;
  await predict({ prompt, size: "2K", aspect_ratio: "1:1" });
  // The first request was the one above.
  expect(await run(`${prompt} [unreached 1]`)).toMatchObject(made);
  expect(await countOf(`${prompt} [unreached 1]`, "start")).toBe(2);
});

test("two alike and one wanted: nobody can tell, nothing more is made, also not elsewhere", async () => {
  const prompt = `${unique()} ${createdAt(0)} [drop 1]`;
  const twin = () => predict({ prompt, size: "2K", aspect_ratio: "1:1" });
  expect(await run(prompt, {}, twin, to(id, second))).toMatchObject(lost);
  expect(await countOf(prompt, "start")).toBe(2);
});

test("the same prompt in another size or by another model is another's", async () => {
  const prompt = `${unique()} ${createdAt(0)} [drop 1]`;
  const others = async () => {
    await predict({ prompt, size: "2K", aspect_ratio: "16:9" });
    await predict({ prompt, size: "2K", aspect_ratio: "1:1" }, second);
  };
  expect(await run(prompt, {}, others)).toMatchObject(made);
  expect(await countOf(prompt, "start")).toBe(3);
});

test("the same fields and more may be it or not: nothing is adopted or made", async () => {
  const prompt = `${unique()} ${createdAt(0)} [unreached 1]`;
  const more = { prompt, size: "2K", aspect_ratio: "1:1", max_images: 1 };
  expect(await run(prompt, {}, () => predict(more))).toMatchObject(lost);
});

test("with an inline image: found by its bytes, and unclear beside another one", async () => {
  const prompt = `${unique()} ${createdAt(0)} [drop 1]`;
  expect(await run(prompt, { images: [png] })).toMatchObject(made);
  const again = `${unique()} ${createdAt(0)} [drop 1]`;
  const input = { prompt: again, size: "2K", aspect_ratio: "1:1", image_input: ["https://replicate.delivery/a.png"] };
  expect(await run(again, { images: [png] }, () => predict(input))).toMatchObject(lost);
});

test("three images of which one was made before it broke are fewer than wanted", async () => {
  const prompt = `${unique()} ${createdAt(0)} [drop 1]`;
  expect(await run(prompt, { n: 3 })).toMatchObject(lost);
  expect(await countOf(prompt, "start")).toBe(1);
});

test("three images of which the third was lost are two", async () => {
  const prompt = unique();
  const word = `${prompt} [unavailable 1]`;
  const { data } = await run(word, { n: 3 });
  expect(data.status).toBe("completed");
});

test("found behind the first page, whose link leads astray", async () => {
  const prompt = `${unique()} ${createdAt(0)} [drop 1]`;
  const others = () => Promise.all(Array.from({ length: 25 }, () => predict({ prompt: `${unique()} ${createdAt(0)}` })));
  expect(await run(prompt, {}, others)).toMatchObject(made);
  expect(await countOf(prompt, "start")).toBe(1);
});

test.each(["[list-broken 1]", "[list-limit 1]"])("%s: asked again until the list answers", async (order) => {
  const prompt = `${unique()} ${createdAt(0)} [drop 1] ${order}`;
  expect(await run(prompt)).toMatchObject(made);
  expect(await countOf(prompt, "start")).toBe(1);
});

test("a start that was refused is not looked for: a twin's prediction is left to the twin", async () => {
  const prompt = `${unique()} ${createdAt(0)} [limit 1]`;
  const twin = () => predict({ prompt, size: "2K", aspect_ratio: "1:1" });
  expect(await run(prompt, {}, twin)).toMatchObject(made);
  expect(await countOf(prompt, "start")).toBe(3);
});

test("a list that does not answer at all: nothing is made twice, also not elsewhere", async () => {
  const prompt = `${unique()} ${createdAt(0)} [drop 1] [list-broken]`;
  expect(await run(prompt, {}, () => undefined, to(id, second))).toMatchObject(lost);
  expect(await countOf(prompt, "start")).toBe(1);
});

test("a wrong token while it is looked up: nothing is made twice", async () => {
  const prompt = `${unique()} ${createdAt(0)} [drop 1]`;
  const { account, body } = await submitTo(to(id, second), images, { model: "imgA-4", prompt });
  await deliver(body.id);
  await pass(body.id, 2);
  await deliver(body.id, "gateway-dispatch", { REPLICATE_API_TOKEN: "a-wrong-token" });
  const { data } = (await call(`/v1/tasks/${body.id}`, { key: account.key })).body;
  expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(await countOf(prompt, "start")).toBe(1);
});
