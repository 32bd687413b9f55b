/** /openai/v1 as OpenAI's clients use it: its models, and paths that do not exist. */

import { expect, test } from "vitest";
import { call, newAccount } from "../support/gateway.ts";
import { form, whileMade } from "./support.ts";

test("models are listed in OpenAI's format", async () => {
  const { key } = await newAccount();
  const list = await call("/openai/v1/models", { key });
  expect([list.status, list.body.object]).toEqual([200, "list"]);
  expect(list.body.data).toContainEqual(expect.objectContaining({ id: "vidA-2", object: "model", owned_by: "gateway" }));
  expect((await call("/openai/v1/models/vidA-2", { key })).body).toMatchObject({ id: "vidA-2", object: "model" });
});

test("embeddings are a 404 that says what to configure", async () => {
  const { status, body } = await call("/openai/v1/embeddings", { key: "sk-x", body: { model: "text-embedding-3-small", input: "x" } });
  expect([status, body.error]).toEqual([
    404,
    {
      message:
        "This gateway has no embeddings. Configure the base URL and key of another service for embeddings alone: " +
        "https://gateway.example/docs/openai#embeddings",
      type: "invalid_request_error",
      param: null,
      code: "unsupported_endpoint",
    },
  ]);
});

test("an unknown path and a wrong key are OpenAI's errors", async () => {
  expect(await call("/openai/v1/nothing", { key: "sk-x" })).toMatchObject({
    status: 404,
    body: { error: { message: "Invalid URL (GET /openai/v1/nothing)", type: "invalid_request_error", param: null, code: null } },
  });
  expect(await call("/openai/v1/models", { key: "sk-x" })).toMatchObject({
    status: 401,
    body: { error: { type: "invalid_request_error", param: null, code: "invalid_api_key" } },
  });
});

test("a method that a path does not have is 405 with the methods it has; OpenAI's other paths stay unknown", async () => {
  const { key } = await newAccount();
  const ask = async (method: string, path: string) => {
    const { status, headers, body } = await call(`/openai/v1/${path}`, { key, method });
    return [status, headers.get("allow"), body.error.code];
  };
  const missing = "method_not_allowed";
  expect(await ask("GET", "chat/completions")).toEqual([405, "POST", missing]);
  expect(await ask("DELETE", "models")).toEqual([405, "GET, HEAD", missing]);
  expect(await ask("PUT", "videos/task_x")).toEqual([405, "GET, HEAD, DELETE", missing]);
  expect(await ask("PATCH", "videos")).toEqual([405, "GET, HEAD, POST", missing]);
  expect(await ask("PUT", "videos/edits")).toEqual([404, null, null]);
});

test("a compressed body is 415, whatever is in it", async () => {
  const { key } = await newAccount();
  const json = { "content-type": "application/json", "content-encoding": "gzip" };
  for (const path of ["chat/completions", "responses", "images/generations", "images/edits", "videos"]) {
    const body = JSON.stringify({ model: "gpt-5", prompt: "x", input: "x", messages: [{ role: "user", content: "x" }] });
    expect(await call(`/openai/v1/${path}`, { key, body, headers: json }), path).toMatchObject({
      status: 415,
      body: { error: { message: expect.stringContaining("must not be compressed") } },
    });
  }
  const upload = await form({ prompt: "x" });
  const headers = { ...upload.headers, "content-encoding": "gzip" };
  expect(await call("/openai/v1/videos", { key, body: upload.body, headers })).toMatchObject({
    status: 415,
    body: { error: { type: "invalid_request_error", code: "unsupported_media_type" } },
  });
});

test("answers have headers with the key's limit and the language of their messages", async () => {
  const { key } = await newAccount();
  const ask = async (path: string) => {
    const { headers } = await call(`/openai/v1/${path}`, { key, headers: { "accept-language": "ko" }, vars: { RATE_LIMITS: "on" } });
    return ["content-language", "vary", "x-ratelimit-limit-requests"].map((name) => headers.get(name));
  };
  const all = ["ko", "Accept-Language", expect.stringMatching(/^\d+$/)];
  expect([await ask("videos"), await ask("videos/task_unknown"), await ask("nothing")]).toEqual([all, all, all]);
});

test("each request counts once: one with a body before it is read, one that makes no request to the API as a read", async () => {
  const account = await newAccount();
  const { key } = account;
  const counts: string[] = [];
  const limiter = (name: string): RateLimit => ({ limit: async () => ({ success: counts.push(name) > 0 }) });
  const vars = { RATE_LIMITS: "on", SUBMISSIONS: limiter("submission"), READS: limiter("read") };
  const ask = async (path: string, body?: object | string) => {
    counts.length = 0;
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const headers = { "content-type": "application/json", ...(text && { "content-length": String(text.length) }) };
    const answer = await call(`/openai/v1/${path}`, { key, ...(text && { body: text }), headers, vars });
    return [answer.status, ...counts];
  };
  const image = { model: "gpt-image-1", prompt: "a cat" };
  const inline = `data:image/png;base64,${"A".repeat(200_000)}`;
  expect(await ask("embeddings", { input: "x" })).toEqual([404, "submission"]);
  expect(await ask("nothing")).toEqual([404, "read"]);
  expect(await ask("models")).toEqual([200, "read"]);
  expect(await ask("images/generations", { ...image, size: "1x1" })).toEqual([400, "submission"]);
  expect(await ask("images/edits", "no json ".repeat(20_000))).toEqual([400, "submission"]);
  expect(await ask("images/generations?dry_run=true", image)).toEqual([200, "read"]);
  expect(await ask("images/edits?dry_run=true", { ...image, images: [{ image_url: inline }] })).toEqual([400, "read", "submission"]);
  expect(await ask("chat/completions", { model: "gpt-5", messages: [{ role: "user", content: "x" }] })).toEqual([200, "submission"]);
  counts.length = 0;
  const made = call("/openai/v1/images/generations", { key, body: image, vars });
  expect([(await whileMade(account, made)).status, ...counts.slice(0, 2)]).toEqual([200, "submission", "read"]);
});

test("if the Worker is not deployed, its paths are 404", async () => {
  const answer = await call("/openai/nothing", { vars: { OPENAI: undefined as never } });
  expect([answer.status, answer.body.error.code]).toEqual([404, "not_found"]);
});
