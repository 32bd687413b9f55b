/** Models with their own input at the fal queue: from the body to the files, and what they cost. */

import "../../support/alone.ts";
import { env } from "cloudflare:workers";
import { beforeEach, expect, test } from "vitest";
import type { SignOrder } from "../../../src/media/file-binding.ts";
import { base64 } from "../../media/images.ts";
import { named } from "../../media/signed.ts";
import {
  alarmAt,
  call,
  deliver,
  finish,
  holdTime,
  newAccount,
  pass,
  readBalance,
  settledBalance,
  submit,
  unique,
} from "../../support/gateway.ts";
import { deleteModels } from "../../support/models.ts";
import { sent, readCalls } from "../support.ts";
import { kling, mesh, params, put, seedream, speech } from "./support.ts";

holdTime();
beforeEach(deleteModels);

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const tasks = "/v1/tasks";

test("a video: the input is sent as it was written, priced by its words, and the video is there", async () => {
  const account = await newAccount();
  expect(await put("kling-3", kling)).toMatchObject({ status: 201, body: { model: { kind: "video", price: kling.price } } });
  const prompt = unique();
  const id = await submit(account, videos, { model: "kling-latest", prompt, input: { duration: "10", generate_audio: true } });
  const { data } = (await finish(account, id)).body;
  expect(data).toMatchObject({
    status: "completed",
    model: "kling-3",
    metadata: { kind: "video", input: { prompt, duration: "10", generate_audio: true }, reserved: 2 },
    cost: { charged: 2 },
    result: { videos: [{ duration: 2, size: "854x480" }], data: { seed: 42 } },
  });
  const [{ endpoint, input }] = await sent(prompt);
  expect({ endpoint, input }).toEqual({
    endpoint: kling.routes[0]!.model,
    input: { prompt, duration: "10", generate_audio: true },
  });
  expect((await call(data.result.videos[0].url[0])).status).toBe(200);
  const status = await call(`${videos}/${id}`, { key: account.key });
  expect(status.body).toMatchObject({ status: "completed", duration: 2, size: "854x480" });
  const { receipt } = (await call(`/v1/tasks/${id}/receipt`, { key: account.key })).body;
  expect(receipt).toMatchObject({ kind: "video", price: { amounts: { second: 0.1 } }, charged: 2, files: [{ type: "video/mp4" }] });
});

test("the defaults that the price reads are sent, so that the upstream's own cannot differ from the price", async () => {
  const account = await newAccount();
  await put("kling-3", kling);
  const prompt = unique();
  const answer = await call(tasks, { key: account.key, body: { model: "kling-3", input: { prompt } } });
  expect(answer.body.metadata).toMatchObject({ reserved: 0.5, input: { prompt, duration: "5", generate_audio: false } });
  await finish(account, answer.body.id as string);
  expect((await sent(prompt))[0].input).toEqual({ prompt, duration: "5", generate_audio: false });
});

test("images: each one has its price, and only those that were made are charged", async () => {
  const account = await newAccount();
  await put("seedream-own", seedream);
  const prompt = unique();
  const url = "https://images.example/a.png";
  const inline = `data:image/png;base64,${base64.png}`;
  const body = {
    model: "seedream-own",
    prompt,
    input: { num_images: 2, image_size: { width: 1024, height: 1024 }, image_urls: [url, inline] },
  };
  const id = await submit(account, images, body);
  const { data } = (await finish(account, id)).body;
  expect(data).toMatchObject({ status: "completed", cost: { reserved: 0.06, charged: 0.06 } });
  expect(data.result.images).toHaveLength(2);
  expect(data.metadata.input.image_urls).toEqual([url, "inline"]);
  expect((await sent(prompt))[0].input).toEqual({ ...body.input, prompt });
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0.06 });
});

const checked = {
  ...seedream,
  body: { ...seedream.body, properties: { ...seedream.body.properties, enable_safety_checker: { type: "boolean" } } },
};

test("images that fal's safety checker has blackened are neither delivered nor charged", async () => {
  const account = await newAccount();
  await put("seedream-own", checked);
  const make = async (prompt: string, more: object = {}) => {
    const input = { num_images: 2, image_urls: ["https://images.example/a.png"], ...more };
    const id = await submit(account, images, { model: "seedream-own", prompt: `${unique()} ${prompt}`, input });
    return (await finish(account, id)).body.data;
  };
  expect(await make("[flagged]")).toMatchObject({ status: "failed", error: { code: "content_policy_violation" }, cost: { charged: 0 } });
  const some = await make("[half-flagged]");
  expect(some).toMatchObject({ status: "completed", cost: { reserved: 0.06, charged: 0.03 } });
  expect(some.result.images).toHaveLength(1);
  // Without the checker nothing is blackened: the flags only say what is shown.
  const shown = await make("[flagged]", { enable_safety_checker: false });
  expect(shown).toMatchObject({ status: "completed", cost: { charged: 0.06 } });
  expect(shown.result.images).toHaveLength(2);
});

test.each([
  ["[downstream]", "provider_error"],
  ["[no-media]", "provider_error"],
  ["[misfit]", "invalid_input"],
])("%s ends a task with an own input as %s", async (order, code) => {
  const account = await newAccount();
  await put("seedream-own", seedream);
  const input = { image_urls: ["https://images.example/a.png"] };
  const id = await submit(account, images, { model: "seedream-own", prompt: `${unique()} ${order}`, input });
  expect((await finish(account, id)).body.data).toMatchObject({ status: "failed", error: { code }, cost: { charged: 0 } });
});

test("files of the input that the answer repeats are not called made here, neither by their URL nor by their bytes", async () => {
  const account = await newAccount();
  await put("seedream-own", seedream);
  const given = named.png(Uint8Array.fromBase64(base64.png), crypto.randomUUID());
  const input = { image_urls: ["https://images.example/%61.png?of=caller", `data:image/png;base64,${given.toBase64()}`] };
  const id = await submit(account, images, { model: "seedream-own", prompt: `${unique()} [echo] [own bytes]`, input });
  const { data } = (await finish(account, id)).body;
  expect(data).toMatchObject({ status: "completed", result: { images: [{ credentials: "none" }] } });
  expect(data.result.files).toBeUndefined();
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", given)).toHex();
  expect((await call(`/v1/verify/${digest}`)).status).toBe(404);
});

test.each([
  [{}, kling, false],
  [{ image_urls: ["https://images.example/a.png"] }, seedream, true],
  [{ image_urls: [`data:image/png;base64,${base64.png}`] }, seedream, true],
])("what was made of an own input with %o is signed as made from media or not", async (input, model, expected) => {
  const orders: boolean[] = [];
  const SIGNER = { sign: async (order: SignOrder) => (orders.push(order.isComposite), (env as Env).SIGNER!.sign(order)) };
  const account = await newAccount();
  await put("signed", model);
  const id = await submit(account, tasks, { model: "signed", prompt: unique(), input });
  for (let round = 0; round < 8 && orders.length === 0; round++) {
    await deliver(id, "gateway-dispatch", { MARKS: "sign", SIGNER });
    await pass(id, Math.max(2, ((await alarmAt(id)) ?? 0) / 1000 - Date.now() / 1000));
  }
  expect(orders).toEqual([expected]);
});

test("a file of the account is sent as its bytes, and its copy is gone after the task's end", async () => {
  const account = await newAccount();
  await put("seedream-own", seedream);
  const body = Uint8Array.fromBase64(base64.png).buffer;
  const file = await call("/v1/files", { key: account.key, method: "POST", body, headers: { "content-type": "image/png" } });
  expect(file.status).toBe(201);
  const prompt = unique();
  const submission = { model: "seedream-own", prompt, input: { image_urls: [file.body.id as string] } };
  const id = await submit(account, images, submission);
  expect((await env.ASSETS.list({ prefix: `inputs/${id}/` })).objects).toHaveLength(1);
  const { data } = (await finish(account, id)).body;
  expect(data).toMatchObject({ status: "completed", metadata: { input: submission.input } });
  expect((await sent(prompt))[0].input.image_urls).toEqual([`data:image/png;base64,${base64.png}`]);
  expect((await env.ASSETS.list({ prefix: `inputs/${id}/` })).objects).toEqual([]);
  const stranger = await newAccount();
  const refused = await call(images, { key: stranger.key, body: submission });
  expect(params(refused)).toEqual(["input.image_urls[0]"]);
});

test("an input has at most 16 inline files and files of the account, and 64 KiB with its URLs, however long its lists may be", async () => {
  const account = await newAccount();
  const { maxItems: _, ...list } = seedream.body.properties.image_urls;
  await put("open-own", { ...seedream, body: { ...seedream.body, properties: { ...seedream.body.properties, image_urls: list } } });
  const body = Uint8Array.fromBase64(base64.png).buffer;
  const file = await call("/v1/files", { key: account.key, method: "POST", body, headers: { "content-type": "image/png" } });
  const ask = (image_urls: string[]) =>
    call(`${tasks}?dry_run=true`, { key: account.key, body: { model: "open-own", prompt: "x", input: { image_urls } } });
  const [id, inline, url] = [
    file.body.id as string,
    `data:image/png;base64,${base64.png}`,
    `https://pictures.example/${"x".repeat(2_000)}`,
  ];
  const stored = Array.from({ length: 16 }, (__, at) => (at % 2 ? id : inline));
  expect((await ask([url, ...stored, url])).status).toBe(200);
  for (const one of [id, inline]) expect(params(await ask([url, ...stored, one]))).toEqual(["input.image_urls[17]"]);
  expect(params(await ask(Array.from({ length: 33 }, () => url)))).toEqual(["input"]);
});

test("a repeat may name the same bytes as another file, as a restarted program does that uploads first", async () => {
  const account = await newAccount();
  await put("seedream-own", seedream);
  const add = async (bytes: Uint8Array<ArrayBuffer>) => {
    const headers = { "content-type": "image/png" };
    return (await call("/v1/files", { key: account.key, method: "POST", body: bytes.buffer, headers })).body.id as string;
  };
  const image = Uint8Array.fromBase64(base64.png);
  const prompt = unique();
  const send = (file: string) =>
    call(images, {
      key: account.key,
      body: { model: "seedream-own", prompt, input: { image_urls: [file] } },
      headers: { "idempotency-key": prompt },
    });
  const [first, again] = [await send(await add(image)), await send(await add(image))];
  expect([again.body.id, again.headers.get("idempotent-replayed")]).toEqual([first.body.id, "true"]);
  expect((await send(await add(new Uint8Array([...image, 0])))).status).toBe(409);
});

test("store: false keeps neither the prompt nor the input after the end", async () => {
  const account = await newAccount();
  await put("narrator", speech);
  const text = unique();
  const id = await submit(account, tasks, { model: "narrator", input: { text }, store: false });
  const { data } = (await finish(account, id)).body;
  expect(data).toMatchObject({ status: "completed", result: { files: [{ type: "audio/mpeg" }] } });
  expect(JSON.stringify(data)).not.toContain(text);
});

test("audio: a task of kind file, with a link to the file and its type", async () => {
  const account = await newAccount();
  await put("narrator", speech);
  const text = unique();
  const answer = await call(tasks, {
    key: account.key,
    body: { model: "narrator", input: { text, voice: "Aria" }, reference: "chapter 1" },
  });
  expect(answer).toMatchObject({ status: 200, body: { metadata: { kind: "file", reserved: 0.05, input: { text, voice: "Aria" } } } });
  const { data } = (await finish(account, answer.body.id as string)).body;
  expect(data).toMatchObject({ status: "completed", reference: "chapter 1", cost: { charged: 0.05 } });
  expect(data.result).toEqual({
    files: [{ url: [expect.stringMatching(/\.mp3\?/)], type: "audio/mpeg", bytes: 410, credentials: "none", expires_at: data.expires_at }],
    data: { timestamps: null },
  });
  const file = await call(data.result.files[0].url[0]);
  expect(file.headers.get("content-type")).toBe("audio/mpeg");
  expect(file.body.byteLength).toBe(410);
  const listed = await call("/v1/tasks?kind=file", { key: account.key });
  expect(listed.body.data.map((task: { id: string }) => task.id)).toEqual([answer.body.id]);
  const { receipt } = (await call(`/v1/tasks/${answer.body.id}/receipt`, { key: account.key })).body;
  expect(receipt).toMatchObject({ kind: "file", files: [{ type: "audio/mpeg", bytes: 410 }] });
  const [event] = (await call("/v1/events", { key: account.key })).body.data;
  expect(event).toMatchObject({ type: "task.completed", task: answer.body.id });
  const { sha256 } = receipt.files[0];
  expect((await call(`/v1/verify/${sha256}`)).body).toMatchObject({ sha256, kind: "file", type: "audio/mpeg" });
  for (const path of [videos, "/v1/characters_tasks"])
    expect((await call(`${path}/${answer.body.id}`, { key: account.key })).status).toBe(404);
});

test("3D: every file of the answer by its type, and the rest as data", async () => {
  const account = await newAccount();
  await put("sculptor", mesh);
  const url = `https://images.example/${unique()}.png`;
  const id = await submit(account, tasks, { model: "sculptor", input: { input_image_url: url, textured_mesh: true } });
  const { data } = (await finish(account, id)).body;
  expect(data).toMatchObject({ status: "completed", cost: { charged: 0.48 }, result: { data: { seed: 7 } } });
  expect(data.result.files.map(({ type }: { type: string }) => type)).toEqual(["model/gltf-binary", "image/png"]);
});

test("text alone is a result; an address that is not public is no file, and nothing is asked there", async () => {
  const account = await newAccount();
  await put("narrator", speech);
  const id = await submit(account, tasks, { model: "narrator", input: { text: `${unique()} [no-files]` } });
  expect((await finish(account, id)).body.data).toMatchObject({
    status: "completed",
    result: { data: { transcript: "a quiet sea", words: [{ at: 0.5, word: "a" }] } },
  });
  const other = await submit(account, tasks, { model: "narrator", input: { text: `${unique()} [private-file]` } });
  expect((await finish(account, other)).body).toMatchObject({
    data: { status: "failed", error: { code: "provider_error" }, cost: { charged: 0 } },
  });
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0.05 });
});

test.each([
  ["an unknown field", { prompt: "x", input: { size: "big" } }, ["input.size"]],
  ["an unknown field beside the input", { prompt: "x", duration: "5" }, ["duration"]],
  ["a field inside an object", { prompt: "x", input: { image_size: { width: 1024, height: 1024, depth: 3 } } }, ["input.image_size.depth"]],
  ["wrong values", { prompt: "x", input: { num_images: 7, image_size: "huge" } }, ["input.image_size", "input.num_images"]],
  ["text for a number", { prompt: "x", input: { num_images: "2" } }, ["input.num_images"]],
  ["half a number", { prompt: "x", input: { num_images: 1.5 } }, ["input.num_images"]],
  ["no prompt", { input: {} }, ["input.prompt"]],
  ["a prompt of another type", { prompt: 3, input: {} }, ["prompt"]],
  ["two prompts", { prompt: "x", input: { prompt: "y" } }, ["prompt"]],
  ["an input that is a list", { prompt: "x", input: [] }, ["input"]],
  ["an address that is none", { prompt: "x", input: { image_urls: ["ftp://a.example/a.png"] } }, ["input.image_urls[0]"]],
  [
    "a file that is none",
    { prompt: "x", input: { image_urls: ["https://a.example/b.png", "data:image/png;base64,AAAA"] } },
    ["input.image_urls[1]"],
  ],
  ["an unknown file", { prompt: "x", input: { image_urls: ["file_nothing"] } }, ["input.image_urls[0]"]],
  ["another account's path", { prompt: "x", deliver_to: { url: "https://bucket.example/x" }, input: {} }, ["deliver_to.url"]],
  ["a long input", { input: { prompt: "x".repeat(70_000) } }, ["input"]],
])("%s is refused with its path, and nothing is reserved", async (_, body, expected) => {
  const account = await newAccount();
  await put("seedream-own", seedream);
  for (const path of [images, tasks]) {
    const refused = await call(path, { key: account.key, body: { model: "seedream-own", ...body } });
    expect(refused.status, JSON.stringify(refused.body)).toBe(400);
    expect(params(refused).toSorted()).toEqual(expected);
  }
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a private address of a file is refused where private networks are not allowed", async () => {
  const account = await newAccount();
  await put("seedream-own", seedream);
  const vars = { ALLOW_PRIVATE_NETWORK: "off" } as const;
  for (const url of [
    "http://10.0.0.1/a.png",
    "http://localhost/a.png",
    "https://user:word@a.example/a.png",
    "https://gateway.example/assets/x",
  ]) {
    const body = { model: "seedream-own", prompt: "x", input: { image_urls: [url] } };
    expect(params(await call(images, { key: account.key, body, vars }))).toEqual(["input.image_urls[0]"]);
  }
});

test("a model with its own input is on its own paths only, and `/v1/tasks` takes the others' bodies", async () => {
  const account = await newAccount();
  await put("narrator", speech);
  const input = { text: "x" };
  for (const path of [images, videos, "/v1/chat/completions"])
    expect((await call(path, { key: account.key, body: { model: "narrator", input, messages: [] } })).body.error).toMatchObject({
      param: "model",
    });
  const prompt = unique();
  const image = await call(`${tasks}?dry_run=true`, { key: account.key, body: { model: "imgA-4", prompt, n: 2 } });
  expect(image.body).toMatchObject({ kind: "image", price: 0.06 });
  const character = await call(`${tasks}?dry_run=true`, {
    key: account.key,
    body: { model: "vidA-2", timestamps: "0,1", url: "https://a.example/v.mp4" },
  });
  expect(character.body).toMatchObject({ kind: "character" });
  const unknown = await call(tasks, { key: account.key, body: { model: "nothing", prompt } });
  expect(unknown).toMatchObject({ status: 400, body: { error: { code: "model_not_found", param: "model" } } });
  const chat = await call(tasks, { key: account.key, body: { model: "textA-1", messages: [] } });
  expect(chat).toMatchObject({ status: 400, body: { error: { param: "model" } } });
});

test("dry runs, idempotency keys, max_cost and waiting work as for other models", async () => {
  const account = await newAccount();
  await put("narrator", speech);
  const text = unique();
  const body = { model: "narrator", input: { text } };
  const dry = await call(`${tasks}?dry_run=true`, { key: account.key, body });
  expect(dry.body).toMatchObject({ object: "generation.dry_run", kind: "file", price: 0.05 });
  const dear = await call(tasks, { key: account.key, body: { ...body, max_cost: 0.04 } });
  expect(dear.body.error).toMatchObject({ code: "cost_limit_exceeded", details: [{ allowed: 0.05 }] });
  const headers = { "idempotency-key": text };
  const [first, second] = [await call(tasks, { key: account.key, body, headers }), await call(tasks, { key: account.key, body, headers })];
  expect(second.body.id).toBe(first.body.id);
  expect(second.headers.get("idempotent-replayed")).toBe("true");
  const other = await call(tasks, { key: account.key, body: { ...body, input: { text: "other" } }, headers });
  expect(other.status).toBe(409);
  await finish(account, first.body.id as string);
  expect((await readCalls(text)).filter((name) => name === "start")).toHaveLength(1);
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0.05 });
});

test("an upstream that refuses the input or fails costs nothing", async () => {
  const account = await newAccount();
  await put("narrator", speech);
  for (const [directive, code] of [
    ["moderated", "content_policy_violation"],
    ["moderated-later", "content_policy_violation"],
    ["fails", "provider_error"],
    ["broken", "provider_error"],
    ["misfit", "invalid_input"],
  ] as const) {
    const answer = await call(tasks, { key: account.key, body: { model: "narrator", input: { text: `${unique()} [${directive}]` } } });
    const { data } = (await finish(account, answer.body.id as string)).body;
    expect(data, directive).toMatchObject({ status: "failed", error: { code }, cost: { charged: 0 } });
  }
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("the model's entry has the schema as it is", async () => {
  const account = await newAccount();
  await put("kling-3", kling);
  const { body } = await call("/v1/models/kling-3", { key: account.key });
  expect(body).toMatchObject({ kind: "video", price: { second: 0.1 }, price_rule: kling.price });
  expect(body.parameters.properties).toMatchObject({
    model: { enum: ["kling-3", "kling-latest"] },
    prompt: { type: "string" },
    input: kling.body,
  });
});
