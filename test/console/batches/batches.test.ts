/** The console's pages of batches: lines from files, tables and text, what they cost, progress, failed lines and their repeat. */

import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { unzipSync } from "fflate";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { toBatchObjectId } from "../../../src/base/ids.ts";
import { run as runBatch, wake as wakeBatch } from "../../support/batches.ts";
import { accessKeyId, buckets, secretAccessKey } from "../../support/bucket.ts";
import { type Account, alarm, call, finish, holdTime, script, unique } from "../../support/gateway.ts";
import { type Browser, person } from "../support.ts";

beforeEach(holdTime);
afterEach(() => void vi.useRealTimers());

const page = "/console/batches";
const images = "/v1/images/generations";

const line = (id: string, more: object = {}) => ({ custom_id: id, endpoint: images, body: { model: "imgA-4", prompt: unique(), ...more } });
const toText = (lines: object[]) => lines.map((one) => `${JSON.stringify(one)}\n`).join("");

/** Sends the form of a file, and returns the page that it leads to. */
async function uploadLines(browser: Browser, lines: object[], name = "lines.jsonl"): Promise<string> {
  const form = new FormData();
  form.set("file", new File([toText(lines)], name, { type: "application/octet-stream" }));
  const answer = await browser.ask(`${page}/file`, form);
  expect(answer.status, await answer.clone().text()).toBe(303);
  return answer.headers.get("location")!;
}

async function sendText(browser: Browser, fields: Record<string, string>, table?: string): Promise<Response> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  if (table !== undefined) form.set("table", new File([table], "rows.csv", { type: "text/csv" }));
  return browser.ask(`${page}/lines`, form);
}

const valueOf = (html: string, name: string) => new RegExp(`name="${name}" (?:[^>]*)value="([^"]*)"`).exec(html)?.[1] ?? "";

/** Begins a batch with the form of a page; returns the path of its page. */
async function start(browser: Browser, review: string, fields: Record<string, string> = {}): Promise<string> {
  const html = await browser.read(review);
  const answer = await browser.ask(page, {
    file: valueOf(html, "file"),
    key: valueOf(html, "key"),
    max_cost: valueOf(html, "max_cost"),
    concurrency: "5",
    callback_url: "",
    reference: "",
    ...fields,
  });
  expect(answer.status, await answer.clone().text()).toBe(303);
  return answer.headers.get("location")!;
}

async function wake(id: string): Promise<void> {
  const objectId = toBatchObjectId(env.BATCHES, id);
  if (!objectId) throw new Error(`no batch: ${id}`);
  await runDurableObjectAlarm(env.BATCHES.get(objectId));
}

/** Runs alarms and tasks until the batch has ended. */
async function run(account: Account, path: string): Promise<void> {
  const id = path.split("/").at(-1)!;
  for (let round = 0; round < 40; round++) {
    await wake(id);
    const { body: batch } = await call(`/v1/batches/${id}`, { key: account.key });
    if (batch.ended_at !== undefined) return;
    const { body: tasks } = await call("/v1/tasks?limit=100", { key: account.key });
    for (const { id: task, status } of tasks.data) if (status === "queued" || status === "in_progress") await finish(account, task);
    vi.setSystemTime(Date.now() + 5_000);
  }
  throw new Error("the batch did not end");
}

test("a file of lines is checked before anything runs: its price by model, and each refused line with its reason", async () => {
  const { browser, account } = await person();
  expect(await browser.read(page)).toContain("No batch yet");
  expect(await browser.read(`${page}/new`)).toContain('enctype="multipart/form-data"');
  const review = await uploadLines(browser, [
    line("one"),
    line("two", { n: 2, metadata: null }),
    line("two"),
    line("bad", { size: "none" }),
    { custom_id: "chat", endpoint: "/v1/nothing", body: {} },
    { endpoint: images, body: { model: "none", prompt: "p" } },
  ]);
  const html = await browser.read(review);
  // Three images of 0.03.
  for (const words of ["Start · $0.09", 'value="0.09"', "imgA-4", "2 will run"]) expect(html).toContain(words);
  expect(html).toMatch(/<th scope="row" class="num">3<\/th>.*two.*custom_id/s);
  expect(html).toMatch(/<th scope="row" class="num">4<\/th>.*bad.*size/s);
  expect(html).toMatch(/<th scope="row" class="num">5<\/th>.*endpoint.*remix/s);
  expect(html).toMatch(/<th scope="row" class="num">6<\/th>.*custom_id: [^;<]+; [^;<]*model/s);
  expect((await call("/v1/batches", { key: account.key })).body.data).toEqual([]);
  const { browser: stranger } = await person();
  expect((await stranger.ask(review)).status).toBe(404);
  // Nothing that could be started.
  const none = await browser.read(await uploadLines(browser, [{ custom_id: "x" }]));
  expect(none).toContain("No line can run");
  expect(none).not.toContain("Start ·");
});

test("a table becomes lines: columns are fields of the model, and unknown ones are named", async () => {
  const { browser, account } = await person();
  const table = [
    "\uFEFFcustom_id;model;prompt;n;metadata.style",
    'sea;imgA-4;"A sea; calm, ""blue""\nand wide";2;',
    "film;vidA-2;A train;;",
    "",
  ].join("\r\n");
  const answer = await sendText(browser, { text: "", model: "" }, table);
  expect(answer.status, await answer.clone().text()).toBe(303);
  const review = answer.headers.get("location")!;
  const file = await call(`/v1/files/${new URLSearchParams(review.split("?")[1]).get("file")}/content`, { key: account.key });
  const lines = new TextDecoder()
    .decode(file.body)
    .trim()
    .split("\n")
    .map((text) => JSON.parse(text));
  expect(lines).toEqual([
    { custom_id: "sea", endpoint: images, body: { model: "imgA-4", prompt: 'A sea; calm, "blue"\nand wide', n: 2 } },
    { custom_id: "film", endpoint: "/v1/videos/generations", body: { model: "vidA-2", prompt: "A train" } },
  ]);
  expect(await browser.read(review)).toContain("2 will run");
  expect(await browser.read("/console/files")).toContain("rows.jsonl");
  // Pasted, with one model for all rows and no ids.
  const pasted = await sendText(browser, { text: "prompt,size\nA dune,16:9\n", model: "imgA-4" });
  expect(await browser.read(pasted.headers.get("location")!)).toContain("Start · $0.03");
  const refusals = [
    [{ text: "prompt\nA dune\n", model: "" }, "no column named model"],
    [{ text: "prompt,colour\nA dune,red\n", model: "imgA-4" }, "No field has the name colour."],
    [{ text: "prompt\n", model: "imgA-4" }, "The table has no rows."],
    [{ text: "", model: "imgA-4" }, "The table has no rows."],
  ] as const;
  for (const [fields, words] of refusals) {
    const refused = await sendText(browser, fields);
    expect(refused.status).toBe(400);
    const html = await refused.text();
    expect(html).toContain(words);
    expect(html).toContain(fields.text.trim());
  }
});

test("JSON lines can be pasted, and a file of something else is refused", async () => {
  const { browser } = await person();
  const pasted = await sendText(browser, { text: toText([line("a"), line("b")]), model: "" });
  expect(await browser.read(pasted.headers.get("location")!)).toContain("Start · $0.06");
  const form = new FormData();
  form.set("file", new File([new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, ...new Uint8Array(100)])], "a.jsonl"));
  const refused = await browser.ask(`${page}/file`, form);
  expect(refused.status).toBe(400);
  expect(await refused.text()).toContain("does not contain JSON lines");
  form.set("file", new File(["no lines"], "a.jsonl"));
  expect((await browser.ask(`${page}/file`, form)).status).toBe(400);
  expect((await browser.ask(`${page}/file`, { file: "x" })).status).toBe(400);
});

test("a batch is begun once with its limit, shows work and money while it runs, and its results afterwards", async () => {
  const { browser, account } = await person();
  const { browser: stranger } = await person();
  const review = await uploadLines(
    browser,
    Array.from({ length: 7 }, (_, at) => line(`line-${at}`)),
  );
  const html = await browser.read(review);
  const form = {
    file: valueOf(html, "file"),
    key: valueOf(html, "key"),
    max_cost: "0.5",
    concurrency: "3",
    callback_url: "",
    reference: "Autumn catalogue",
  };
  const first = await browser.ask(page, form);
  const path = first.headers.get("location")!;
  expect((await browser.ask(page, form)).headers.get("location")).toBe(path);
  const id = path.split("/").at(-1)!;
  await wake(id);
  await wake(id);
  const running = await browser.read(path);
  for (const words of [
    "Autumn catalogue",
    "In progress",
    'hx-trigger="every 3s"',
    "0 done, 0 failed, 3 running, 4 waiting",
    "$0.21",
    "$0.50",
  ])
    expect(running).toContain(words);
  expect(await browser.read(page)).toMatch(/Autumn catalogue.*In progress.*0 of 7/s);
  await run(account, path);
  const ended = await browser.read(path);
  for (const words of ["Completed", "7 of 7", "line-6", "Result file", "Results"]) expect(ended).toContain(words);
  for (const words of ["hx-trigger", "Failed lines", `${path}/cancel`]) expect(ended).not.toContain(words);
  expect(ended).toContain('src="/console/thumbnails/');
  const lines = await browser.read(`${path}/lines`);
  expect(lines).toMatch(/line-0.*line-6/s);
  expect(lines).toContain('class="mini" src="/console/thumbnails/');
  expect(await browser.read(`${path}/lines?after=3`)).not.toContain("line-3<");
  expect(await browser.read(`${path}/lines?status=failed`)).toContain("No such line");
  const results = await browser.ask(`${path}/results.jsonl`);
  expect(results.headers.get("content-disposition")).toBe(`attachment; filename="${id}.jsonl"`);
  expect((await results.text()).trim().split("\n")).toHaveLength(7);
  const archive = await browser.ask(`${path}/files.zip`);
  expect([archive.status, archive.headers.get("content-type")]).toEqual([200, "application/zip"]);
  expect(Object.keys(unzipSync(new Uint8Array(await archive.arrayBuffer()))).length).toBeGreaterThan(0);
  for (const place of ["", "/lines", "/results.jsonl", "/files.zip", "/failed.jsonl", "/cancel"])
    expect((await stranger.ask(path + place)).status, place).toBe(404);
  expect((await stranger.ask(`${path}/repeat`, { price: "1" })).status).toBe(404);
  expect((await browser.ask(`${page}/nothing`)).status).toBe(404);
});

test("a form with wrong values is shown again with them, each error beside its field", async () => {
  const { browser, account } = await person();
  const review = await uploadLines(browser, [line("one")]);
  const file = valueOf(await browser.read(review), "file");
  const send = (fields: Record<string, string>) =>
    browser.ask(page, { file, key: "k", max_cost: "1", concurrency: "5", callback_url: "", reference: "", ...fields });
  const cases = [
    [{ max_cost: "much" }, "f-max_cost", "The limit must be a number"],
    [{ concurrency: "101" }, "f-concurrency", "At a time: "],
    [{ callback_url: "ftp://a.example/" }, "f-callback_url", "Webhook address: "],
  ] as const;
  for (const [fields, field, words] of cases) {
    const answer = await send(fields);
    expect(answer.status).toBe(400);
    const html = await answer.text();
    expect(html).toContain(words);
    expect(html).toMatch(new RegExp(`id="${field}"[^>]*aria-invalid="true"|aria-invalid="true"[^>]*id="${field}"`));
    for (const value of Object.values(fields)) expect(html).toContain(`value="${value}"`);
  }
  expect((await send({ file: "file_gone" })).status).toBe(404);
  expect((await call("/v1/batches", { key: account.key })).body.data).toEqual([]);
});

test("failed lines are grouped by reason, downloaded, and repeated alone for the price that was named", async () => {
  const { browser, account } = await person();
  const prompt = unique();
  await script({ match: prompt, polls: [{ failed: "content_policy_violation" }] });
  const lines = [line("good"), line("misspelt", { size: "none" }), line("shocking", { prompt, n: 2 })];
  const path = await start(browser, await uploadLines(browser, lines), { reference: "Mixed" });
  await run(account, path);
  const html = await browser.read(path);
  for (const words of ["Invalid fields <b>1</b>", "Refused for content <b>1</b>", "misspelt", "shocking"]) expect(html).toContain(words);
  // A line that was refused when it was checked would be refused again.
  expect(html).toContain("Repeat 1 line · $0.06");
  const invalid = await browser.read(`${path}?code=invalid_request`);
  expect(invalid).toContain(">misspelt<");
  for (const words of [">shocking<", "Repeat "]) expect(invalid).not.toContain(words);
  expect(await browser.read(`${path}/lines?status=failed&code=content_policy_violation`)).toMatch(/shocking/);
  const left = await (await browser.ask(`${path}/failed.jsonl`)).text();
  expect(left).toBe(`${JSON.stringify(lines[2])}\n`);
  const repeated = await browser.ask(`${path}/repeat`, { code: "", price: valueOf(html, "price"), key: valueOf(html, "key") });
  const again = repeated.headers.get("location")!;
  await run(account, again);
  expect(await browser.read(again)).toContain("1 of 1");
  const { body: batch } = await call(`/v1/batches/${again.split("/").at(-1)}`, { key: account.key });
  expect(batch).toMatchObject({ counts: { total: 1, completed: 1 }, cost: { charged: 0.06, limit: 0.06, expected: 0.06 } });
});

test("a cancelled batch goes on with the lines that were left, as a new batch with their price as its limit", async () => {
  const { browser, account } = await person();
  const path = await start(
    browser,
    await uploadLines(
      browser,
      Array.from({ length: 9 }, (_, at) => line(`line-${at}`)),
    ),
    { reference: "Paused", concurrency: "2" },
  );
  const id = path.split("/").at(-1)!;
  await wake(id);
  await wake(id);
  expect(await browser.read(`${path}/cancel`)).toContain("Cancel Paused?");
  expect((await call(`/v1/batches/${id}`, { key: account.key })).body.status).toBe("in_progress");
  expect((await browser.ask(`${path}/cancel`, {})).headers.get("location")).toBe(path);
  await run(account, path);
  const html = await browser.read(path);
  expect(html).toContain("Cancelled <b>");
  const [, count, price] = /Repeat (\d) lines? · \$([\d.]+)/.exec(html) ?? [];
  expect(Number(price)).toBeCloseTo(0.03 * Number(count));
  expect(Number(count)).toBeGreaterThan(5);
  expect((await browser.ask(`${path}/cancel`)).headers.get("location")).toBe(path);
  const left = (await (await browser.ask(`${path}/failed.jsonl`)).text()).trim().split("\n");
  expect(left).toHaveLength(Number(count));
  expect(JSON.parse(left.at(-1)!)).toMatchObject({ custom_id: "line-8", endpoint: images });
  const form = { code: "cancelled", price: valueOf(html, "price"), key: valueOf(html, "key") };
  const repeated = await browser.ask(`${path}/repeat`, form);
  const again = repeated.headers.get("location")!;
  expect((await browser.ask(`${path}/repeat`, form)).headers.get("location")).toBe(again);
  expect(again).not.toBe(path);
  const { body: batch } = await call(`/v1/batches/${again.split("/").at(-1)}`, { key: account.key });
  expect(batch).toMatchObject({ reference: "Paused (again)", concurrency: 2, cost: { limit: 0.03 * Number(count) } });
  await run(account, again);
  const done = await browser.read(again);
  expect(done).toContain(`${count} of ${count}`);
  expect((await browser.ask(`${path}/repeat`, { ...form, code: "none", key: "other" })).status).toBe(400);
});

test("lines that a cancelled batch had not checked are sent again over the page that shows their price", async () => {
  const { browser, account } = await person();
  const bucket = { kind: "s3", endpoint: "https://s3.example", bucket: "media", region: "eu", access_key_id: "a", secret_access_key: "b" };
  expect((await call("/v1/destinations/shop", { key: account.key, method: "PUT", body: bucket })).status).toBe(200);
  const requests = [line("one"), line("two", { n: 2 }), { custom_id: "misspelt" }];
  const deliverTo = { destination: "shop", prefix: "spring/" };
  const { body } = await call("/v1/batches", {
    key: account.key,
    body: { requests, reference: "Early", concurrency: 3, deliver_to: deliverTo },
  });
  const path = `${page}/${body.id}`;
  await call(`/v1/batches/${body.id}/cancel`, { key: account.key, method: "POST" });
  await run(account, path);
  const html = await browser.read(path);
  expect(html).toContain("Check 2 lines and the price");
  expect(html).toContain("2 of them were not checked");
  for (const words of ["$0.00 </", "Repeat ", "all lines cost"]) expect(html).not.toContain(words);
  const { body: ended } = await call(`/v1/batches/${body.id}`, { key: account.key });
  expect([ended.status, ended.cost.expected, ended.cost.charged]).toEqual(["cancelled", undefined, 0]);
  expect(valueOf(html, "price")).toBe("");
  const review = (await browser.ask(`${path}/repeat`, { code: "", price: valueOf(html, "price"), key: valueOf(html, "key") })).headers.get(
    "location",
  )!;
  expect(review).toMatch(/^\/console\/batches\/new\?file=file_/);
  const shown = await browser.read(review);
  expect(shown).toContain("Start · $0.09");
  expect([valueOf(shown, "reference"), valueOf(shown, "max_cost"), valueOf(shown, "concurrency")]).toEqual(["Early (again)", "0.09", "3"]);
  expect(shown).toMatch(/<option value="shop" selected/);
  expect((await call("/v1/batches", { key: account.key })).body.data).toHaveLength(1);
  const again = await start(browser, review, {
    ...Object.fromEntries(["reference", "concurrency", "prefix"].map((name) => [name, valueOf(shown, name)])),
    deliver_to: "shop",
  });
  const { body: batch } = await call(`/v1/batches/${again.split("/").at(-1)}`, { key: account.key });
  expect(batch).toMatchObject({ reference: "Early (again)", concurrency: 3, deliver_to: deliverTo, cost: { limit: 0.09 } });
});

test("a batch of which no line could be read says why, line by line", async () => {
  const { browser, account } = await person();
  const { body } = await call("/v1/batches", { key: account.key, body: { requests: [{ custom_id: "x" }, { endpoint: images }] } });
  await wake(body.id);
  const html = await browser.read(`${page}/${body.id}`);
  expect(html).toContain("Why no line could be read");
  expect(html).toMatch(/<th scope="row" class="num">2<\/th>.*custom_id/s);
  expect(await browser.read(page)).toContain("Line 1: ");
});

test("a batch is delivered to a destination of the account, which its page names", async () => {
  const { browser, account } = await person();
  // A chat has no files.
  const talk = { model: "textA-1", messages: [{ role: "user", content: "Hello" }], max_tokens: 50 };
  const review = await uploadLines(browser, [line("one"), { custom_id: "talk", endpoint: "/v1/chat/completions", body: talk }]);
  expect(await browser.read(review)).not.toContain("Deliver to");
  const bucket = { kind: "s3", endpoint: "https://s3.example", bucket: "media", region: "eu", access_key_id: "a", secret_access_key: "b" };
  const { status } = await call("/v1/destinations/shop", { key: account.key, method: "PUT", body: bucket });
  expect(status).toBe(200);
  const html = await browser.read(review);
  expect(html).toMatch(/<select[^>]*name="deliver_to".*<option value="shop"/s);
  const fields = { file: valueOf(html, "file"), key: "k", max_cost: "1", concurrency: "5", callback_url: "", reference: "" };
  const refused = await browser.ask(page, { ...fields, deliver_to: "gone" });
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("Deliver to: ")]);
  const begun = (await browser.ask(page, { ...fields, deliver_to: "shop" })).headers.get("location")!;
  expect(await browser.read(begun)).toMatch(/Deliver to.*shop/s);
  const { body } = await call("/v1/batches", { key: account.key });
  expect(body.data[0].deliver_to).toEqual({ destination: "shop" });
  // Its page counts deliveries, and each line shows its own.
  const deliveries = async (path: string) => {
    const [, section = ""] = /id="delivery"(.*?)<\/section>/s.exec(await browser.read(path)) ?? [];
    return ["Delivered", "Delivering", "Not delivered"].map((name) =>
      Number(new RegExp(`<dt>${name}</dt><dd>(\\d+)</dd>`).exec(section)?.[1]),
    );
  };
  buckets(["https://s3.example"]);
  await runBatch(account, body.data[0].id);
  expect(await deliveries(begun)).toEqual([0, 1, 0]);
  expect(await browser.read(begun)).toMatch(new RegExp(`href="${begun}/lines"[^>]*aria-label="[^"]*talk"`));
  expect(await browser.read(`${begun}/lines`)).toMatch(/Completed.*Delivering/s);
  const [{ id: task }] = (await call("/v1/tasks", { key: account.key })).body.data;
  await call("/v1/destinations/shop", { key: account.key, method: "DELETE" });
  for (let step = 0; step < 3; step++) await alarm(task);
  const failed = await browser.read(begun);
  expect(await deliveries(begun)).toEqual([0, 0, 1]);
  expect(await browser.read(`${begun}/lines`)).toMatch(/Completed.*Not delivered/s);
  // The page follows what is on its way, and no longer.
  const isFollowed = async () => (await browser.read(begun)).includes('hx-trigger="every 5s"');
  expect(await isFollowed()).toBe(false);
  // One button delivers again what has failed.
  expect(failed).toMatch(/id="delivery".*Deliver again/s);
  const right = { ...bucket, access_key_id: accessKeyId, secret_access_key: secretAccessKey };
  expect((await call("/v1/destinations/shop", { key: account.key, method: "PUT", body: right })).status).toBe(200);
  expect((await browser.ask(`${begun}/delivery`, {})).headers.get("location")).toBe(`${begun}#delivery`);
  expect(await browser.read(begun)).toContain("Deliver now");
  expect(await isFollowed()).toBe(true);
  expect(await deliveries(begun)).toEqual([0, 1, 0]);
  await wakeBatch(body.data[0].id);
  for (let step = 0; step < 3; step++) await alarm(task);
  const delivered = await browser.read(begun);
  expect(await deliveries(begun)).toEqual([1, 0, 0]);
  expect(delivered).not.toMatch(/Deliver (again|now)/);
  const stranger = await person();
  expect((await stranger.browser.ask(`${begun}/delivery`, {})).status).toBe(404);
});
