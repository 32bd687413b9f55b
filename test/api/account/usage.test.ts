/** `/v1/usage`: sums by day, model, key and reference, and the FOCUS table. Contract 2. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import {
  type Account,
  asAdmin,
  readBalance,
  call,
  chatsSettled,
  complete,
  holdTime,
  newAccount,
  script,
  submit,
  finish,
  unique,
  image,
} from "../../support/gateway.ts";

holdTime();

const dayMs = 86_400_000;
const images = "/v1/images/generations";
const date = (at: number) => new Date(at).toISOString().slice(0, 10);
const usage = (account: Account, query = "") => call(`/v1/usage${query}`, { key: account.key });

/** Moves the time to noon of the next day, so that no test runs across midnight. */
const nextNoon = () => vi.setSystemTime((Math.floor(Date.now() / dayMs) + 1) * dayMs + dayMs / 2);

async function fail(account: Account, more: object = {}): Promise<void> {
  const prompt = unique();
  await script({ match: prompt, polls: [{ failed: "provider_error" }] });
  await finish(account, await submit(account, images, { model: "imgA-4", prompt, ...more }));
}

/** Two days of one account with two keys: [first day, second day]. */
async function twoDays(): Promise<{ account: Account; second: Account; days: string[] }> {
  const account = await newAccount();
  const { body } = await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "second", quota: null } });
  const second = { ...account, key: body.key as string, keyId: body.id as string };
  nextNoon();
  const days = [date(Date.now())];
  await complete(account, images, image({ n: 2, reference: 'order, "1"' }));
  await complete(second, images, image({ model: "imgB-4o-image", reference: "order 2" }));
  await fail(account, { reference: "order 2" });
  nextNoon();
  days.push(date(Date.now()));
  await complete(account, images, image());
  const chat = { model: "textA-1", messages: [{ role: "user", content: "Hello" }] };
  expect((await call("/v1/chat/completions", { key: second.key, body: chat })).status).toBe(200);
  await chatsSettled(account);
  await submit(account, images, image()); // open: not in the sums yet
  return { account, second, days };
}

test("sums by day, model, key and reference agree with each other and with the balance", async () => {
  const { account, second, days } = await twoDays();
  const { used } = await readBalance(account);
  const chat = Math.round((used - 0.13) * 1e6) / 1e6;
  expect(chat).toBeGreaterThan(0);
  expect((await usage(account)).body).toEqual({
    object: "list",
    data: [
      { day: days[0], charged: 0.1, returned: 0.03, completed: 2, failed: 1 },
      { day: days[1], charged: expect.closeTo(0.03 + chat, 9), returned: expect.any(Number), completed: 2, failed: 0 },
    ],
  });
  const { data: models } = (await usage(account, "?group_by=model")).body;
  expect(models).toEqual([
    { model: "imgA-4", charged: 0.09, returned: 0.03, completed: 2, failed: 1 },
    { model: "imgB-4o-image", charged: 0.04, returned: 0, completed: 1, failed: 0 },
    { model: "textA-1", charged: chat, returned: expect.any(Number), completed: 1, failed: 0 },
  ]);
  const { data: keys } = (await usage(account, "?group_by=key")).body;
  expect(Object.fromEntries(keys.map(({ key, completed }: { key: string; completed: number }) => [key, completed]))).toEqual({
    [account.keyId]: 2,
    [second.keyId]: 2,
  });
  expect((await usage(second, "?group_by=reference")).body.data).toEqual([
    { reference: "order 2", charged: 0.04, returned: 0.03, completed: 1, failed: 1 },
    { reference: 'order, "1"', charged: 0.06, returned: 0, completed: 1, failed: 0 },
    { reference: null, charged: expect.closeTo(0.03 + chat, 9), returned: expect.any(Number), completed: 2, failed: 0 },
  ]);
});

test("a charge that the balance shows is in the usage at once", async () => {
  const account = await newAccount();
  await complete(account, images, image({ reference: "order 3" }));
  const chat = { model: "textA-1", messages: [{ role: "user", content: "Hello" }] };
  expect((await call("/v1/chat/completions", { key: account.key, body: chat })).status).toBe(200);
  await chatsSettled(account);
  const { used_balance: used } = (await call("/v1/balance", { key: account.key })).body;
  expect(used).toBeGreaterThan(0.03);
  for (const group of ["day", "model", "key", "reference"]) {
    const { data } = (await usage(account, `?group_by=${group}`)).body;
    expect(data.reduce((sum: number, { charged }: { charged: number }) => sum + charged, 0)).toBeCloseTo(used, 9);
  }
});

test("from and to are whole days, both included; other days are left out", async () => {
  const { account, days } = await twoDays();
  const [first, second] = days;
  const daysIn = async (query: string) => (await usage(account, query)).body.data.map(({ day }: { day: string }) => day);
  expect(await daysIn(`?from=${first}&to=${second}`)).toEqual([first, second]);
  expect(await daysIn(`?from=${second}`)).toEqual([second]);
  expect(await daysIn(`?to=${first}`)).toEqual([first]);
  expect(await daysIn(`?from=${first}&to=${first}`)).toEqual([first]);
  expect((await usage(account, `?from=${second}&group_by=reference`)).body.data).toMatchObject([{ reference: null, completed: 2 }]);
  expect((await usage(account, `?to=${first}&group_by=reference`)).body.data).toHaveLength(2);
});

test("usage of other accounts is not included, and an account without usage has no rows", async () => {
  await twoDays();
  const stranger = await newAccount();
  for (const group of ["day", "model", "key", "reference"])
    expect((await usage(stranger, `?group_by=${group}`)).body).toEqual({ object: "list", data: [] });
  expect((await call("/v1/usage")).status).toBe(401);
});

/** The fields of a CSV text without line breaks inside fields. */
const parse = (text: string) =>
  text
    .trimEnd()
    .split("\r\n")
    .map((row) =>
      [...row.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain!),
    );

async function table(account: Account, query: string): Promise<Record<string, string>[]> {
  const { status, headers, body } = await usage(account, query);
  expect(status).toBe(200);
  expect(headers.get("content-type")).toBe("text/csv; charset=utf-8");
  const [head, ...rows] = parse(new TextDecoder().decode(body));
  expect(head!.join()).toBe(
    "BilledCost,BillingCurrency,BillingPeriodStart,BillingPeriodEnd,ChargePeriodStart,ChargePeriodEnd,ChargeCategory,ConsumedQuantity,ConsumedUnit,ServiceName,ServiceCategory,SkuId,ResourceId,SubAccountId,Tags",
  );
  return rows.map((row) => Object.fromEntries(head!.map((name, at) => [name, row[at]!])));
}

test("FOCUS: a row per day, model and key; the rows add up to what was charged", async () => {
  const { account, second, days } = await twoDays();
  const rows = await table(account, "?format=focus");
  expect(rows).toHaveLength(4);
  const row = rows.find(({ SkuId }) => SkuId === "imgB-4o-image")!;
  const day = Date.parse(days[0]!);
  const month = new Date(day);
  const iso = (at: number) => new Date(at).toISOString().replace(".000", "");
  expect(row).toEqual({
    BilledCost: "0.04",
    BillingCurrency: "USD",
    BillingPeriodStart: iso(Date.UTC(month.getUTCFullYear(), month.getUTCMonth())),
    BillingPeriodEnd: iso(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1)),
    ChargePeriodStart: iso(day),
    ChargePeriodEnd: iso(day + dayMs),
    ChargeCategory: "Usage",
    ConsumedQuantity: "1",
    ConsumedUnit: "Requests",
    ServiceName: "Generation API",
    ServiceCategory: "AI and Machine Learning",
    SkuId: "imgB-4o-image",
    ResourceId: second.keyId,
    SubAccountId: account.id,
    Tags: "{}",
  });
  const total = (found: Record<string, string>[]) => found.reduce((sum, { BilledCost }) => sum + Number(BilledCost), 0);
  expect(total(rows)).toBeCloseTo((await readBalance(account)).used, 9);
  const tagged = await table(account, "?format=focus&group_by=reference");
  expect(tagged.map(({ Tags }) => Tags).toSorted((a, b) => (a! < b! ? -1 : 1))).toEqual([
    '{"reference":"order 2"}',
    '{"reference":"order, \\"1\\""}',
    "{}",
    "{}",
  ]);
  expect(total(tagged)).toBeCloseTo(total(rows), 9);
});

test("an invalid query parameter is refused with its name", async () => {
  const account = await newAccount();
  const rows: [string, string][] = [
    ["from=2026-02-30", "from"],
    ["from=yesterday", "from"],
    ["to=2026-1-1", "to"],
    ["from=2026-03-02&to=2026-03-01", "to"],
    ["from=2026-01-01&to=2026-04-03", "to"],
    // What the caller gave is named.
    ["from=2999-01-01", "from"],
    ["from=2001-01-01", "from"],
    ["group_by=kind", "group_by"],
    ["format=xml", "format"],
    ["from=2026-01-01&from=2026-01-02", "from"],
  ];
  for (const [query, param] of rows)
    expect(await usage(account, `?${query}`), query).toMatchObject({ status: 400, body: { error: { code: "invalid_request", param } } });
  expect((await usage(account, "?from=2026-01-01&to=2026-04-02")).status).toBe(200);
  expect((await call("/v1/usage", { key: account.key, body: {} })).status).toBe(405);
});

test("more tasks with a reference than one answer may read are refused, not summed in part", async () => {
  const account = await newAccount();
  const at = Date.now();
  const row = "INSERT INTO task_reference (account_id, reference, at, task_id) SELECT ?1, 'bulk', ?2, 'bulk_' || value FROM json_each(?3)";
  const ids = (count: number) => JSON.stringify(Array.from({ length: count }, (_, index) => index));
  await env.DB.prepare(row).bind(account.id, at, ids(20_000)).run();
  expect((await usage(account, "?group_by=reference")).body.data).toEqual([]);
  await env.DB.prepare(row)
    .bind(account.id, at + 1, ids(1))
    .run();
  expect(await usage(account, "?group_by=reference")).toMatchObject({
    status: 400,
    body: { error: { param: "from", details: [{ allowed: { maximum: 20_000 } }] } },
  });
  expect((await usage(account)).status).toBe(200);
});
