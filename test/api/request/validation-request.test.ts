/** Request bodies: content type, JSON, sizes, key and headers. Section 1 of the contract. */

import { exports } from "cloudflare:workers";
import { expect, test } from "vitest";
import { neverIssued } from "../../support/bodies.ts";
import { type Account, readBalance, call, holdTime, newAccount, submit, settledBalance } from "../../support/gateway.ts";
import { expectNoTrace } from "../../support/refusal.ts";

holdTime();

const MiB = 1024 * 1024;
const prompt = "an empty beach";
const encode = (text: string) => Uint8Array.from(new TextEncoder().encode(text));
const newEmail = () => `${crypto.randomUUID()}@example.com`;

/** The endpoints that accept bodies: their size limits, and the status for a valid body (the remix's source does not exist: 404). */
const endpoints = [
  { path: "/v1/images/generations", limit: 10 * MiB, body: () => ({ model: "imgA-4", prompt }), good: 200 },
  { path: "/v1/videos/generations", limit: 10 * MiB, body: () => ({ model: "vidA-2", prompt }), good: 200 },
  {
    path: "/v1/chat/completions",
    limit: 10 * MiB,
    body: () => ({ model: "textA-1", messages: [{ role: "user", content: "Hi" }] }),
    good: 200,
  },
  { path: `/v1/videos/${neverIssued}/remix`, limit: MiB, body: () => ({ model: "vidA-2", prompt }), good: 404 },
  { path: "/admin/accounts", limit: MiB, body: () => ({ email: newEmail(), quota: 1 }), good: 201 },
];

/** Sends bytes or a stream with exactly these headers. */
async function send(account: Account, path: string, body: Uint8Array<ArrayBuffer> | ReadableStream, headers: Record<string, string> = {}) {
  const authorization = `Bearer ${path.startsWith("/admin") ? "test-admin" : account.key}`;
  const response = await exports.default.fetch(`https://gateway.example${path}`, {
    method: "POST",
    headers: { authorization, ...headers },
    body,
  });
  return { status: response.status, body: await response.json<{ error: object }>() };
}

const json = { "content-type": "application/json" };
const refusal = (status: number) => ({
  status,
  body: { error: expect.objectContaining({ message: expect.any(String), type: "invalid_request" }) },
});

/** A JSON object of exactly this many bytes. */
const padded = (body: object, length: number) => encode(JSON.stringify(body).padEnd(length));

/** The same bytes as a stream without a declared length. */
function inPieces(bytes: Uint8Array<ArrayBuffer>): ReadableStream {
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      if (sent >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(sent, (sent += MiB)));
    },
  });
}

const otherTypes = [
  "",
  "text/plain",
  "text/json",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "application/jsonl",
];
const noJson = [
  "",
  " ",
  "{",
  "{'model': 1}",
  '{"model": }',
  '{"model": "imgA-4",}',
  "{} {}",
  "// {}\n{}",
  "NaN",
  "undefined",
  "model=imgA-4",
];
const noObject = ["1", '"text"', "true", "null", "[]", '[{"model": "imgA-4"}]'];
const noUtf8 = [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xe2, 0x82], [0xf5, 0x80, 0x80, 0x80]];

for (const { path, limit, body, good } of endpoints) {
  const name = path.replace(neverIssued, "{video_id}");

  test(`${name}: JSON is accepted with any spelling of its content type`, async () => {
    const account = await newAccount();
    for (const type of ["application/json", "Application/JSON", "application/json; charset=utf-8", "application/json;charset=UTF-8"])
      expect((await send(account, path, encode(JSON.stringify(body())), { "content-type": type })).status, type).toBe(good);
  });
  test(`${name}: another or a missing content type is 415`, async () => {
    const account = await newAccount();
    const bytes = encode(JSON.stringify(body()));
    expect(await send(account, path, bytes)).toEqual(refusal(415));
    for (const type of otherTypes) expect(await send(account, path, bytes, { "content-type": type }), type).toEqual(refusal(415));
    await expectNoTrace(account);
  });
  test(`${name}: text that is not JSON is 400`, async () => {
    const account = await newAccount();
    for (const text of noJson) expect(await send(account, path, encode(text), json), text).toEqual(refusal(400));
    await expectNoTrace(account);
  });
  test(`${name}: a scalar or an array is 400`, async () => {
    const account = await newAccount();
    for (const text of noObject) expect(await send(account, path, encode(text), json), text).toEqual(refusal(400));
    await expectNoTrace(account);
  });
  test(`${name}: bytes that are not UTF-8 are 400`, async () => {
    const account = await newAccount();
    const [start, end] = JSON.stringify({ ...body(), note: "|" }).split("|") as [string, string];
    for (const bytes of noUtf8)
      expect(await send(account, path, Uint8Array.from([...encode(start), ...bytes, ...encode(end)]), json), String(bytes)).toEqual(
        refusal(400),
      );
    await expectNoTrace(account);
  });
  test(`${name}: a body of ${limit / MiB} MiB is accepted`, async () => {
    expect((await send(await newAccount(), path, padded(body(), limit), json)).status).toBe(good);
  });
  test(`${name}: a body one byte larger is 413`, async () => {
    const account = await newAccount();
    expect(await send(account, path, padded(body(), limit + 1), json)).toEqual(refusal(413));
    await expectNoTrace(account);
  });
  test(`${name}: a body of unknown length is counted while it is read`, async () => {
    const account = await newAccount();
    const stream = (length: number) => inPieces(padded(body(), length));
    expect((await send(account, path, stream(limit), json)).status).toBe(good);
    expect(await send(account, path, stream(limit + 1), json)).toEqual(refusal(413));
  });
}

test("cancelling takes no body, or an object", async () => {
  const account = await newAccount();
  for (const body of [undefined, "{}", '{"reason": "changed my mind"}', "{}".padEnd(MiB)]) {
    const id = await submit(account, "/v1/images/generations", { model: "imgA-4", prompt });
    expect((await call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST", body })).status).toBe(200);
  }
});
test("cancelling with another body is refused and cancels nothing", async () => {
  const account = await newAccount();
  const id = await submit(account, "/v1/images/generations", { model: "imgA-4", prompt });
  const cases: [string, number][] = [
    ["[]", 400],
    ["1", 400],
    ["null", 400],
    ["{", 400],
    ["{}".padEnd(MiB + 1), 413],
  ];
  for (const [body, status] of cases) {
    const answer = await call(`/v1/tasks/${id}/cancel`, { key: account.key, body });
    const { message } = answer.body;
    expect(answer, body.slice(0, 9)).toMatchObject({
      status,
      body: { code: status, message: expect.any(String), error: { message, type: "invalid_request" } },
    });
  }
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("queued");
});

for (const [path, body] of [
  ["/v1/images/generations", { model: "imgA-4", prompt }],
  ["/v1/chat/completions", { model: "textA-1", messages: [{ role: "user", content: "Hi" }] }],
] as const) {
  /** The body itself is level 1. */
  const nested = (levels: number) =>
    JSON.stringify({ ...body, whatever: 0 }).replace(`"whatever":0`, `"whatever":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}`);
  test(`${path}: an unknown field is ignored, but a body nested deeper than 64 is refused`, async () => {
    const account = await newAccount();
    expect((await call(path, { key: account.key, body: nested(64) })).status).toBe(200);
    for (const levels of [65, 50_000]) {
      const answer = await call(path, { key: account.key, body: nested(levels), headers: { "idempotency-key": "deep" } });
      expect(answer, String(levels)).toMatchObject({ status: 400, body: { error: { code: "invalid_json", param: null } } });
    }
  });
}
test("an error of JSON has its place and nothing of the body", async () => {
  const { key } = await newAccount();
  for (const [body, place] of [
    ['{"model": "imgA-4",\n "prompt": "a secret",}', "line 2, column 23."],
    ["{'a secret': 1}", "line 1, column 2."],
    ['{"prompt": "a secret', "line 1, column 21."],
  ] as const) {
    const { status, body: answer } = await call("/v1/images/generations", { key, body });
    expect({ status, error: answer.error }).toMatchObject({ status: 400, error: { code: "invalid_json", param: null } });
    expect(answer.error.message).toBe(`The request body is not valid JSON at ${place}`);
  }
  const { body: nowhere } = await call("/v1/images/generations", { key, body: '{"prompt": a secret}' });
  expect(nowhere.error.message).toMatch(/^The body or batch line must be a JSON object/);
});
const sentences = { en: "at most 100,000 values", zh: "最多包含 100,000 个值", ko: "값이 최대 100,000개", ja: "値が最大 100,000 個" };
test("a body with more than 100,000 values is refused, however small they are, in each language", async () => {
  const account = await newAccount();
  const chat = `{"model":"textA-1","messages":[{"role":"user","content":"Hi"}]`;
  const deep = (item: string, times: number) => `"x":{"a":{"b":{"c":{"d":[${item.repeat(times)}0]}}}}`;
  const tools = (values: number) =>
    `${chat},"tools":[{"type":"function","function":{"name":"a","parameters":{"enum":[${"0,".repeat(values)}0]}}}]}`;
  for (const [path, body, language] of [
    ["/v1/chat/completions", `${chat},${deep("[],", 3_300_000)}}`, "en"],
    ["/v1/chat/completions", tools(100_000), "zh"],
    ["/v1/images/generations", `{"model":"imgA-4","prompt":"A lake",${deep("{},", 100_000)}}`, "ko"],
    ["/v1/tokens", `{"tasks":1,"max_cost":1,"expires_in":60,${deep("0,", 100_000)}}`, "ja"],
  ] as const) {
    const { status, body: answer } = await call(`${path}?language=${language}`, { key: account.key, body });
    expect({ status, error: answer.error }, path).toMatchObject({
      status: 400,
      error: { code: "invalid_json", type: "invalid_request", param: null },
    });
    expect(answer.error.message).toContain(sentences[language]);
  }
  // A long list that is not deep in the caller's own values is named.
  const { body: named } = await call("/v1/chat/completions", { key: account.key, body: `${chat},"x":[${"[],".repeat(3_300_000)}0]}` });
  expect(named.error).toMatchObject({ code: "invalid_request", param: "x", details: [{ param: "x", allowed: { maximum: 2_048 } }] });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  expect((await call("/v1/chat/completions", { key: account.key, body: tools(90_000) })).status).toBe(200);
});

test("tools nested fifty thousand levels deep are refused, not a 500", async () => {
  const account = await newAccount();
  const deep = `[{"type":"function","function":${"[".repeat(50_000)}${"]".repeat(50_000)}}]`;
  const body = `{"model":"textA-1","messages":[{"role":"user","content":"Hi"}],"tools":${deep}}`;
  expect((await call("/v1/chat/completions", { key: account.key, body })).status).toBeLessThan(500);
  expect(await settledBalance(account)).toMatchObject({ reserved: 0 });
});

test("a URL that is refused is reported with all other violations of the body", async () => {
  const { key } = await newAccount();
  const url = "ftp://hooks.example.com/";
  const rows: [method: string, path: string, body: object, params: string[]][] = [
    ["POST", "/v1/tokens", { tasks: 0, max_cost: 1, callback_url: url, expires_in: 1 }, ["tasks", "expires_in", "callback_url"]],
    ["POST", "/v1/tokens", { tasks: 1, max_cost: 1, callback_url: 5, expires_in: 60 }, ["callback_url"]],
    ["POST", "/v1/batches", { concurrency: 0, callback_url: url }, ["concurrency", "callback_url", "input_file"]],
    [
      "PUT",
      "/v1/destinations/shop",
      { kind: "ftp", endpoint: url, bucket: "media" },
      ["kind", "region", "access_key_id", "secret_access_key", "endpoint"],
    ],
  ];
  for (const [method, path, body, params] of rows) {
    const { error } = (await call(path, { key, method, body })).body;
    expect(
      error.details.map(({ param }: { param: string }) => param),
      path,
    ).toEqual(params);
  }
});
