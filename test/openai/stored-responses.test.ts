/** Stored responses: continued by previous_response_id, read, deleted, forgotten after half an hour, and private to their account, or member. */

import { env } from "cloudflare:workers";
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { asAdmin, call, newAccount, unique } from "../support/gateway.ts";
import { v1 } from "./support.ts";

const responses = `${v1}/responses`;
const respond = async (key: string, body: object) => (await call(responses, { key, body: { model: "gpt-5", ...body } })).body;

/** The stored response's object. */
const objectOf = (id: string) => {
  const { ATTEMPTS } = env as unknown as OpenAiBindings;
  return ATTEMPTS.get(ATTEMPTS.idFromString(id.slice("resp_".length)));
};

/** Streams a response; returns its last event. */
async function stream(key: string, body: object) {
  const { body: bytes } = await call(responses, { key, body: { model: "gpt-5", stream: true, ...body } });
  const events = new TextDecoder().decode(bytes).trim().split("\n\n");
  return JSON.parse(events.at(-1)!.split("\ndata: ")[1]!) as { type: string; response: { id: string; store: boolean } };
}

test.each([false, true])(
  "a conversation continues from its last response, with its own instructions alone (stream: %s)",
  async (isStream) => {
    const { key } = await newAccount();
    const first = { input: "My name is Ada.", instructions: "Be brief." };
    const { id } = isStream ? (await stream(key, first)).response : await respond(key, first);
    const second = await respond(key, { input: [{ role: "user", content: "And mine?" }], previous_response_id: id });
    expect(second.previous_response_id).toBe(id);
    const third = await respond(key, { input: "echo-request", instructions: "Be kind.", previous_response_id: second.id });
    expect(JSON.parse(third.output[0].content[0].text).messages).toEqual([
      { role: "system", content: "Be kind." },
      { role: "user", content: "My name is Ada." },
      { role: "assistant", content: "Hello there" },
      { role: "user", content: "And mine?" },
      { role: "assistant", content: "Hello there" },
      { role: "user", content: "echo-request" },
    ]);
    // Any response of the conversation can be continued, also for a second time.
    const other = await respond(key, { input: "echo-request", previous_response_id: id });
    expect(JSON.parse(other.output[0].content[0].text).messages).toHaveLength(3);
  },
);

test("a tool's result continues the response that called it", async () => {
  const { key } = await newAccount();
  const tools = [{ type: "function", name: "clock" }];
  const { id, output } = await respond(key, { input: "call-tool:clock", tools });
  const result = { type: "function_call_output", call_id: output[0].call_id, output: "echo-request" };
  const next = await respond(key, { input: [result], tools, previous_response_id: id });
  expect(JSON.parse(next.output[0].content[0].text).messages.slice(1)).toEqual([
    { role: "assistant", tool_calls: [{ id: "call_1", type: "function", function: { name: "clock", arguments: "{}" } }] },
    { role: "tool", tool_call_id: "call_1", content: "echo-request" },
  ]);
});

test("a stored response can be read and deleted by its account alone", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const made = await respond(account.key, { input: "Hi" });
  const path = `${responses}/${made.id}`;
  const read = await call(path, { key: account.key });
  expect([read.status, read.body]).toEqual([200, made]);
  for (const [method, key] of [
    ["GET", other.key],
    ["DELETE", other.key],
  ] as const)
    expect(await call(path, { key, method })).toMatchObject({ status: 404, body: { error: { type: "invalid_request_error" } } });
  const foreign = await call(responses, { key: other.key, body: { model: "gpt-5", input: "x", previous_response_id: made.id } });
  expect([foreign.status, foreign.body.error]).toMatchObject([400, { code: "previous_response_not_found", param: "previous_response_id" }]);
  expect((await call(path, { key: "sk-wrong" })).status).toBe(401);
  const streamed = await call(`${path}?stream=true`, { key: account.key });
  expect([streamed.status, streamed.body.error]).toMatchObject([400, { param: "stream", message: "stream: must be false" }]);
  const deleted = await call(path, { key: account.key, method: "DELETE" });
  expect([deleted.status, deleted.body]).toEqual([200, { id: made.id, object: "response", deleted: true }]);
  expect((await call(path, { key: account.key })).status).toBe(404);
  expect((await call(path, { key: account.key, method: "DELETE" })).status).toBe(404);
});

test("a member reads, continues and deletes the member's own responses, with any of the member's keys; the account's other keys all", async () => {
  const account = await newAccount();
  const makeMember = async () => {
    const user = unique();
    await env.DB.batch([
      env.DB.prepare(
        "INSERT INTO auth_user (id, name, email, emailVerified, createdAt, updatedAt) VALUES (?1, 'M', ?1, 1, '2026-11-01', '2026-11-01')",
      ).bind(user),
      env.DB.prepare("INSERT INTO membership (id, account_id, user_id, role, created_at) VALUES (?1, ?2, ?1, 'member', 1)").bind(
        user,
        account.id,
      ),
    ]);
    return user;
  };
  const makeKey = async (user: string): Promise<string> => {
    const { body } = await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "key", quota: null } });
    await env.DB.prepare("UPDATE api_key SET owner_id = ?2 WHERE id = ?1").bind(body.id, user).run();
    return body.key;
  };
  const member = await makeMember();
  const [ann, anns, bob] = [await makeKey(member), await makeKey(member), await makeKey(await makeMember())];
  const made = await respond(ann, { input: "My name is Ann." });
  const path = `${responses}/${made.id}`;
  const goOn = async (key: string) =>
    (await call(responses, { key, body: { model: "gpt-5", input: "And mine?", previous_response_id: made.id } })).status;
  const reads = async (key: string) => [(await call(path, { key })).status, await goOn(key)];
  expect([await reads(bob), (await call(path, { key: bob, method: "DELETE" })).status]).toEqual([[404, 400], 404]);
  for (const key of [ann, anns, account.key]) expect(await reads(key)).toEqual([200, 200]);
  expect((await call(path, { key: anns, method: "DELETE" })).status).toBe(200);
  const ofAccount = await respond(account.key, { input: "Hi" });
  expect((await call(`${responses}/${ofAccount.id}`, { key: ann })).status).toBe(404);
});

test("reading a stored response counts as a read", async () => {
  const { key } = await newAccount();
  const { id } = await respond(key, { input: "Hi" });
  const READS: RateLimit = { limit: async () => ({ success: false }) };
  const answer = await call(`${responses}/${id}`, { key, vars: { RATE_LIMITS: "on", READS } });
  expect([answer.status, answer.body.error.type]).toEqual([429, "requests"]);
});

test("after half an hour nothing of it is left", async () => {
  const { key } = await newAccount();
  const { id } = await respond(key, { input: "Hi" });
  const object = objectOf(id);
  const due = await runInDurableObject(object, (_, ctx) => ctx.storage.getAlarm());
  expect(Math.abs(due! - Date.now() - 30 * 60_000)).toBeLessThan(60_000);
  await runDurableObjectAlarm(object);
  expect(await runInDurableObject(object, async (_, ctx) => [...ctx.storage.kv.list()])).toEqual([]);
  expect((await call(`${responses}/${id}`, { key })).status).toBe(404);
  expect((await call(responses, { key, body: { model: "gpt-5", input: "x", previous_response_id: id } })).status).toBe(400);
});

test.each([
  ["store: false", { input: "Hi", store: false }],
  ["a conversation that is too large", { input: "x".repeat(600_000) }],
])("with %s nothing is stored, and the response says so", async (_, body) => {
  const { key } = await newAccount();
  for (const made of [await respond(key, body), (await stream(key, body)).response]) {
    expect(made.store).toBe(false);
    expect(await runInDurableObject(objectOf(made.id), async (_object, ctx) => [...ctx.storage.kv.list()])).toEqual([]);
    expect((await call(`${responses}/${made.id}`, { key })).status).toBe(404);
  }
});

test("a response that failed, or a dry run, cannot be continued", async () => {
  const { key } = await newAccount();
  const dry = await call(`${responses}?dry_run=true`, { key, body: { model: "gpt-5", input: "Hi" } });
  expect([dry.status, dry.body.object]).toEqual([200, "generation.dry_run"]);
  for (const id of ["resp_1", `resp_${"0".repeat(64)}`, "x", ""])
    expect((await call(responses, { key, body: { model: "gpt-5", input: "x", previous_response_id: id } })).body.error.code).toBe(
      "previous_response_not_found",
    );
});

test("an unknown key is refused as such, whatever it names", async () => {
  const { id } = await respond((await newAccount()).key, { input: "Hi" });
  const answer = await call(responses, { key: "sk-wrong", body: { model: "gpt-5", input: "x", previous_response_id: id } });
  expect([answer.status, answer.body.error.code]).toEqual([401, "invalid_api_key"]);
});
