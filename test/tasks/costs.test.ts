/** What the makers bill is booked with each settlement: attempts that made the result, that failed and are billed, and that lost to another route. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { bindings, failOnce } from "../support/faults.ts";
import {
  asAdmin,
  call,
  chatsSettled,
  deliver,
  finish,
  holdTime,
  newAccount,
  pass,
  script,
  unique,
  wakeWallet,
} from "../support/gateway.ts";
import { pixel as png } from "../media/images.ts";

holdTime();

const cost = { image: 0.01, hd_x: 3 };
const route = (model: string, more: object = {}) => ({ provider: "sandbox", model, cost, ...more });

/** What the sums that margins are read from have altogether. */
const sumCosts = async () => (await env.DB.prepare("SELECT sum(cost) AS cost FROM settled_sum").first<number>("cost")) ?? 0;

/** The entry of a task in D1. */
async function readEntry(taskId: string) {
  const row = await env.DB.prepare("SELECT charged, cost, attempts FROM entry WHERE task_id = ?1")
    .bind(taskId)
    .first<{ charged: number; cost: number | null; attempts: string | null }>();
  return row && { ...row, attempts: JSON.parse(row.attempts ?? "null") as unknown };
}

async function make(body: object, vars: object, steps?: (prompt: string) => Parameters<typeof script>[0]) {
  const account = await newAccount();
  const prompt = unique();
  if (steps) await script(steps(prompt));
  const { body: created } = await call("/v1/images/generations", { key: account.key, body: { model: "imgA-4", prompt, ...body }, vars });
  const status = await finish(account, created.id as string, 40);
  await wakeWallet(account);
  return { account, id: created.id as string, status: status.body.data, entry: await readEntry(created.id as string) };
}

test("a task costs what its route says of the images that were made", async () => {
  const vars = { ROUTES: { "imgA-4": [route("made")] } };
  const { entry, status } = await make({ n: 3, quality: "hd" }, vars);
  expect(entry).toEqual({ charged: 180_000, cost: 90_000, attempts: [["0 sandbox made", 90_000]] });
  expect(JSON.stringify(status)).not.toContain("90000");
});

test("a route without a cost: its attempts are counted as ones of unknown cost", async () => {
  const { entry } = await make({}, { ROUTES: { "imgA-4": [{ provider: "sandbox", model: "free" }] } });
  expect(entry).toEqual({ charged: 30_000, cost: null, attempts: [["0 sandbox free", null]] });
});

test.each([
  [true, 20_000, 10_000],
  [false, 10_000, 0],
])("a route that fails the work, and bills failures: %s", async (bills, sum, failed) => {
  const vars = { ROUTES: { "imgA-4": [route("first", { bills_failures: bills }), route("second")] } };
  const { entry } = await make({}, vars, (prompt) => ({ match: prompt, model: "first", polls: [{ failed: "provider_error" }] }));
  const attempts = [
    ["0 sandbox first", failed],
    ["1 sandbox second", 10_000],
  ];
  expect(entry).toEqual({ charged: 30_000, cost: sum, attempts });
});

test("content that a maker refuses and bills costs the operator, not the caller", async () => {
  const vars = { ROUTES: { "imgA-4": [route("strict", { bills_failures: true })] } };
  const { entry, status } = await make({}, vars, (prompt) => ({ match: prompt, polls: [{ failed: "content_policy_violation" }] }));
  expect(status.error.code).toBe("content_policy_violation");
  expect(entry).toEqual({ charged: 0, cost: 10_000, attempts: [["0 sandbox strict", 10_000]] });
});

test("a chat costs what its tokens cost, and a caller sees nothing of it", async () => {
  const account = await newAccount();
  const vars = { ROUTES: { "textA-1": [{ provider: "sandbox", model: "textA-1", cost: { input: 1, output: 4 } }] } };
  const messages = [{ role: "user", content: unique() }];
  const answer = await call("/v1/chat/completions", { key: account.key, body: { model: "textA-1", messages }, vars });
  const { prompt_tokens: input, completion_tokens: output } = answer.body.usage as { prompt_tokens: number; completion_tokens: number };
  await chatsSettled(account);
  await wakeWallet(account);
  const entry = await readEntry(answer.body.id as string);
  expect(entry?.cost).toBe(input + 4 * output);
  expect(entry?.charged).toBe(2 * entry!.cost!);
});

test("margins by model, route, account and day have the same sums, and only the operator sees them", async () => {
  // A day on which no other file has settled anything.
  const now = Date.now();
  vi.setSystemTime(now + 1_000 * 86_400_000);
  const vars = { ROUTES: { "imgA-4": [route("first", { bills_failures: true }), route("second")] } };
  const { account, entry } = await make({}, vars, (prompt) => ({ match: prompt, model: "first", polls: [{ failed: "provider_error" }] }));
  expect(entry?.cost).toBeGreaterThan(0);
  const day = new Date().toISOString().slice(0, 10);
  const groups = await Promise.all(
    ["model", "route", "account", "day"].map(async (group) => {
      const { status, body } = await asAdmin(`/margins?group_by=${group}&from=${day}&to=${day}`);
      expect(status).toBe(200);
      return [group, body] as const;
    }),
  );
  const totals = groups.map(([, { total }]) => total as { revenue: number; cost: number; margin: number });
  for (const total of totals) expect(total).toEqual({ ...totals[0], revenue: 0.03 });
  const rows = Object.fromEntries(groups.map(([group, { data }]) => [group, data as Record<string, unknown>[]]));
  expect(rows["account"]!.find((row) => row["account"] === account.id)).toMatchObject({
    revenue: 0.03,
    cost: entry!.cost! / 1e6,
    margin: (30_000 - entry!.cost!) / 1e6,
    completed: 1,
    failed: 0,
  });
  expect(rows["route"]!.some((row) => row["route"] === "sandbox second")).toBe(true);
  expect((await call("/admin/margins", { key: account.key })).status).toBe(401);
  expect((await asAdmin("/margins?from=2026-02-01&to=2026-01-01")).body.error).toMatchObject({ param: "to" });
  expect((await asAdmin("/margins?group_by=key")).status).toBe(400);
  vi.setSystemTime(now);
});

test.each([
  ["", undefined],
  [", although the database does not answer", false],
  [", once, although the answers of the database are lost", true],
])("work that lost to another route, and cannot be stopped, is booked when its maker ends it%s", async (_, isDone) => {
  const vars = { ROUTES: { "imgA-4": [route("first"), route("second", { cost: { image: 0.02 } })] } };
  const account = await newAccount();
  const prompt = unique();
  const silent = Array.from({ length: 8 }, () => 500);
  await script({ match: prompt, model: "first", polls: [{ progress: 1 }, ...silent], cancels: Array<number>(20).fill(409) });
  const { body } = await call("/v1/images/generations", { key: account.key, body: { model: "imgA-4", prompt }, vars });
  const id = body.id as string;
  const before = await sumCosts();
  await finish(account, id, 60);
  if (isDone !== undefined) failOnce(bindings.database(), "batch", isDone, 2);
  for (let round = 0; round < 6; round++) {
    await deliver(id);
    await pass(id, 31);
  }
  await wakeWallet(account);
  const attempts = [
    ["0 sandbox first", 10_000],
    ["1 sandbox second", 20_000],
  ];
  expect(await readEntry(id)).toEqual({ charged: 30_000, cost: 30_000, attempts });
  expect((await sumCosts()) - before).toBe(30_000);
});

test.each([
  [", although the database does not answer", false],
  [", although the answers of the database are lost", true],
])("work that lost to another route, and that its maker stops, costs nothing%s", async (_, isDone) => {
  const vars = { ROUTES: { "imgA-4": [route("first", { bills_failures: true }), route("second", { cost: { image: 0.02 } })] } };
  const account = await newAccount();
  const prompt = unique();
  await script({ match: prompt, model: "first", polls: [{ progress: 1 }, ...Array<number>(8).fill(500)] });
  const { body } = await call("/v1/images/generations", { key: account.key, body: { model: "imgA-4", prompt }, vars });
  const id = body.id as string;
  const database = bindings.database();
  const original = database["batch"]!;
  let failures = 0;
  vi.spyOn(database, "batch").mockImplementation(async function (this: unknown, ...values: unknown[]) {
    const isBooking = (values[0] as { statement: string }[]).some(({ statement }) => statement.includes("attempts IS ?2"));
    if (!isBooking || failures++ > 1) return original.apply(this, values);
    if (isDone) await original.apply(this, values);
    throw new Error("scripted fault");
  });
  await finish(account, id, 60);
  // Past the deadline too, after which nobody asks the maker.
  for (let round = 0; round < 40; round++) await pass(id, 60);
  await wakeWallet(account);
  expect(failures).toBeGreaterThan(0);
  const attempts = [
    ["0 sandbox first", 0],
    ["1 sandbox second", 20_000],
  ];
  expect(await readEntry(id)).toEqual({ charged: 30_000, cost: 20_000, attempts });
});

test.each([
  ["the deletion of its inputs fails", () => failOnce(bindings.bucket(), "delete")],
  ["the database does not answer", () => failOnce(bindings.statement(), "first", false, 2)],
])("cancelled work that its maker stops costs nothing, although %s", async (_, fail) => {
  const account = await newAccount();
  const prompt = unique();
  await script({ match: prompt, polls: Array.from({ length: 90 }, () => ({ progress: 5 })) });
  const body = { model: "imgA-4", prompt, images: [`data:image/png;base64,${png}`] };
  const created = await call("/v1/images/generations", {
    key: account.key,
    body,
    vars: { ROUTES: { "imgA-4": [route("first", { bills_failures: true })] } },
  });
  const id = created.body.id as string;
  await deliver(id);
  await pass(id, 2);
  fail();
  await call(`/v1/tasks/${id}/cancel`, { method: "POST", key: account.key });
  for (let round = 0; round < 40; round++) await pass(id, 60);
  await wakeWallet(account);
  expect(await readEntry(id)).toEqual({ charged: 0, cost: 0, attempts: [["0 sandbox first", 0]] });
});
