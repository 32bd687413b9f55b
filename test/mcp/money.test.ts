/** Charges of agents at /mcp: a repeated call is charged once, and agents in parallel cannot exceed their key's quota. */

import { expect, test } from "vitest";
import { asAdmin, readBalance, finish, holdTime, newAccount, script, unique, upstreamCalls } from "../support/gateway.ts";
import { callTool, connect, type Era } from "./client.ts";

holdTime();

const image = (more: object = {}) => ({ model: "imgA-4", prompt: unique(), wait: 0, ...more });

test.each<Era>(["legacy", "modern"])("a loop that calls the same tool five times is charged once (%s)", async (era) => {
  const account = await newAccount(1);
  const client = await connect(account.key, era);
  const args = image();
  const first = await callTool(client, "generate_image", args);
  const { task_id } = first.record;
  expect(first.text).not.toContain("earlier call");
  // The same arguments in different notations: in another order, with empty fields, with an alias, and after the image was completed.
  await callTool(client, "generate_image", { size: null, ...Object.fromEntries(Object.entries(args).toReversed()) });
  await finish(account, task_id);
  for (const wait of [0, 1, undefined]) {
    const again = await callTool(client, "generate_image", { ...args, wait });
    expect(again.record).toMatchObject({ task_id, status: "completed" });
    expect(again.text).toMatch(/^This is the task of an earlier call .* nothing was submitted or charged again\. .* variation/);
  }
  expect((await upstreamCalls(args.prompt)).filter((name) => name === "start")).toHaveLength(1);
  expect(await readBalance(account)).toMatchObject({ used: 0.03, reserved: 0 });
});

test("parallel calls are one task; an alias is equal to the model's name", async () => {
  const account = await newAccount(1);
  const client = await connect(account.key);
  const args = image({ model: "imgC-alias-pro" });
  const models = ["imgC-alias-pro", "imgC-3-pro-image-preview", "imgC-alias-pro", "imgC-3-pro-image-preview"];
  const results = await Promise.all(models.map((model) => callTool(client, "generate_image", { ...args, model })));
  expect(new Set(results.map(({ record }) => record.task_id)).size).toBe(1);
  expect(await readBalance(account)).toMatchObject({ reserved: 0.12 });
});

test("another variation, session or key is another task", async () => {
  const account = await newAccount(1);
  const args = image();
  const [one, other] = [await connect(account.key), await connect(account.key)];
  const modern = [await connect(account.key, "modern"), await connect(account.key, "modern")];
  const readTask = async (client: typeof one, more: object = {}) =>
    (await callTool(client, "generate_image", { ...args, ...more })).record.task_id as string;
  const [plain, varied, second] = [await readTask(one), await readTask(one, { variation: 2 }), await readTask(other)];
  expect(new Set([plain, varied, second]).size).toBe(3);
  expect([await readTask(one), await readTask(one, { variation: 2 }), await readTask(other)]).toEqual([plain, varied, second]);
  // Without a handshake there is no session: callers are identified by their keys.
  const stateless = await Promise.all(modern.map((client) => readTask(client)));
  expect(new Set(stateless).size).toBe(1);
  expect([plain, varied, second]).not.toContain(stateless[0]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0.12 });
});

test("a call whose task failed is submitted again, five times at most, and costs nothing", async () => {
  const account = await newAccount(1);
  const client = await connect(account.key);
  const args = image();
  await script({ match: args.prompt, polls: Array.from({ length: 5 }, () => ({ failed: "content_policy_violation" })) });
  const tasks = new Set<string>();
  for (let attempt = 0; attempt < 5; attempt++) {
    const { record } = await callTool(client, "generate_image", args);
    expect(record.status).toBe("queued");
    tasks.add(record.task_id);
    await finish(account, record.task_id);
  }
  expect(tasks.size).toBe(5);
  const last = await callTool(client, "generate_image", args);
  expect(last).toMatchObject({ isError: true, record: { status: "failed", error: { code: "content_policy_violation" } } });
  expect(last.text).toMatch(/^It failed each time\. .* Nothing was charged\. Change the prompt\./);
  expect((await callTool(client, "generate_image", { ...args, variation: 1 })).record.status).toBe("queued");
  expect(await readBalance(account)).toMatchObject({ used: 0, reserved: 0.03 });
});

test.each([
  ["quota", 0.1, undefined, "insufficient_quota"],
  ["budget", null, { amount: 0.1, window: "day" }, "budget_exceeded"],
])("agents in parallel cannot overspend a key with a small %s", async (limit, quota, budget, code) => {
  const account = await newAccount(100, quota);
  if (budget) await asAdmin(`/keys/${account.keyId}`, { method: "PATCH", body: { budget } });
  const agents = await Promise.all(Array.from({ length: 8 }, (_, at) => connect(account.key, at % 2 ? "modern" : "legacy")));
  const results = await Promise.all(
    agents.flatMap((agent) => [callTool(agent, "generate_image", image()), callTool(agent, "generate_image", image())]),
  );
  const made = results.filter(({ isError }) => !isError);
  expect(made).toHaveLength(3);
  for (const refused of results.filter(({ isError }) => isError)) expect(refused.text).toContain(code);
  for (const { record } of made) await finish(account, record.task_id);
  expect(await readBalance(account)).toMatchObject({ used: 0.09, reserved: 0 });
  const { record } = await callTool(agents[0]!, "balance");
  expect(record.used_balance).toBe(0.09);
  expect(limit === "quota" ? record.remain_balance : record.key.budget.remaining).toBe(0.01);
});
