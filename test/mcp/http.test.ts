/** /mcp over HTTP: authentication, sessions, and requests that violate the protocol. */

import { expect, test } from "vitest";
import { asAdmin, call, newAccount, unique, upstreamCalls } from "../support/gateway.ts";
import { connect } from "./client.ts";

const initialize = (protocolVersion = "2025-11-25") => ({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } },
});
const accept = { accept: "application/json, text/event-stream" };

test("a missing or wrong key is 401 with a challenge", async () => {
  const missing = await call("/mcp", { body: initialize(), headers: accept });
  expect([missing.status, missing.headers.get("www-authenticate"), missing.body.error.code]).toEqual([401, "Bearer", "unauthorized"]);
  const wrong = await call("/mcp", { key: "sk-wrong", body: initialize(), headers: { ...accept, "accept-language": "zh" } });
  expect([wrong.status, wrong.headers.get("www-authenticate")]).toEqual([401, 'Bearer error="invalid_token"']);
  expect(wrong.body.error.message).toMatch(/[\u4e00-\u9fff]/);
  expect((await call("/mcp")).status).toBe(401);
});

test("a deleted key is refused within ten seconds, also in an existing session", async () => {
  const { key, keyId } = await newAccount();
  const client = await connect(key);
  await asAdmin(`/keys/${keyId}`, { method: "DELETE" });
  const result = await client.callTool({ name: "balance", arguments: {} }).catch((error: unknown) => error);
  expect(result).toMatchObject({ data: { status: 401 } });
});

test("a key over its rate limit reads when to try again, also where the API's error is a sentence alone", async () => {
  const { key } = await newAccount();
  await connect(key);
  const { READS } = reads(1); // the call itself is within the limit, the tool's request is not
  const params = { name: "balance", arguments: {} };
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  const answer = await call("/mcp", { key, body, headers: accept, vars: { RATE_LIMITS: "on", READS } });
  expect(new TextDecoder().decode(answer.body)).toMatch(/Too many requests\\nTry again in \d+ seconds\./);
});

/** A limiter that accepts this many reads, and how many it was asked for. */
function reads(allowed: number) {
  const counted = { reads: 0 };
  const READS: RateLimit = { limit: async () => ({ success: ++counted.reads <= allowed }) };
  return { READS, counted };
}

const list = { jsonrpc: "2.0", id: 2, method: "tools/list" };

test("each request counts as a read, also those that ask the API for nothing", async () => {
  const { key } = await newAccount();
  const { READS } = reads(4); // one more for the list of models, which is kept for ten seconds
  const statuses: number[] = [];
  for (let at = 0; at < 5; at++) {
    const answer = await call("/mcp", { key, body: list, headers: accept, vars: { RATE_LIMITS: "on", READS } });
    statuses.push(answer.status);
    expect(answer.headers.get("x-ratelimit-limit-requests")).toBe("600");
    if (answer.status === 429) expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
  }
  expect(statuses).toEqual([200, 200, 200, 429, 429]);
});

test("each request of a batch counts, and a batch above the limit does nothing", async () => {
  const { key } = await newAccount();
  const prompt = unique();
  const make = (id: number) => ({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name: "generate_image", arguments: { model: "imgA-4", prompt, wait: 0 } },
  });
  const within = reads(4);
  const fine = await call("/mcp", { key, body: [list, list, list], headers: accept, vars: { RATE_LIMITS: "on", READS: within.READS } });
  expect([fine.status, within.counted.reads]).toEqual([200, 4]);
  const above = await call("/mcp", { key, body: [make(1), make(2)], headers: accept, vars: { RATE_LIMITS: "on", READS: reads(1).READS } });
  expect([above.status, above.body.error.code]).toEqual([429, "rate_limit_exceeded"]);
  expect(await upstreamCalls(prompt)).toEqual([]);
  expect((await call("/v1/tasks", { key })).body.data).toEqual([]);
});

test("pages of other origins are refused; pages of the gateway's own host and programs are not", async () => {
  const { key } = await newAccount();
  const from = async (origin: string) => (await call("/mcp", { key, body: initialize(), headers: { ...accept, origin } })).status;
  expect([await from("https://evil.example"), await from("null"), await from("http://localhost:6274")]).toEqual([403, 403, 403]);
  expect(await from("https://gateway.example")).toBe(200);
  const local = await call("http://127.0.0.1:8787/mcp", {
    key,
    body: initialize(),
    headers: { ...accept, origin: "http://localhost:6274" },
  });
  expect(local.status).toBe(200);
});

test("a handshake starts a session, other requests do not", async () => {
  const { key } = await newAccount();
  const session = async (body: object, headers: Record<string, string> = {}) =>
    (await call("/mcp", { key, body, headers: { ...accept, ...headers } })).headers.get("mcp-session-id");
  const [one, other] = [await session(initialize()), await session(initialize("2025-06-18"))];
  expect(one).toMatch(/^[0-9a-f-]{36}$/);
  expect(other).not.toBe(one);
  expect(await session({ jsonrpc: "2.0", id: 2, method: "tools/list" }, { "mcp-session-id": one! })).toBeNull();
  expect(await session({ jsonrpc: "2.0", id: 2, method: "tools/list" })).toBeNull();
});

test("requests that violate the protocol", async () => {
  const { key } = await newAccount();
  const status = async (options: object) => (await call("/mcp", { key, ...options })).status;
  expect(await status({})).toBe(405);
  expect(await status({ method: "DELETE" })).toBe(405);
  expect(await status({ body: "{", headers: accept })).toBe(400);
  expect(await status({ body: "[]", headers: accept })).toBe(400);
  expect(await status({ body: initialize(), headers: { ...accept, "content-type": "text/plain" } })).toBe(415);
  const dense = await call("/mcp", {
    key,
    body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":[${"[],".repeat(50_000)}0]}`,
    headers: accept,
  });
  expect([dense.status, dense.body.error.message]).toEqual([
    400,
    "The request body may have at most 100,000 values, nested at most 64 deep.",
  ]);
  expect(await status({ body: `"${"a".repeat(17 * 1024 * 1024)}"`, headers: accept })).toBe(413);
});

test("if the Worker is not deployed, /mcp is 404", async () => {
  const answer = await call("/mcp", { key: "sk-x", vars: { MCP: undefined as never } });
  expect([answer.status, answer.body.error.code]).toEqual([404, "not_found"]);
});
