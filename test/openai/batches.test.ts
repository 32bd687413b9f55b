/** OpenAI's files and batches: lines in its format become those of `/v1/batches`, and its results come back in its format. */

import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, expect, test, vi } from "vitest";
import { toBatchObjectId } from "../../src/base/ids.ts";
import { type Account, call, finish, holdTime, newAccount, readBalance, script, unique } from "../support/gateway.ts";
import { setDestination } from "../support/bucket.ts";
import { png, v1 } from "./support.ts";

beforeEach(holdTime);

const line = (id: string, body: object = {}, url = "/v1/images/generations") => ({
  custom_id: id,
  method: "POST",
  url,
  body: { model: "dall-e-3", prompt: unique(), ...body },
});

async function upload({ key }: Account, lines: readonly unknown[], purpose = "batch", more: Record<string, string> = {}) {
  const form = new FormData();
  form.append("purpose", purpose);
  const text = lines.map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join("\n");
  for (const [name, value] of Object.entries(more)) form.append(name, value);
  form.append("file", new File([text], "in.jsonl", { type: "application/jsonl" }));
  const request = new Request("http://form", { method: "POST", body: form });
  const body = await request.arrayBuffer();
  const headers = { "content-type": request.headers.get("content-type")!, "content-length": String(body.byteLength) };
  return call(`${v1}/files`, { key, method: "POST", body, headers });
}

const create = (account: Account, input: string, more: object = {}) =>
  call(`${v1}/batches`, {
    key: account.key,
    body: { input_file_id: input, endpoint: "/v1/images/generations", completion_window: "24h", ...more },
  });
const show = async ({ key }: Account, id: string) => (await call(`${v1}/batches/${id}`, { key })).body;

async function run(account: Account, id: string) {
  for (let round = 0; round < 20; round++) {
    await runDurableObjectAlarm(env.BATCHES.get(toBatchObjectId(env.BATCHES, id)!));
    const batch = await show(account, id);
    if (["completed", "cancelled", "failed"].includes(batch.status)) return batch;
    for (const { id: task, status } of (await call("/v1/tasks?limit=100", { key: account.key })).body.data)
      if (status === "queued" || status === "in_progress") await finish(account, task);
    vi.setSystemTime(Date.now() + 5_000);
  }
  return show(account, id);
}

async function readFile({ key }: Account, id: string) {
  const { body } = await call(`${v1}/files/${id}/content`, { key });
  expect((await call(`${v1}/files/${id}`, { key })).body).toMatchObject({ id, bytes: (body as ArrayBuffer).byteLength });
  return new TextDecoder()
    .decode(body as ArrayBuffer)
    .trim()
    .split("\n")
    .map((text) => JSON.parse(text));
}

test("images: a file of lines, a batch, its results and its errors", async () => {
  const account = await newAccount();
  const prompt = unique();
  await script({ match: prompt, polls: [{ failed: "content_policy_violation" }] });
  const input = await upload(account, [
    line("a", { size: "1024x1792", quality: "hd" }),
    line("b", { n: 2, model: "gpt-image-1" }),
    line("c", { prompt }),
  ]);
  expect(input).toMatchObject({ status: 200, body: { object: "file", purpose: "batch", filename: "in.jsonl", status: "processed" } });
  const begun = await create(account, input.body.id, { metadata: { season: "春" } });
  expect(begun.status, JSON.stringify(begun.body)).toBe(200);
  expect(begun.body).toMatchObject({
    object: "batch",
    endpoint: "/v1/images/generations",
    input_file_id: input.body.id,
    completion_window: "24h",
    status: "validating",
    output_file_id: null,
    error_file_id: null,
    metadata: { season: "春" },
  });
  // The converted lines are no file of the caller.
  expect((await call(`${v1}/files`, { key: account.key })).body.data.map(({ id }: { id: string }) => id)).toEqual([input.body.id]);
  const ended = await run(account, begun.body.id);
  expect(ended).toMatchObject({ status: "completed", request_counts: { total: 3, completed: 2, failed: 1 } });
  const output = await readFile(account, ended.output_file_id);
  expect(output.map(({ custom_id: own, response, error }) => [own, response.status_code, response.body.data.length, error])).toEqual([
    ["a", 200, 1, null],
    ["b", 200, 2, null],
  ]);
  expect((await call(output[0].response.body.data[0].url)).status).toBe(200);
  const errors = await readFile(account, ended.error_file_id);
  expect(errors).toMatchObject([
    { custom_id: "c", response: { status_code: 400, body: { error: { code: "content_policy_violation" } } }, error: null },
  ]);
  expect((await call(`${v1}/files/${ended.error_file_id}`, { key: account.key })).body).toMatchObject({
    id: ended.error_file_id,
    purpose: "batch_output",
  });
  expect((await call(`${v1}/batches?limit=1`, { key: account.key })).body).toMatchObject({
    data: [{ id: begun.body.id }],
    has_more: false,
  });
  const made = (await call("/v1/tasks?limit=100", { key: account.key })).body.data.find(
    ({ metadata }: { metadata: { quality?: string } }) => metadata.quality === "hd",
  );
  expect(made.metadata).toMatchObject({ size: "9:16", requested_model: "dall-e-3" });
  expect((await readBalance(account)).reserved).toBe(0);
});

test("a failed line has the status and type of the same request without a batch: 500 if the fault is not the caller's", async () => {
  const account = await newAccount();
  const prompt = unique();
  await script({ match: prompt, polls: [{ failed: "provider_error" }] });
  const failed = await upload(account, [line("image", { prompt })]);
  const { body: images } = await create(account, failed.body.id);
  const chat = { model: "gpt-5", prompt: null, messages: [{ role: "user", content: "sandbox:fail" }] };
  const asked = await upload(account, [line("chat", chat, "/v1/chat/completions")]);
  const { body: chats } = await create(account, asked.body.id, { endpoint: "/v1/chat/completions" });
  const errors = [];
  for (const { id } of [images, chats]) errors.push(...(await readFile(account, (await run(account, id)).error_file_id)));
  expect(
    errors.map(({ custom_id: own, response }) => [own, response.status_code, response.body.error.type, response.body.error.code]),
  ).toEqual([
    ["image", 500, "server_error", "provider_error"],
    ["chat", 500, "server_error", "internal_error"],
  ]);
});

test("a video's refused line names the caller's field", async () => {
  const account = await newAccount();
  const input = await upload(account, [line("a", { model: "sora-2", seconds: "5" }, "/v1/videos")]);
  const ended = await run(account, (await create(account, input.body.id, { endpoint: "/v1/videos" })).body.id);
  const [{ response }] = await readFile(account, ended.error_file_id);
  expect(response.body.error).toMatchObject({ param: "seconds", message: expect.stringMatching(/^seconds: /) });
});

test("videos: the results are OpenAI's videos", async () => {
  const account = await newAccount();
  const input = await upload(account, [line("v", { model: "sora-2", seconds: "4" }, "/v1/videos")]);
  const begun = await create(account, input.body.id, { endpoint: "/v1/videos" });
  const ended = await run(account, begun.body.id);
  const [{ response }] = await readFile(account, ended.output_file_id);
  expect(response.body).toMatchObject({ object: "video", status: "completed", model: "sora-2", seconds: "4" });
  expect((await call(`${v1}/videos/${response.body.id}/content`, { key: account.key })).status).toBe(200);
});

test("chats: the results are OpenAI's completions", async () => {
  const account = await newAccount();
  const chat = (id: string, body: object = {}) => line(id, body, "/v1/chat/completions");
  const messages = [{ role: "user", content: "Hi" }];
  const { body: input } = await upload(account, [
    chat("good", { model: "gpt-5", prompt: null, messages, temperature: null }),
    chat("bad", { model: "gpt-5", prompt: null, messages: "no" }),
  ]);
  const { body: begun } = await create(account, input.id, { endpoint: "/v1/chat/completions" });
  expect(begun).toMatchObject({ object: "batch", endpoint: "/v1/chat/completions" });
  const batch = await run(account, begun.id);
  expect(batch.request_counts).toEqual({ total: 2, completed: 1, failed: 1 });
  const [good] = await readFile(account, batch.output_file_id);
  expect(good).toMatchObject({
    custom_id: "good",
    response: {
      status_code: 200,
      body: { object: "chat.completion", model: "gpt-5", choices: [{ message: { role: "assistant" } }], usage: {} },
    },
  });
  const [bad] = await readFile(account, batch.error_file_id);
  expect(bad).toMatchObject({ custom_id: "bad", response: { status_code: 400, body: { error: { param: "messages" } } } });
  expect((await readBalance(account)).used).toBeGreaterThan(0);
});

test("responses: the results are OpenAI's responses, with the request's fields and the caller's names of tools", async () => {
  const account = await newAccount();
  const respond = (id: string, body: object) => line(id, { model: "gpt-5", prompt: null, ...body }, "/v1/responses");
  const tool = { type: "function", name: "weather", parameters: { type: "object", properties: {} } };
  const shown = { instructions: "Be brief.", temperature: 0.5, metadata: { season: "spring" }, text: { format: { type: "text" } } };
  const { body: input } = await upload(account, [
    respond("text", { input: [{ role: "user", content: [{ type: "input_text", text: "Good morning" }] }], ...shown }),
    respond("call", { input: "call-tool:sky__weather", tools: [{ type: "namespace", name: "sky", tools: [tool] }] }),
    respond("bad", { input: "x", max_output_tokens: 0 }),
  ]);
  const { body: begun } = await create(account, input.id, { endpoint: "/v1/responses" });
  expect(begun).toMatchObject({ object: "batch", endpoint: "/v1/responses" });
  const batch = await run(account, begun.id);
  expect(batch.request_counts).toEqual({ total: 3, completed: 2, failed: 1 });
  const output = await readFile(account, batch.output_file_id);
  const [text, called] = output.map(({ response }) => response.body);
  expect(text).toMatchObject({
    object: "response",
    status: "completed",
    model: "gpt-5",
    store: false,
    ...shown,
    output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: expect.stringMatching(/./) }] }],
    usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
  });
  expect(text.id).toMatch(/^resp_\w+$/);
  expect(called.output).toMatchObject([{ type: "function_call", name: "weather", namespace: "sky" }]);
  expect(await readFile(account, batch.output_file_id), "the same each time").toEqual(output);
  const [bad] = await readFile(account, batch.error_file_id);
  expect(bad).toMatchObject({ custom_id: "bad", response: { status_code: 400, body: { error: { param: "max_output_tokens" } } } });
});

test("responses that no line can have: streams, earlier responses, hosted tools", async () => {
  const account = await newAccount();
  const messages = [];
  for (const more of [{ stream: true }, { previous_response_id: "resp_1" }, { tools: [{ type: "web_search" }] }]) {
    const { body: input } = await upload(account, [line("a", { model: "gpt-5", prompt: null, input: "x", ...more }, "/v1/responses")]);
    const { status, body } = await create(account, input.id, { endpoint: "/v1/responses" });
    expect(status).toBe(400);
    messages.push(body.error.message);
  }
  expect(messages).toEqual(["stream", "previous_response_id", "tools[0].type"].map((name) => expect.stringContaining(name)));
});

test("deliver_to and X-Client-Request-Id of a batch are its deliver_to and reference; its lines keep their own", async () => {
  const account = await newAccount();
  const input = await upload(account, [line("a", { reference: "leaf" }), line("b")]);
  const deliver_to = { destination: "shop", prefix: "batch/" };
  expect((await create(account, input.body.id, { deliver_to })).body.error).toMatchObject({ param: "deliver_to.destination" });
  await setDestination(account, {}, "shop");
  const begin = (fields: object, id?: string) =>
    call(`${v1}/batches`, {
      key: account.key,
      body: { input_file_id: input.body.id, endpoint: "/v1/images/generations", completion_window: "24h", deliver_to, ...fields },
      headers: id === undefined ? {} : { "x-client-request-id": id },
    });
  const long = "x".repeat(129);
  expect((await begin({ reference: long })).body.error.param).toBe("reference");
  expect((await begin({}, long)).body.error.param).toBe("X-Client-Request-Id");
  const begun = await begin({}, "spring");
  expect((await call(`/v1/batches/${begun.body.id}`, { key: account.key })).body).toMatchObject({ deliver_to, reference: "spring" });
  await run(account, begun.body.id);
  const tasks: { metadata: { reference?: string } }[] = (await call("/v1/tasks", { key: account.key })).body.data;
  expect(new Set(tasks.map(({ metadata }) => metadata.reference))).toEqual(new Set(["leaf", undefined]));
});

test("a batch is cancelled, and an unknown one is not found", async () => {
  const account = await newAccount();
  const input = await upload(account, [line("a"), line("b")]);
  const begun = await create(account, input.body.id);
  const cancelled = await call(`${v1}/batches/${begun.body.id}/cancel`, { key: account.key, method: "POST" });
  const at = Math.floor(Date.now() / 1000);
  const cancelling = { id: begun.body.id, status: "cancelling", cancelling_at: at, cancelled_at: null };
  expect(cancelled).toMatchObject({ status: 200, body: cancelling });
  expect(await show(account, begun.body.id)).toMatchObject(cancelling);
  vi.setSystemTime(Date.now() + 5_000);
  expect(await run(account, begun.body.id)).toMatchObject({ status: "cancelled", cancelling_at: at });
  const stranger = await newAccount();
  expect((await call(`${v1}/batches/${begun.body.id}`, { key: stranger.key })).status).toBe(404);
  expect((await call(`${v1}/files/${input.body.id}/content`, { key: stranger.key })).status).toBe(404);
  expect((await call(`${v1}/files/${input.body.id}`, { key: account.key, method: "DELETE" })).body).toEqual({
    id: input.body.id,
    object: "file",
    deleted: true,
  });
});

test("lines that cannot be converted are named, and nothing begins", async () => {
  const account = await newAccount();
  const ask = async (lines: readonly unknown[], more: object = {}) => {
    const input = await upload(account, lines);
    const { status, body } = await create(account, input.body.id, more);
    return [status, body.error?.param, body.error?.message];
  };
  const bad = [
    [line("b", { size: "1x1" }), /^Line 2 .*size/],
    [line("b", { response_format: "b64_json" }), /^Line 2 .*response_format/],
    [line("b", {}, "/v1/videos"), /^Line 2 .*url/],
    [{ ...line("b"), method: "GET" }, /^Line 2 .*method/],
    [{ ...line("b"), custom_id: 3 }, /^Line 2 .*custom_id/],
    [{ ...line("b"), body: [] }, /^Line 2 .*body/],
    ['{"custom_id": ', /^Line 2 /],
  ] as const;
  for (const [one, message] of bad) expect(await ask([line("a"), one])).toEqual([400, "input_file_id", expect.stringMatching(message)]);
  expect(await ask([line("a")], { endpoint: "/v1/embeddings" })).toEqual([400, "endpoint", expect.any(String)]);
  expect(await ask([line("a")], { completion_window: "1h" })).toEqual([400, "completion_window", expect.any(String)]);
  expect(await ask([line("a")], { metadata: { a: 1 } })).toEqual([400, "metadata.a", expect.any(String)]);
  const image = await call("/v1/files", {
    key: account.key,
    method: "POST",
    body: png(200).buffer,
    headers: { "content-type": "image/png" },
  });
  expect((await create(account, image.body.id)).body.error).toMatchObject({
    param: "input_file_id",
    message: "input_file_id: names a file that is not JSON lines",
  });
  for (const unknown of ["file_none", "", "..", "\ud800"])
    expect((await create(account, unknown)).body.error).toMatchObject({ param: "input_file_id" });
  const { id: input_file_id } = (await upload(account, [line("a")])).body;
  const body = { input_file_id, endpoint: "/v1/images/generations", completion_window: "24h" };
  expect((await call(`${v1}/batches?dry_run=true`, { key: account.key, body })).body.error).toMatchObject({ param: "dry_run" });
  expect((await call(`${v1}/batches`, { key: account.key })).body.data).toEqual([]);
  expect((await call(`${v1}/files`, { body: undefined })).status).toBe(401);
});

test("the lifetime of a file is OpenAI's expires_after, cut to the longest one", async () => {
  const account = await newAccount();
  const send = async (seconds: string) => (await upload(account, [line("a")], "batch", { "expires_after[seconds]": seconds })).body;
  const [short, long] = [await send("3600"), await send("2592000")];
  expect([short.expires_at - short.created_at, long.expires_at - long.created_at]).toEqual([3_600, 604_800]);
  expect((await send("60")).error).toMatchObject({
    param: "expires_after[seconds]",
    message: expect.stringMatching(/^expires_after\[seconds\]: must be a whole number from 3600/),
  });
});
