/** /mcp over HTTP: authentication, sessions, and requests that violate the protocol. */

import { expect, test } from "vitest";
import { asAdmin, call, newAccount } from "../support/gateway.ts";
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
  expect(result).toMatchObject({ isError: true, content: [{ text: "Failed to get token info" }] });
});

test("a key over its rate limit reads when to try again, also where the API's error is a sentence alone", async () => {
  const { key } = await newAccount();
  await connect(key);
  const READS: RateLimit = { limit: async () => ({ success: false }) };
  const params = { name: "balance", arguments: {} };
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  const answer = await call("/mcp", { key, body, headers: accept, vars: { RATE_LIMITS: "on", READS } });
  expect(new TextDecoder().decode(answer.body)).toMatch(/Too many requests\\nTry again in \d+ seconds\./);
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
