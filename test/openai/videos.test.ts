/** Videos on OpenAI's paths: the same tasks in OpenAI's format, charged once, missing after their deletion. Contract, section 12. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { openStub } from "../support/faults.ts";
import { type Account, asAdmin, readBalance, call, finish, holdTime, newAccount, script, unique } from "../support/gateway.ts";
import { form, nextTask, png, taskIds, v1 } from "./support.ts";

holdTime();

const videos = `${v1}/videos`;
const create = (account: Account, body: object, headers: Record<string, string> = {}) => call(videos, { key: account.key, body, headers });

/** A completed video's id. */
async function made(account: Account, body: object): Promise<string> {
  const { status, body: video } = await create(account, body);
  expect([status, video.status]).toEqual([200, "queued"]);
  await finish(account, video.id);
  return video.id;
}

test("a video is created, polled and downloaded with the requested model name", async () => {
  const account = await newAccount();
  const prompt = unique();
  const created = await create(account, { model: "sora-2", prompt, seconds: "12", size: "720x1280" });
  const shown = { object: "video", model: "sora-2", prompt, seconds: "12", remixed_from_video_id: null, error: null };
  expect([created.status, created.body]).toEqual([
    200,
    {
      ...shown,
      id: expect.any(String),
      status: "queued",
      progress: 0,
      created_at: expect.any(Number),
      completed_at: null,
      expires_at: null,
      size: "720x1280",
    },
  ]);
  const { id } = created.body;
  const early = await call(`${videos}/${id}/content`, { key: account.key });
  expect([early.status, early.body.error.type]).toEqual([400, "invalid_request_error"]);
  await finish(account, id);
  const done = await call(`${videos}/${id}`, { key: account.key });
  expect(done.body).toMatchObject({
    ...shown,
    id,
    status: "completed",
    progress: 100,
    completed_at: expect.any(Number),
    expires_at: expect.any(Number),
  });
  expect(done.headers.get("openai-poll-after-ms")).toBe("2000");

  const file = await call(`${videos}/${id}/content`, { key: account.key });
  expect([file.status, file.headers.get("content-type")]).toEqual([200, "video/mp4"]);
  // A page may read a signed link, but not with an API key.
  expect(file.headers.get("access-control-allow-origin")).toBeNull();
  const part = await call(`${videos}/${id}/content?variant=video`, { key: account.key, headers: { range: "bytes=4-7" } });
  expect([part.status, new TextDecoder().decode(part.body)]).toEqual([206, "ftyp"]);
  const behind = await call(`${videos}/${id}/content`, { key: account.key, headers: { range: "bytes=99999999-" } });
  expect([behind.status, behind.headers.get("content-range")]).toEqual([416, expect.stringMatching(/^bytes \*\/\d+$/)]);
  const still = await call(`${videos}/${id}/content?variant=thumbnail`, { key: account.key });
  expect([still.status, still.headers.get("content-type")]).toEqual([200, "image/png"]);
  expect((await call(`${videos}/${id}/content?variant=spritesheet`, { key: account.key })).status).toBe(404);
  expect((await call(`${videos}/${id}/content?variant=sound`, { key: account.key })).body.error.param).toBe("variant");
  // Twelve seconds at the price per second.
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 1.2 });
});

test.each([
  ["sora-2", "4", 0.4],
  ["sora-2-2025-10-06", "8", 0.8],
  ["sora-2-pro", "12", 3.6],
  ["sora-2", undefined, 0.4],
  ["vidA-2", "15", 1.5],
  ["vidA-2", undefined, 1],
  ["vidC-1-0-pro-fast", "7", 0.21],
])("%s of %s seconds costs %d", async (model, seconds, price) => {
  const account = await newAccount();
  const { status, body } = await create(account, { model, prompt: "x", ...(seconds && { seconds }) });
  expect([status, body.model]).toEqual([200, model]);
  expect((await readBalance(account)).reserved).toBe(price);
});

test("only OpenAI's paths accept OpenAI's durations, whatever a caller sends", async () => {
  const account = await newAccount();
  const body = { model: "vidA-2", prompt: "x", duration: 4, requested_model: "sora-2" };
  const answer = await call("/v1/videos/generations", { key: account.key, body, headers: { "x-openai": "1" } });
  expect([answer.status, answer.body.error.param]).toEqual([400, "duration"]);
  const usual = await call("/v1/videos/generations", { key: account.key, body: { ...body, duration: 10 } });
  expect(usual.body.metadata).not.toHaveProperty("requested_model");
});

test("a remix has its source's model, size and duration", async () => {
  const account = await newAccount();
  const source = await made(account, { model: "sora-2-pro", prompt: unique(), seconds: "4", size: "720x1280" });
  const remix = await call(`${videos}/${source}/remix`, { key: account.key, body: { prompt: "in the rain" } });
  expect([remix.status, remix.body]).toEqual([
    200,
    expect.objectContaining({ model: "sora-2-pro", seconds: "4", size: "720x1280", prompt: "in the rain", remixed_from_video_id: source }),
  ]);
  expect((await readBalance(account)).reserved).toBe(1.2);
});

test("the list contains videos and remixes, in both orders, page by page, and no images", async () => {
  const account = await newAccount();
  const first = await made(account, { model: "sora-2", prompt: unique() });
  await call("/v1/images/generations", { key: account.key, body: { model: "imgA-4", prompt: "x" } });
  // Tasks of the same millisecond have no defined order.
  const tick = () => vi.setSystemTime(Date.now() + 1000);
  tick();
  const { id: remix } = (await call(`${videos}/${first}/remix`, { key: account.key, body: { prompt: "x" } })).body;
  tick();
  const { id: last } = (await create(account, { model: "vidA-2", prompt: "x" })).body;
  const list = async (query: string) => {
    const { body } = await call(`${videos}?${query}`, { key: account.key });
    return [(body.data as { id: string }[]).map(({ id }) => id), body.has_more, body.first_id, body.last_id];
  };
  expect(await list("")).toEqual([[last, remix, first], false, last, first]);
  expect(await list("limit=2")).toEqual([[last, remix], true, last, remix]);
  expect(await list(`limit=2&after=${remix}`)).toEqual([[first], false, first, first]);
  expect(await list("order=asc&limit=2")).toEqual([[first, remix], true, first, remix]);
  expect(await list(`order=asc&limit=2&after=${remix}`)).toEqual([[last], false, last, last]);
  expect((await call(`${videos}?order=up`, { key: account.key })).body.error.param).toBe("order");
  expect((await call(`${videos}?limit=0`, { key: account.key })).body.error.param).toBe("limit");
});

test("deleting removes the files, and cancels a running video", async () => {
  const account = await newAccount();
  const id = await made(account, { model: "sora-2", prompt: unique() });
  const remove = (video: string, key = account.key) => call(`${videos}/${video}`, { key, method: "DELETE" });
  expect((await remove(id, (await newAccount()).key)).status).toBe(404);
  expect([(await remove(id)).body, (await remove(id)).status]).toEqual([{ id, object: "video.deleted", deleted: true }, 404]);
  expect((await env.ASSETS.list({ prefix: `assets/${id}/` })).objects).toEqual([]);
  const running = (await create(account, { model: "sora-2", prompt: unique() })).body.id as string;
  expect((await remove(running)).body).toEqual({ id: running, object: "video.deleted", deleted: true });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.4 });
});

test("a failed video has the reason", async () => {
  const account = await newAccount();
  const prompt = unique();
  await script({ match: prompt, polls: [{ failed: "content_policy_violation" }] });
  const id = await made(account, { model: "sora-2", prompt });
  expect((await call(`${videos}/${id}`, { key: account.key })).body).toMatchObject({
    status: "failed",
    error: { code: "content_policy_violation", message: expect.any(String) },
  });
  expect((await call(`${videos}/${id}/content`, { key: account.key })).status).toBe(404);
});

test("an image as a URL, as a data URI, or as a file of a form is the first frame", async () => {
  const account = await newAccount();
  const dataUri = `data:image/png;base64,${png(64).toBase64()}`;
  const frames = async (id: string) =>
    runInDurableObject(openStub(id), (object) =>
      (object as unknown as { ctx: DurableObjectState }).ctx.storage.kv
        .get<{ submission: { inputs: { role: string }[] } }>("task")!
        .submission.inputs.map(({ role }) => role),
    );
  for (const input_reference of [{ image_url: dataUri }, dataUri, { image_url: "https://pictures.example/a.png" }]) {
    const { status, body } = await create(account, { model: "sora-2", prompt: "x", input_reference });
    expect([status, await frames(body.id)]).toEqual([200, ["first_frame"]]);
  }
  const sent = await form({ model: "sora-2-pro", prompt: "x", seconds: "8", input_reference: new Blob([png(200_000)]) });
  const answer = await call(videos, { key: account.key, ...sent });
  expect([answer.status, answer.body.model, answer.body.seconds, await frames(answer.body.id)]).toEqual([
    200,
    "sora-2-pro",
    "8",
    ["first_frame"],
  ]);
  const byId = await create(account, { model: "sora-2", prompt: "x", input_reference: { file_id: "file_1" } });
  expect([byId.status, byId.body.error.param]).toEqual([400, "input_reference"]);
});

test("an image of a form is used or refused, never ignored", async () => {
  const account = await newAccount();
  const image_url = "https://pictures.example/a.png";
  const refused = async (path: string, fields: Parameters<typeof form>[0]) => {
    const { status, body } = await call(`${v1}${path}`, { key: account.key, ...(await form({ prompt: "x", ...fields })) });
    return [status, body.error?.param];
  };
  const file = new Blob([png(64)]);
  expect(await refused("/videos", { input_reference: image_url })).toEqual([400, "input_reference"]);
  expect(await refused("/videos", { input_reference: file, "input_reference[image_url]": image_url })).toEqual([400, "input_reference"]);
  expect(await refused("/images/edits", { image: file, "image[]": image_url })).toEqual([400, "image"]);
  expect(await taskIds(account)).toEqual([]);
});

test("a model whose name a URL cannot contain is unknown, like any other name", async () => {
  const account = await newAccount();
  const { status, body } = await create(account, {
    model: "\ud800",
    prompt: "x",
    input_reference: { image_url: "https://a.example/a.png" },
  });
  expect([status, body.error.param]).toEqual([404, "model"]);
});

test("the first frame of an operator's model is where the model whose body it has takes it", async () => {
  const account = await newAccount();
  const put = (id: string, body: string) =>
    asAdmin(`/models/${id}`, {
      method: "PUT",
      body: { kind: "video", body: `like:${body}`, price: { second: 0.01 }, routes: [{ provider: "sandbox", model: body }] },
    });
  const image_url = "https://pictures.example/a.png";
  for (const [id, body] of [
    ["frames-in-metadata", "vidD-02"],
    ["vidDeo", "vidC-1-0-pro-fast"],
  ] as const) {
    const added = await put(id, body);
    expect(added.status).toBe(201);
    const { status, body: video } = await create(account, { model: id, prompt: "x", input_reference: { image_url } });
    expect([status, video.model]).toEqual([200, id]);
    const { data } = (await call(`/v1/tasks/${video.id}`, { key: account.key })).body;
    expect(data.metadata).toMatchObject(body === "vidD-02" ? { first_frame_image: image_url } : { images: [image_url] });
    expect((await asAdmin(`/models/${id}?revision=${added.body.revision}`, { method: "DELETE" })).status).toBe(204);
  }
});

test("a repeated creation whose answer was lost returns the same video, charged once", async () => {
  const account = await newAccount();
  const body = { model: "sora-2", prompt: unique() };
  const ids = await Promise.all(
    ["0", "1", "2"].map(async (count) => (await create(account, body, { "x-stainless-retry-count": count })).body.id as string),
  );
  expect([new Set(ids).size, await taskIds(account)]).toEqual([1, [ids[0]]]);
  expect((await create(account, body)).body.id).not.toBe(ids[0]);
});

test.each([
  ["seconds", { seconds: "5" }],
  ["seconds", { seconds: "four" }],
  ["size", { size: "1024x1024" }],
  ["size", { size: "4:3" }],
  ["size", { size: "constructor" }],
  ["prompt", { prompt: " " }],
  ["model", { model: "gpt-image-1" }],
  ["max_cost", { max_cost: "plenty" }],
  ["max_cost", { max_cost: "0.5" }],
  ["callback_url", { callback_url: "ftp://receiver.example" }],
])("an invalid %s is refused", async (param, fields) => {
  const account = await newAccount();
  const { status, body } = await create(account, { model: "sora-2", prompt: "x", ...fields });
  expect([status, body.error.param, body.error.type]).toEqual([param === "model" ? 404 : 400, param, "invalid_request_error"]);
  expect(body.error.message).toMatch(new RegExp(`^${param}: `));
  expect(await taskIds(account)).toEqual([]);
});

test("a maximum price in a form must be a number, and is never ignored", async () => {
  const account = await newAccount();
  const ask = async (max_cost: string) => call(videos, { key: account.key, ...(await form({ model: "sora-2", prompt: "x", max_cost })) });
  for (const max_cost of ["plenty", "", "0.39"]) expect((await ask(max_cost)).body.error).toMatchObject({ param: "max_cost" });
  expect(await taskIds(account)).toEqual([]);
  expect((await ask("0.40")).status).toBe(200);
});

test("the error for refused seconds lists OpenAI's durations and the model's", async () => {
  const { key } = await newAccount();
  const answer = await call(videos, { key, body: { model: "sora-2", prompt: "x", seconds: "5" } });
  expect(answer.body.error.message).toBe('seconds: must be one of "4", "8", "10", "12", "15"');
});

test("callback_url and reference are accepted like under /v1; the header of OpenAI's clients takes precedence", async () => {
  const account = await newAccount();
  const body = { model: "sora-2", prompt: "x", callback_url: "https://receiver.example/a", reference: "field" };
  const { id } = (await create(account, body)).body;
  expect((await call(`/v1/tasks/${id}/callback`, { key: account.key })).body.url).toBe(body.callback_url);
  await create(account, body, { "x-client-request-id": "header" });
  for (const reference of ["field", "header"])
    expect((await call(`/v1/tasks?reference=${reference}`, { key: account.key })).body.data).toHaveLength(1);
});

test("a dry run returns the price with the requested model name, and makes and reserves nothing", async () => {
  const account = await newAccount();
  const { id } = (await create(account, { model: "sora-2", prompt: unique() })).body;
  await finish(account, id);
  const { used } = await readBalance(account);
  const image = { model: "dall-e-3", prompt: "x" };
  const picture = `data:image/png;base64,${png(64).toBase64()}`;
  const chat = { model: "gpt-5", stream: true };
  const asked: [string, string, number, object][] = [
    ["videos", "sora-2", 0.4, { body: { model: "sora-2", prompt: "x" } }],
    ["videos", "sora-2", 0.4, await form({ model: "sora-2", prompt: "x" })],
    [`videos/${id}/remix`, "sora-2", 0.4, { body: { prompt: "x" } }],
    ["images/generations", "dall-e-3", 0.04, { body: image }],
    ["images/edits", "dall-e-3", 0.04, { body: { ...image, images: [picture] } }],
    ["images/edits", "dall-e-3", 0.04, await form({ ...image, image: new Blob([png(64)]) })],
    ["chat/completions", "gpt-5", expect.any(Number), { body: { ...chat, messages: [{ role: "user", content: "x" }] } }],
    ["responses", "gpt-5", expect.any(Number), { body: { ...chat, input: "x" } }],
  ];
  for (const [path, model, price, options] of asked) {
    const { body } = await call(`${v1}/${path}?dry_run=true`, { key: account.key, ...options });
    expect([path, body]).toEqual([path, expect.objectContaining({ object: "generation.dry_run", model, price })]);
  }
  expect([await taskIds(account), await readBalance(account)]).toMatchObject([[id], { reserved: 0, used }]);
});

test("edits, extensions and other accounts' videos are not found", async () => {
  const account = await newAccount();
  for (const path of ["edits", "extensions"])
    expect((await call(`${videos}/${path}`, { key: account.key, body: { prompt: "x" } })).body.error).toMatchObject({
      type: "invalid_request_error",
      code: null,
    });
  const { id } = (await create(account, { model: "sora-2", prompt: "x" })).body;
  const other = await newAccount();
  expect((await call(`${videos}/${id}`, { key: other.key })).body.error).toMatchObject({ code: "not_found" });
  await call("/v1/images/generations", { key: account.key, body: { model: "imgA-4", prompt: "x" } });
  expect((await call(`${videos}/${await nextTask(account, [id])}`, { key: account.key })).status).toBe(404);
});

test("a route that does not support exactly these seconds is skipped; if none does, the seconds are refused", async () => {
  const account = await newAccount();
  const other = { provider: "minimax", model: "MiniMax-Hailuo-02" };
  const vars = (routes: object[]) => ({ MINIMAX_API_KEY: "key", OPENAI_API_KEY: "key", ROUTES: { "vidA-2": routes } });
  const ask = (routes: object[]) =>
    call(videos, { key: account.key, body: { model: "sora-2", prompt: "x", seconds: "8" }, vars: vars(routes) });
  const { status, body } = await ask([other, { provider: "openai", model: "sora-2" }]);
  expect([status, body.error]).toEqual([200, null]);
  const routes = await runInDurableObject(
    openStub(body.id),
    (_, ctx) => ctx.storage.kv.get<{ submission: { routes: { provider: string }[] } }>("task")!.submission.routes,
  );
  expect(routes.map(({ provider }) => provider)).toEqual(["openai"]);
  const refused = await ask([other]);
  expect([refused.status, refused.body.error.param]).toEqual([400, "seconds"]);
});
