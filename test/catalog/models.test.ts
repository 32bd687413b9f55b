/** `/v1/models`: the models that can be requested. Contract 2 and 8. */

import "../support/alone.ts";
import { createExecutionContext } from "cloudflare:test";
import { expect, test } from "vitest";
import worker from "../../src/worker.ts";
import known from "./fixtures/models.json";
import { conform } from "../support/conform.ts";
import { type Account, readBalance, call, newAccount, unique } from "../support/gateway.ts";
import { toEnv, type Vars } from "../support/models.ts";

interface Schema {
  type?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minimum?: number;
  maximum?: number;
  default?: unknown;
}

interface Entry {
  id: string;
  kind: string;
  aliases: string[];
  parameters: Schema;
  price: Record<string, number>;
}

const readModels = async (account: Account): Promise<Entry[]> => (await call("/v1/models", { key: account.key })).body.data;

/** Sends a request to a gateway with other variables. */
async function askWith(changes: Vars, account: Account, path: string, body?: object) {
  const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
  const init = { method: body ? "POST" : "GET", headers, ...(body && { body: JSON.stringify(body) }) };
  const request = new Request(`https://gateway.example${path}`, init);
  const response = await worker.fetch(request, toEnv(changes), createExecutionContext());
  const text = await response.text();
  conform(init.method, request.url, { status: response.status, headers: response.headers, body: text });
  return { status: response.status, body: JSON.parse(text) };
}

const notAvailable = {
  status: 400,
  body: { error: { message: expect.any(String), type: "invalid_request", code: "model_not_available", param: "model" } },
};

/** Checks that every keyword is one that JSON Schema defines, with a valid value. */
function expectSchema(schema: Schema): void {
  if (schema.type !== undefined) expect(["object", "array", "string", "number", "integer", "boolean", "null"]).toContain(schema.type);
  if (schema.enum) expect(schema.enum.length).toBeGreaterThan(0);
  if (schema.required) expect(Object.keys(schema.properties ?? {})).toEqual(expect.arrayContaining(schema.required));
  if (schema.items) expectSchema(schema.items);
  for (const property of Object.values(schema.properties ?? {})) expectSchema(property);
}

test("the list has OpenAI's format and contains every public model once", async () => {
  const account = await newAccount();
  const { status, body } = await call("/v1/models", { key: account.key });
  expect(status).toBe(200);
  expect(Object.keys(body).sort()).toEqual(["data", "object"]);
  expect(body.object).toBe("list");
  for (const entry of body.data)
    expect(entry).toMatchObject({ id: expect.any(String), object: "model", created: expect.any(Number), owned_by: expect.any(String) });
  expect(body.data.map(({ id }: Entry) => id).sort()).toEqual([
    "imgA-4",
    "imgB-4o-image",
    "imgC-3-pro-image-preview",
    "textA-1",
    "textA-1-mini",
    "vidA-2",
    "vidA-2-pro",
    "vidB-3.1-fast",
    "vidB-3.1-quality",
    "vidC-1-0-pro-fast",
    "vidC-1-0-pro-quality",
    "vidD-02",
  ]);
});

test("each entry has its kind, aliases and price", async () => {
  for (const { id, kind, aliases, price } of await readModels(await newAccount())) {
    expect(kind).toBe(id.startsWith("text") ? "chat" : id.startsWith("img") ? "image" : "video");
    expect(aliases).toEqual(id === "imgC-3-pro-image-preview" ? ["imgC-alias-pro"] : []);
    expect(Object.keys(price).length).toBeGreaterThan(0);
    for (const amount of Object.values(price)) expect(amount).toBeGreaterThan(0);
  }
});

test("the parameters of each entry are a JSON Schema with the model in it", async () => {
  for (const { id, aliases, parameters } of await readModels(await newAccount())) {
    expect(parameters).toMatchObject({ type: "object", $schema: expect.stringContaining("json-schema.org") });
    expect(parameters.properties!["model"]).toEqual({ type: "string", enum: [id, ...aliases] });
    expect(parameters.required).toContain("model");
    expect(parameters.required).toContain(id.startsWith("text") ? "messages" : "prompt");
    expectSchema(parameters);
  }
});

test("the schemas match the interface", async () => {
  const entries = new Map((await readModels(await newAccount())).map((entry) => [entry.id, entry.parameters.properties!]));
  const of = (id: string) => entries.get(id)!;
  expect(of("imgA-4")["n"]).toMatchObject({ type: "integer", minimum: 1, maximum: 4, default: 1 });
  expect(of("imgA-4")["size"]!.enum).toEqual(expect.arrayContaining(["1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3"]));
  expect(of("imgA-4")["quality"]).toMatchObject({ enum: ["standard", "hd"], default: "standard" });
  expect(of("vidC-1-0-pro-fast")["duration"]).toMatchObject({ type: "integer", minimum: 2, maximum: 12, default: 5 });
  expect(of("vidC-1-0-pro-fast")["metadata"]!.properties!["resolution"]).toMatchObject({
    enum: ["480p", "720p", "1080p"],
    default: "720p",
  });
  expect(of("vidD-02")["metadata"]!.properties!["resolution"]).toMatchObject({ enum: ["512p", "768p", "1080p"], default: "768p" });
  expect(of("vidA-2")["metadata"]!.properties!["style"]!.enum).toHaveLength(6);
  expect(JSON.stringify(of("vidA-2")["duration"])).toMatch(/10.*15/);
});

test("the price in the list is the price that is reserved", async () => {
  const account = await newAccount();
  const prices = new Map((await readModels(account)).map(({ id, price }) => [id, price]));
  const reservedFor = async (path: string, body: object) =>
    (await call(path, { key: account.key, body: { prompt: unique(), ...body } })).body.metadata.reserved as number;
  expect(await reservedFor("/v1/images/generations", { model: "imgA-4", n: 2 })).toBe(2 * prices.get("imgA-4")!["image"]!);
  expect(await reservedFor("/v1/images/generations", { model: "imgB-4o-image", quality: "hd" })).toBe(
    prices.get("imgB-4o-image")!["image_hd"],
  );
  expect(await reservedFor("/v1/videos/generations", { model: "vidD-02", duration: 10 })).toBe(10 * prices.get("vidD-02")!["second"]!);
});

test("a model without a usable route is not listed and is refused, and nothing is reserved", async () => {
  const account = await newAccount();
  const off = [{ provider: "elsewhere", model: "x" }];
  const changes = { ROUTES: { "imgA-4": off, "textA-1": off, "vidA-2": off } };
  const { body } = await askWith(changes, account, "/v1/models");
  const ids = (await readModels(account)).map(({ id }) => id);
  expect(body.data.map(({ id }: Entry) => id)).toEqual(ids.filter((id) => !["imgA-4", "textA-1", "vidA-2"].includes(id)));
  const prompt = unique();
  const submissions: [string, object][] = [
    ["/v1/images/generations", { model: "imgA-4", prompt }],
    ["/v1/videos/generations", { model: "vidA-2", prompt }],
    ["/v1/chat/completions", { model: "textA-1", messages: [{ role: "user", content: prompt }] }],
  ];
  for (const [path, submission] of submissions) expect(await askWith(changes, account, path, submission)).toMatchObject(notAvailable);
  expect((await askWith(changes, account, "/v1/images/generations", { model: "imgB-4o-image", prompt })).status).toBe(200);
  expect(await readBalance(account)).toMatchObject({ reserved: 0.04, used: 0 });
});

test("a gateway without providers lists no models and refuses them all", async () => {
  const account = await newAccount();
  const changes = { SANDBOX: undefined } as unknown as Vars;
  expect((await askWith(changes, account, "/v1/models")).body).toEqual({ object: "list", data: [] });
  expect(await askWith(changes, account, "/v1/images/generations", { model: "imgA-4", prompt: unique() })).toMatchObject(notAvailable);
});

test("each model of the interface is listed with the parameters and prices that callers know", async () => {
  const models = new Map((await readModels(await newAccount())).map((entry) => [entry.id, entry]));
  for (const entry of known.data) expect(models.get(entry.id)).toEqual(entry);
});

test("the list needs a key", async () => {
  expect(await call("/v1/models")).toMatchObject({ status: 401, body: { error: { type: "unauthorized", code: "unauthorized" } } });
});

test("a single model is returned by its name or an alias, as it is in the list", async () => {
  const account = await newAccount();
  for (const entry of await readModels(account))
    for (const name of [entry.id, ...entry.aliases])
      expect(await call(`/v1/models/${name}`, { key: account.key })).toMatchObject({ status: 200, body: entry });
  const error = { message: expect.any(String), type: "invalid_request", code: "model_not_found", param: null };
  expect(await call("/v1/models/imgZ", { key: account.key })).toMatchObject({ status: 404, body: { error } });
  const changes = { ROUTES: { "imgA-4": [] } };
  expect(await askWith(changes, account, "/v1/models/imgA-4")).toMatchObject({ status: 404, body: { error } });
  expect((await call("/v1/models/imgA-4")).status).toBe(401);
  expect(await call("/v1/models/imgA-4", { key: account.key, method: "PUT" })).toMatchObject({ status: 405 });
});

test("an ETag gives 304 for the list and for an entry, until they change", async () => {
  const account = await newAccount();
  for (const path of ["/v1/models", "/v1/models/imgA-4"]) {
    const etag = (await call(path, { key: account.key })).headers.get("etag")!;
    expect(etag).toMatch(/^W\/"[0-9a-f]{64}"$/);
    const again = await call(path, { key: account.key, headers: { "if-none-match": `"other", ${etag}` } });
    expect(again.status).toBe(304);
    expect(again.headers.get("etag")).toBe(etag);
    expect(again.headers.get("content-type")).toBeNull();
    expect(again.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    expect((await call(path, { key: account.key, headers: { "if-none-match": '"other"' } })).status).toBe(200);
    const vars = { PRICES: { "imgA-4": { image: 1_000_000 } } };
    expect((await call(path, { key: account.key, headers: { "if-none-match": etag }, vars })).status).toBe(200);
  }
});
