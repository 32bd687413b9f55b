/** `/admin/models`: the operator's own models, and changes of built-in ones. */

import "../support/alone.ts";
import { env } from "cloudflare:workers";
import { beforeEach, expect, test, vi } from "vitest";
import { Objects } from "../../src/rpc/objects.ts";
import { begin, readResults, run } from "../support/batches.ts";
import { bindings } from "../support/faults.ts";
import { asAdmin, call, complete, finish, holdTime, newAccount, readBalance, settledBalance, submit, unique } from "../support/gateway.ts";
import { deleteModels } from "../support/models.ts";

holdTime();
beforeEach(deleteModels);

const sandbox = (model: string) => [{ provider: "sandbox", model }];
const text = { kind: "text", price: { input: 1_000, output: 2_000 }, routes: sandbox("textA-1") };
const like = {
  kind: "video",
  body: "like:vidC-1-0-pro-fast",
  aliases: ["reef"],
  price: { second: 0.25, "1080p_x": 3 },
  typical_seconds: 7,
  deadline_seconds: 90,
  routes: sandbox("vidC-1-0-pro-fast"),
};
const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const chats = "/v1/chat/completions";
const put = (id: string, body: object, query = "") => asAdmin(`/models/${id}${query}`, { method: "PUT", body });
const chat = (model: string) => ({ model, messages: [{ role: "user", content: "hi" }] });
const params = (answer: { body: { error: { details: { param: string }[] } } }) => answer.body.error.details.map(({ param }) => param);

test("a text model is sold a moment after it was added: listed, answered and charged by its own price", async () => {
  const account = await newAccount();
  expect((await call(chats, { key: account.key, body: chat("gpt-6.1-sol") })).body.error).toMatchObject({
    code: "model_not_found",
    param: "model",
  });
  const added = await put("gpt-6.1-sol", text);
  expect(added).toMatchObject({
    status: 201,
    body: {
      object: "model_entry",
      id: "gpt-6.1-sol",
      revision: 1,
      entry: { id: "gpt-6.1-sol", ...text },
      model: { kind: "text", built_in: false, state: "live" },
    },
  });
  const entry = (await call("/v1/models/gpt-6.1-sol", { key: account.key })).body;
  expect(entry).toMatchObject({ id: "gpt-6.1-sol", kind: "chat", price: { input_million_tokens: 1_000, output_million_tokens: 2_000 } });
  expect(entry.parameters.properties.model.enum).toEqual(["gpt-6.1-sol"]);
  const answer = await call(chats, { key: account.key, body: chat("gpt-6.1-sol") });
  expect(answer).toMatchObject({ status: 200, body: { model: "gpt-6.1-sol", usage: { prompt_tokens: 10, completion_tokens: 2 } } });
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0.014 });
  const [row] = (await call("/v1/usage?group_by=model", { key: account.key })).body.data;
  expect(row).toMatchObject({ model: "gpt-6.1-sol", charged: 0.014 });
});

test("a text model may sell input tokens that its maker had cached for less", async () => {
  const account = await newAccount();
  const price = { ...text.price, cached_input: 100 };
  expect((await put("gpt-6.1-sol", { ...text, price })).status).toBe(201);
  const entry = (await call("/v1/models/gpt-6.1-sol", { key: account.key })).body;
  expect(entry.price).toEqual({ input_million_tokens: 1_000, cached_input_million_tokens: 100, output_million_tokens: 2_000 });
});

test("a model like a built-in one has its body, limits and roles, and its own names, price and times", async () => {
  const account = await newAccount();
  await put("reef-video", like);
  const entry = (await call("/v1/models/reef", { key: account.key })).body;
  const original = (await call("/v1/models/vidC-1-0-pro-fast", { key: account.key })).body;
  expect(entry).toMatchObject({ id: "reef-video", kind: "video", aliases: ["reef"], price: { second: 0.25, second_1080p: 0.75 } });
  expect({ ...entry.parameters.properties, model: 0 }).toEqual({ ...original.parameters.properties, model: 0 });
  const body = { model: "reef", prompt: unique(), duration: 4, metadata: { resolution: "1080p" } };
  const image = "data:image/png;base64,iVBORw0KGgo=";
  const refused = await call(videos, { key: account.key, body: { ...body, duration: 13, images: [image, image] } });
  expect(refused).toMatchObject({ status: 400, body: { error: { code: "invalid_request" } } });
  expect(params(refused)).toEqual(expect.arrayContaining(["duration", "images"]));
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  const id = await submit(account, videos, body);
  const { data } = (await finish(account, id)).body;
  expect(data).toMatchObject({ status: "completed", model: "reef-video", metadata: { duration: 4, reserved: 3 }, cost: { charged: 3 } });
  const listed = await call("/v1/tasks?model=reef&kind=video", { key: account.key });
  expect(listed.body.data.map((task: { id: string }) => task.id)).toEqual([id]);
  const { receipt } = (await call(`/v1/tasks/${id}/receipt`, { key: account.key })).body;
  expect(receipt).toMatchObject({ model: "reef-video" });
});

test("an entry of a built-in model changes its price, routes and state; without it the model is as it was", async () => {
  const account = await newAccount();
  const before = (await call("/v1/models/imgA-4", { key: account.key })).body;
  expect(await put("imgA-4", { price: { image: 0.5 } })).toMatchObject({ status: 201 });
  expect((await call("/v1/models/imgA-4", { key: account.key })).body).toEqual({ ...before, price: { image: 0.5, image_hd: 1 } });
  expect((await put("imgA-4", { state: "hidden" }, "?revision=1")).body).toMatchObject({
    revision: 2,
    model: { state: "hidden", price: { image: 0.03 } },
  });
  expect((await call("/v1/models/imgA-4", { key: account.key })).status).toBe(404);
  const hidden = await call(images, { key: account.key, body: { model: "imgA-4", prompt: unique() } });
  expect(hidden).toMatchObject({ status: 400, body: { error: { code: "model_not_available", param: "model" } } });
  const blind = await asAdmin("/models/imgA-4", { method: "DELETE" });
  expect(blind).toMatchObject({ status: 409, body: { error: { details: [{ param: "revision" }, { param: "state" }] } } });
  expect((await asAdmin("/models/imgA-4?revision=2", { method: "DELETE" })).status).toBe(204);
  expect((await call("/v1/models/imgA-4", { key: account.key })).body).toEqual(before);
  expect((await asAdmin("/models/imgA-4", { method: "DELETE" })).body.error).toMatchObject({ code: "model_not_found" });
});

test("an accepted task keeps its price and routes, and tasks of a removed model are still found", async () => {
  const account = await newAccount();
  await put("reef-video", like);
  const id = await submit(account, videos, { model: "reef-video", prompt: unique(), duration: 4 });
  await put("reef-video", { ...like, price: { second: 9 }, routes: sandbox("vidD-02") }, "?revision=1");
  expect((await asAdmin("/models/reef-video?revision=2", { method: "DELETE" })).status).toBe(204);
  expect((await call(videos, { key: account.key, body: { model: "reef-video", prompt: unique() } })).body.error).toMatchObject({
    code: "model_not_found",
  });
  expect((await finish(account, id)).body.data).toMatchObject({ status: "completed", model: "reef-video", cost: { charged: 1 } });
  for (const query of ["?kind=video", "?model=reef-video"])
    expect((await call(`/v1/tasks${query}`, { key: account.key })).body.data.map((task: { id: string }) => task.id)).toEqual([id]);
});

test.each([
  ["new", { ...text, price: { input: null, output: true } }, ["price.input", "price.output"]],
  ["new", { ...text, routes: [{ ...text.routes[0], cost: { input: [1] } }] }, ["routes[0].cost.input"]],
  ["new", { ...like, price: { second: null } }, ["price.second"]],
  ["new", { ...text, kind: "file", body: { type: "object" }, price: { task: null } }, ["price.task"]],
])("an amount that is no number is refused as the number that it must be: %s %j", async (id, entry, params) => {
  const { status, body } = await put(id, entry);
  const message = "must be a number from 0 to 1000000 with at most six decimals";
  expect([status, body.error.details]).toMatchObject([400, params.map((param) => ({ param, message }))]);
});

test.each<[name: string, id: string, entry: object, violations: string[]]>([
  ["an empty entry", "new", {}, ["kind", "price", "routes"]],
  ["a video without a body", "new", { ...like, body: undefined, aliases: [] }, ["body"]],
  ["a body of another kind", "new", { ...like, body: "like:imgA-4" }, ["body"]],
  ["a body of a model that does not exist", "new", { ...like, body: "like:vidZ" }, ["body"]],
  ["a text model with a body", "new", { ...text, body: "like:textA-1" }, ["body"]],
  ["a price that is missing", "new", { ...text, price: { input: 1 } }, ["price.output"]],
  ["prices that cannot be charged", "new", { ...text, price: { input: -1, output: 0.000_000_1 } }, ["price.input", "price.output"]],
  ["cached tokens that cost more than others", "new", { ...text, price: { ...text.price, cached_input: 1_001 } }, ["price.cached_input"]],
  ["dearer cached tokens of a built-in model", "textA-1", { price: { cached_input: 3 } }, ["price.cached_input"]],
  ["cached tokens of a video", "new", { ...like, price: { ...like.price, cached_input: 1 } }, ["price.cached_input"]],
  ["a price that the body does not have", "new", { ...text, price: { ...text.price, second: 1 } }, ["price.second"]],
  ["a factor that is no whole number", "new", { ...like, price: { second: 1, "1080p_x": 1.5 } }, ["price.1080p_x"]],
  [
    "a provider that does not exist",
    "new",
    { ...text, routes: [...text.routes, { provider: "nobody", model: "x" }] },
    ["routes[1].provider"],
  ],
  ["no routes", "new", { ...text, routes: [] }, ["routes"]],
  ["a misspelt field", "new", { ...text, rutes: [], routes: [{ ...text.routes[0], modell: "x" }] }, ["rutes", "routes[0].modell"]],
  ["a wrong type", "new", { ...text, typical_seconds: "7" }, ["typical_seconds"]],
  ["a deadline above the longest", "new", { ...like, deadline_seconds: 601 }, ["deadline_seconds"]],
  ["a usual time after the deadline", "new", { ...like, typical_seconds: 61, deadline_seconds: 60 }, ["typical_seconds"]],
  ["a usual time after an image's own deadline", "imgA-4", { typical_seconds: 121 }, ["typical_seconds"]],
  [
    "a setting that the provider does not have",
    "new",
    { ...text, routes: [{ ...text.routes[0], settings: { base_url: "https://llm.example/v1" } }] },
    ["routes[0].settings.base_url"],
  ],
  ["an id of another model", "new", { ...text, id: "other" }, ["id"]],
  ["a name of a built-in model", "imgC-alias-pro", text, ["id"]],
  [
    "an alias that is a name already",
    "new",
    { ...like, aliases: ["imgA-4", "fine", "fine", "a b"] },
    ["aliases[0]", "aliases[2]", "aliases[3]"],
  ],
  ["what is fixed for a built-in model", "imgA-4", { kind: "video", body: "like:imgA-4", aliases: [] }, ["kind", "body", "aliases"]],
  ["a price that a built-in model does not have", "imgA-4", { price: { second: 1 } }, ["price.second"]],
])("%s is refused with the path of each wrong field, and nothing changes", async (_, id, entry, violations) => {
  for (const query of ["", "?dry_run=true"]) {
    const answer = await put(id, entry, query);
    expect(answer).toMatchObject({ status: 400, body: { error: { type: "invalid_request", code: "invalid_request" } } });
    expect(params(answer)).toEqual(violations);
  }
  expect((await env.DB.prepare("SELECT count(*) AS n FROM model").first<{ n: number }>())!.n).toBe(0);
});

test("a refused change leaves the model as it is sold, and other models too", async () => {
  const account = await newAccount();
  await put("reef-video", like);
  expect((await put("reef-video", { ...like, price: {} }, "?revision=1")).status).toBe(400);
  expect((await call("/v1/models/reef", { key: account.key })).body.price).toEqual({ second: 0.25, second_1080p: 0.75 });
  expect((await put("coral", { ...like, aliases: ["reef"] })).body.error.details).toEqual([
    { param: "aliases[0]", message: "is already a name of the model reef-video" },
  ]);
});

test("a dry run says what an entry would do, and stores nothing", async () => {
  const answer = await put("reef-video", like, "?dry_run=true");
  expect(answer).toMatchObject({
    status: 200,
    body: { dry_run: true, revision: 0, entry: like, model: { id: "reef-video", price: { second: 0.25 } }, revisions: [] },
  });
  expect((await asAdmin("/models/reef-video")).body.error).toMatchObject({ code: "model_not_found" });
});

test("if two operators change a model at once, the second gets 409 with the first one's changes, which stay", async () => {
  await put("reef-video", like);
  expect((await put("reef-video", { ...like, price: { second: 0.3 } }, "?revision=1")).body.revision).toBe(2);
  for (const query of ["?revision=1", ""]) {
    const second = await put("reef-video", { ...like, typical_seconds: 9 }, query);
    expect(second).toMatchObject({ status: 409, body: { error: { code: "conflict", param: "revision" } } });
    expect(second.body.error.details[0]).toEqual({
      param: "revision",
      message: "was changed meanwhile: the newest revision is 2",
      allowed: [2],
    });
    expect(second.body.error.details).toContainEqual(expect.objectContaining({ param: "price", allowed: { second: 0.3 } }));
  }
  const same = await put("reef-video", { ...like, price: { second: 0.3 } });
  expect([same.status, same.body.revision]).toEqual([200, 2]);
  const both = await Promise.all([0.4, 0.5].map((second) => put("reef-video", { ...like, price: { second } }, "?revision=2")));
  expect(both.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 409]);
  const names = await Promise.all(["one", "two"].map((id) => put(id, { ...text, aliases: ["shared"] })));
  expect(names.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 400]);
});

test("an earlier revision comes back by a rollback, also after a removal, and is checked again", async () => {
  await put("reef-video", like);
  await put("reef-video", { ...like, price: { second: 7 }, aliases: [] }, "?revision=1");
  const back = (revision: number, query = "") => asAdmin(`/models/reef-video/rollback${query}`, { body: { revision } });
  expect((await back(1)).status).toBe(409);
  expect((await back(1, "?revision=2")).body).toMatchObject({ revision: 3, model: { price: { second: 0.25 } } });
  await asAdmin("/models/reef-video?revision=3", { method: "DELETE" });
  const shown = (await asAdmin("/models/reef-video")).body;
  expect(shown).toMatchObject({ revision: 4, entry: null, model: null });
  expect(shown.revisions.map(({ revision, removed }: { revision: number; removed: boolean }) => [revision, removed])).toEqual([
    [4, true],
    [3, false],
    [2, false],
    [1, false],
  ]);
  await put("coral", { ...like, aliases: ["reef"] });
  expect(params(await back(1))).toEqual(["aliases[0]"]);
  expect((await back(2)).body).toMatchObject({ revision: 6, model: { price: { second: 7 } } });
  expect((await back(9)).body.error).toMatchObject({ code: "invalid_request", param: "revision" });
  expect((await back(1, "?revision=1")).status).toBe(409);
  expect((await asAdmin("/models/none/rollback", { body: { revision: 1 } })).body.error.code).toBe("model_not_found");
});

test("a change is live on other machines once their cached keys are looked up again, within ten seconds", async () => {
  const account = await newAccount();
  const elsewhere = { DB: Object.create(env.DB) as D1Database };
  const price = async () => (await call("/v1/models/imgA-4", { key: account.key, vars: elsewhere })).body.price.image as number;
  expect(await price()).toBe(0.03);
  await put("imgA-4", { price: { image: 0.5 } });
  vi.setSystemTime(Date.now() + 9_000);
  expect(await price()).toBe(0.5);
  const spy = vi.spyOn(bindings.database(), "prepare");
  const sessions = vi.spyOn(bindings.database(), "withSession");
  expect(await price()).toBe(0.5);
  expect([spy.mock.calls.length, sessions.mock.calls.length]).toEqual([0, 0]);
});

test("if the catalogue cannot be read, the one that the machine has stays in use", async () => {
  const account = await newAccount();
  await put("imgA-4", { price: { image: 0.5 } });
  await env.DB.prepare("INSERT INTO model (revision, id, entry, at) VALUES (9, 'imgA-4', '{\"price\":{\"image\":0.7}}', 1)").run();
  vi.setSystemTime(Date.now() + 9_000);
  const prepare = bindings.database()["prepare"]!;
  vi.spyOn(bindings.database(), "prepare").mockImplementation(function (this: unknown, ...values: unknown[]) {
    if (String(values[0]).includes("GROUP BY id")) throw new Error("scripted fault");
    return prepare.apply(this, values);
  });
  expect((await call("/v1/models/imgA-4", { key: account.key })).body.price.image).toBe(0.5);
  vi.restoreAllMocks();
  expect((await call("/v1/models/imgA-4", { key: account.key })).body.price.image).toBe(0.7);
});

test("a stored entry that cannot be read takes no other model away", async () => {
  const { key } = await newAccount();
  await put("reef-video", like);
  await env.DB.prepare("INSERT INTO model (revision, id, entry, at) VALUES (9, 'broken', '{', 1)").run();
  vi.setSystemTime(Date.now() + 9_000);
  expect((await call("/v1/models", { key })).body.data.map(({ id }: { id: string }) => id)).toContain("reef-video");
});

test("what a release refuses of a stored entry is named, logged once, and stays in use with its names", async () => {
  const { key } = await newAccount();
  // Saved before these were names of built-in models, and before the field was taken away.
  const rows: [id: string, entry: object][] = [
    ["house", { ...text, aliases: ["kling-v3"] }],
    ["wan-3.0", { ...like, aliases: [] }],
    ["older", { ...text, rutes: [] }],
    ["good", text],
  ];
  for (const [at, [id, entry]] of rows.entries())
    await env.DB.prepare("INSERT INTO model (revision, id, entry, at) VALUES (?1, ?2, ?3, 1)")
      .bind(at + 1, id, JSON.stringify(entry))
      .run();
  vi.setSystemTime(Date.now() + 9_000);
  const listed = (await asAdmin("/models")).body.data as { id: string; refused?: { param: string; message: string }[] }[];
  expect(Object.fromEntries(listed.flatMap(({ id, refused }) => (refused ? [[id, refused.map(({ param }) => param)]] : [])))).toEqual({
    house: ["aliases[0]"],
    "wan-3.0": ["kind", "body", "aliases", "price.1080p_x"],
    older: ["rutes"],
  });
  expect(listed.find(({ id }) => id === "house")!.refused).toEqual([
    { param: "aliases[0]", message: "is already a name of the model kling-v3" },
  ]);
  expect((await call("/v1/models/kling-v3", { key })).body).toMatchObject({ id: "house" });
  // Its body is the operator's, not that of the built-in model.
  expect((await call("/v1/models/wan-3.0", { key })).body).toMatchObject({ price: { second: 0.25, second_1080p: 0.75 } });
  const lines: string[] = [];
  vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
  const objects = new Objects(env);
  const found = { house: ["aliases[0]"], "wan-3.0": ["kind", "body", "aliases", "price.1080p_x"], older: ["rutes"] };
  expect([await objects.refusedModels(), await objects.refusedModels()]).toEqual([found, found]);
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject(
    Object.entries(found).map(([model, fields]) => ({ unit: "catalog", outcome: "entry_refused", model, fields: fields.join(", ") })),
  );
  // An entry that is mended is not refused any more.
  await put("house", text, "?revision=1");
  expect(Object.keys(await objects.refusedModels())).toEqual(["wan-3.0", "older"]);
});

test("keys and client tokens can be limited to an operator's model", async () => {
  const account = await newAccount();
  await put("reef-video", like);
  const narrow = await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "narrow", quota: null, models: ["reef"] } });
  expect(narrow.body.models).toEqual(["reef-video"]);
  await complete({ ...account, key: narrow.body.key }, videos, { model: "reef-video", prompt: unique() });
  expect((await call(images, { key: narrow.body.key, body: { model: "imgA-4", prompt: unique() } })).status).toBe(403);
  const token = await call("/v1/tokens", { key: account.key, body: { tasks: 1, max_cost: 3, expires_in: 60, models: ["reef"] } });
  expect(token.status).toBe(201);
});

test("all models with prices and routes are listed; only for the operator", async () => {
  await put("reef-video", { ...like, routes: [{ provider: "fal", model: "bytedance/seedance-2.0/fast" }, ...like.routes] });
  const { data } = (await asAdmin("/models")).body;
  expect(data).toHaveLength(17);
  expect(data.at(-1)).toMatchObject({
    id: "reef-video",
    built_in: false,
    like: "vidC-1-0-pro-fast",
    routes: [
      { provider: "fal", on: false },
      { provider: "sandbox", on: true },
    ],
  });
  expect(data[2]).toMatchObject({ id: "imgA-4", built_in: true, price: { image: 0.03, image_hd: 0.06 } });
  const { key } = await newAccount();
  for (const method of ["GET", "PUT", "DELETE"]) expect((await call("/admin/models/imgA-4", { method, key })).status).toBe(401);
});

/** An image with its own input; `change` replaces parts of the schema. */
const own = (change: object = {}, more: object = {}) => ({
  kind: "image",
  body: {
    type: "object",
    properties: {
      prompt: { type: "string" },
      n: { type: "integer", minimum: 1, maximum: 4, default: 1 },
      size: { type: "string", enum: ["small", "large"], default: "small" },
      seed: { type: "integer" },
      note: { type: "string" },
      ...change,
    },
  },
  price: { image: 0.02, count: "n", factors: { size: { small: 1, large: 2.5 } } },
  routes: [{ provider: "fal", model: "fal-ai/anything" }],
  ...more,
});

test("a refusal says what is allowed in words of JSON", async () => {
  const message = async (body: object) => (await put("painter", body)).body.error.message as string;
  expect(await message(own({}, { price: 5 }))).toBe("price: must be of type object");
  expect(await message({ ...text, price: { input: 1, output: 2, cached_input: 1.5 } })).toBe(
    "price.cached_input: must be a number from 0 to 1 with at most six decimals",
  );
  expect(await message(own({}, { price: { task: 1, factors: { size: { large: 2 } } } }))).toBe(
    "price.factors.size: has no price for these values: small",
  );
});

test("built-in models without a price are hidden from callers until the operator prices them and makes them public", async () => {
  const account = await newAccount();
  const all = (await asAdmin("/models")).body.data as { id: string; state: string; built_in: boolean; price: object; routes: object[] }[];
  const hidden = all.filter(({ built_in: isBuiltIn, state }) => isBuiltIn && state === "hidden");
  expect(hidden.map(({ id }) => id)).toEqual(["kling-v3", "kling-v3-omni", "wan-3.0", "wan-3.0-prime"]);
  for (const { id, price } of hidden) {
    expect(price).toEqual({});
    expect((await call(`/v1/models/${id}`, { key: account.key })).status).toBe(404);
    for (const path of [videos, "/v1/estimates"])
      expect(await call(path, { key: account.key, body: { model: id, prompt: "sea" } })).toMatchObject({
        status: 400,
        body: { error: { code: "model_not_available" } },
      });
    const filtered = await call(`/v1/tasks?model=${id}`, { key: account.key });
    expect(filtered).toMatchObject({ status: 400, body: { error: { param: "model" } } });
    expect(JSON.stringify(filtered.body)).not.toContain(`${id}"`);
  }
  expect(params(await put("kling-v3", { state: "live", price: { second: 0.25 } }))).toEqual(["price.character"]);
  expect(params(await put("kling-v3", { body: "like:vidA-2" }))).toEqual(["body"]);
  expect(params(await put("other", { ...like, aliases: [], body: "like:kling-v3" }))).toEqual(["body"]);
  const priced = { state: "live", price: { second: 0.25, character: 0 }, routes: sandbox("vidA-2") };
  expect(await put("kling-v3", priced)).toMatchObject({
    status: 201,
    body: { model: { built_in: true, state: "live", like: "vidA-2", price: { second: 0.25 } } },
  });
  expect((await call("/v1/models/kling-v3", { key: account.key })).body).toMatchObject({ kind: "video", price: { second: 0.25 } });
  await complete(account, videos, { model: "kling-v3", prompt: unique(), duration: 10 });
  expect((await readBalance(account)).used).toBe(2.5);
});

test("a model with its own input is stored, shown and removed as others are", async () => {
  expect((await put("painter", own())).body).toMatchObject({ revision: 1, model: { kind: "image", price: own().price } });
  expect((await put("painter", own({}, { state: "hidden" }), "?revision=1")).body.model).toMatchObject({ state: "hidden" });
  expect((await asAdmin("/models/painter/rollback?revision=2", { body: { revision: 1 } })).body.model).toMatchObject({ state: "live" });
  expect((await asAdmin("/models/painter?revision=3", { method: "DELETE" })).status).toBe(204);
});

test("each line of a batch of wrong inputs for a model with hundreds of fields has its error in the results", async () => {
  const account = await newAccount();
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`a_rather_long_field_${at}`, { type: "string" }]));
  expect((await put("painter", own(many))).status).toBe(201);
  const requests = Array.from({ length: 100 }, (_, at) => ({
    custom_id: String(at),
    endpoint: images,
    body: { model: "painter", prompt: "x", input: { none: at } },
  }));
  const id = await begin(account, { requests });
  expect(await run(account, id)).toMatchObject({ status: "completed", counts: { failed: 100 } });
  const results = await readResults(account, id);
  expect(results.map(({ custom_id: own, error }) => [own, error?.param])).toEqual(
    requests.map(({ custom_id }) => [custom_id, "input.none"]),
  );
});

const deep = (levels: number): object => (levels === 0 ? { type: "string" } : { type: "array", items: deep(levels - 1) });

test.each([
  ["a reference outside", own({ x: { $ref: "https://example.com/schema.json" } }), ["body.properties.x.$ref"]],
  ["a reference to nothing", own({ x: { $ref: "#/$defs/none" } }), ["body.properties.x.$ref"]],
  ["a reference to itself", own({ x: { type: "array", items: { $ref: "#/properties/x" } } }), ["body.properties.x.items.items.$ref"]],
  ["a pattern that takes exponential time", own({ x: { type: "string", pattern: "^(a+)+$" } }), ["body.properties.x.pattern"]],
  ["a pattern that is none", own({ x: { type: "string", pattern: "(" } }), ["body.properties.x.pattern"]],
  [
    "a keyword that is not checked",
    own({ x: { type: "object", unevaluatedProperties: false } }),
    ["body.properties.x.unevaluatedProperties"],
  ],
  ["a type that is none", own({ x: { type: "text" } }), ["body.properties.x.type"]],
  ["a limit that is none", own({ x: { type: "integer", minimum: "1" } }), ["body.properties.x.minimum"]],
  ["an alternative that is no schema", own({ x: { anyOf: ["string"] } }), ["body.properties.x.anyOf[0]"]],
  ["a schema that is too deep", own({ x: deep(40) }), [`body.properties.x${".items".repeat(32)}`]],
  ["a schema that is too long", own({ x: { type: "string", description: "x".repeat(70_000) } }), ["body"]],
  ["no object", { ...own(), body: { type: "string" } }, ["body"]],
  ["no amount", own({}, { price: { count: "n" } }), ["price", "price.count"]],
  ["two amounts", own({}, { price: { image: 1, task: 1 } }), ["price"]],
  ["an amount with too many decimals", own({}, { price: { task: 0.00000015 } }), ["price.task"]],
  ["an unknown field of the price", own({}, { price: { task: 1, per: 2 } }), ["price.per"]],
  ["seconds without their field", own({}, { price: { second: 1 } }), ["price.seconds"]],
  ["a field that the schema lacks", own({}, { price: { image: 1, count: "number" } }), ["price.count"]],
  ["a field that may be missing and has no default", own({}, { price: { image: 1, count: "seed" } }), ["price.count"]],
  ["words that are no number", own({}, { price: { second: 1, seconds: "size" } }), ["price.seconds"]],
  ["a value without a factor", own({}, { price: { task: 1, factors: { size: { small: 1 } } } }), ["price.factors.size"]],
  [
    "a factor of any text",
    own({ note: { type: "string", default: "" } }, { price: { task: 1, factors: { note: { "": 1 } } } }),
    ["price.factors.note"],
  ],
  [
    "a factor of a value that the schema does not list",
    own({}, { price: { task: 1, factors: { size: { Large: 2, "*": 1 } } } }),
    ["price.factors.size.Large"],
  ],
  ["a negative factor", own({}, { price: { task: 1, factors: { size: { small: -1, large: 1 } } } }), ["price.factors.size.small"]],
  ["a provider that takes no own input", own({}, { routes: sandbox("imgA-4") }), ["routes[0].provider"]],
  ["a text model with a schema", own({}, { kind: "text" }), ["body"]],
])("own input: %s is refused with its path, and nothing is stored", async (_, body, expected) => {
  const refused = await put("painter", body);
  expect(refused.status, JSON.stringify(refused.body)).toBe(400);
  expect(params(refused as never).toSorted()).toEqual(expected);
  expect((await asAdmin("/models/painter")).status).toBe(404);
});
