/** The admin's pages of models: the list with its filters, and an entry as a form and as JSON. */

import "../../support/alone.ts";
import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, expect, test, vi } from "vitest";
import { asAdmin, call, holdTime, newAccount } from "../../support/gateway.ts";
import { deleteModels } from "../../support/models.ts";
import { type Browser, operator, person } from "../support.ts";

holdTime();

const root = "/console/admin/models";
const text = { kind: "text", price: { input: 1, output: 2 }, routes: [{ provider: "sandbox", model: "textA-1" }] };

let browser: Browser;
let other: Browser;

beforeAll(async () => {
  ({ browser } = await operator());
  ({ browser: other } = await person());
});
beforeEach(deleteModels);

const put = (id: string, entry: object, query = "") => asAdmin(`/models/${id}${query}`, { method: "PUT", body: entry });
const stored = async (id: string) => (await asAdmin(`/models/${id}`)).body as { entry: Record<string, unknown> | null; revision: number };

/** The entities of a page's text. */
const plain = (html: string) =>
  html.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

/** The values of a page's form, as a browser without script would send them. */
function fieldsOf(html: string): Record<string, string> {
  const form = /<form[^>]*id="entry".*?<\/form>/s.exec(html)![0];
  const fields: Record<string, string> = {};
  const attribute = (tag: string, name: string) => plain(new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? "");
  for (const [tag] of form.matchAll(/<input[^>]*>/g))
    if (!/type="(?:radio|checkbox)"/.test(tag) || / checked/.test(tag)) fields[attribute(tag, "name")] = attribute(tag, "value");
  for (const [, tag = "", options = ""] of form.matchAll(/<select([^>]*)>(.*?)<\/select>/gs)) {
    const [chosen = ""] = /<option[^>]* selected[^>]*>/.exec(options) ?? /<option[^>]*>/.exec(options) ?? [];
    fields[attribute(tag, "name")] = attribute(chosen, "value");
  }
  for (const [, tag = "", content = ""] of form.matchAll(/<textarea([^>]*)>(.*?)<\/textarea>/gs))
    fields[attribute(tag, "name")] = plain(content).replaceAll("\n", "\r\n");
  return fields;
}

/** The JSON that a page shows. */
const textOf = (html: string): string => fieldsOf(html)["text"]?.replaceAll("\r", "") ?? "";

/** Opens a page, changes some of its fields, and presses a button. */
async function press(path: string, act: string, changes: Record<string, string> = {}, from?: string) {
  const fields = fieldsOf(from ?? (await browser.read(path)));
  const answer = await browser.ask(path, { ...fields, ...changes, act });
  const raw = await answer.text();
  return { status: answer.status, to: answer.headers.get("location"), raw, html: plain(raw) };
}

const heading = (html: string) => /<h1>([^<]*)</.exec(html)?.[1];

test("the list says state, price and routes of each model, its filters count, and a search finds routes too", async () => {
  await put("reef-text", { ...text, aliases: ["reef"] });
  await put("imgA-4", { price: { image: 0.5 } });
  await put("vidD-02", { state: "hidden" });
  await put("wrecked", { ...text, routes: [{ provider: "openai", model: "gpt-6.1-sol" }] });
  const html = await browser.read(root);
  expect(html.match(/<tr>/g)).toHaveLength(1 + 18);
  for (const [name, count] of [
    ["All", 18],
    ["Live", 13],
    ["Hidden", 5],
    ["Changed or added", 4],
    ["Not served", 1],
    ["Ends soon", 0],
  ])
    expect(html).toContain(`${name} <b>${count}</b>`);
  const row = (id: string) =>
    plain(
      html
        .split("<tr>")
        .find((part) => part.includes(`${root}/${id}"`))!
        .replaceAll(/<[^>]*>/g, " "),
    );
  expect(row("reef-text")).toMatch(
    /added, chat\s+\$1\.00\s+per million input tokens\s+\$2\.00\s+per million output tokens\s+–\s+–\s+–\s+–\s+1 \/ 1\s+sandbox/,
  );
  expect(row("imgA-4")).toMatch(/built in, changed\s+\$0\.50\s+per image\s+\$1\.00/);
  expect(row("vidD-02")).toContain("Hidden");
  expect(row("wrecked")).toMatch(/No route is on .*0 \/ 1/s);
  const ids = async (query: string) =>
    [...(await browser.read(`${root}?${query}`)).matchAll(/admin\/models\/([\w.-]+)">/g)]
      .map(([, id]) => id)
      .filter((id) => id !== "_new" && id !== "_maker");
  expect(await ids("show=hidden")).toEqual(["vidD-02", "kling-v3", "kling-v3-omni", "wan-3.0", "wan-3.0-prime"]);
  expect(await ids("show=unserved")).toEqual(["wrecked"]);
  expect(await ids("q=REEF")).toEqual(["reef-text"]);
  expect(await ids("q=gpt-6.1-sol&show=unserved")).toEqual(["wrecked"]);
  expect(await browser.read(`${root}?q=<nothing>`)).toContain("No model matches");
});

test("an entry that a release refuses is marked in the list, and its page says what is wrong", async () => {
  await env.DB.prepare("INSERT INTO model (revision, id, entry, at) VALUES (1, 'house', ?1, 1)")
    .bind(JSON.stringify({ ...text, aliases: ["kling-v3"] }))
    .run();
  vi.setSystemTime(Date.now() + 9_000);
  expect(await browser.read(root)).toMatch(/admin\/models\/house".*To fix/s);
  const html = plain(await browser.read(`${root}/house`));
  expect(html).toContain("1 to fix");
  expect(html).toMatch(/aliases\[0\].*is already a name of the model kling-v3/s);
  await put("house", text, "?revision=1");
  expect(await browser.read(root)).not.toContain("To fix");
});

test("a route that ends is counted, and named with its day", async () => {
  const day = new Date(Date.now() + 10 * 86_400_000).toISOString().slice(0, 10);
  await put("ending", { ...text, routes: [{ ...text.routes[0], retires: day }] });
  const html = await browser.read(`${root}?show=ending`);
  expect(html).toContain("Ends soon <b>1</b>");
  expect(html).toMatch(/data-s="bad">.*?Ends \d+ \w+</s);
  expect(await browser.read(`${root}/ending`)).toMatch(/Route 1 ends on \d+ \w+/);
});

test("a text model is added with the form: what is sent decides the prices, a dry run stores nothing, saving sells it", async () => {
  const first = await press(`${root}/_new`, "show", { id: "reef-text", body: "text" });
  expect(first.html).toContain("Per million input tokens");
  const second = await press(`${root}/_new`, "add", { "price.input": "1.5", "price.output": "6", typical_seconds: "4" }, first.raw);
  const filled = { "routes.0.provider": "sandbox", "routes.0.model": "textA-1" };
  const checked = await press(`${root}/_new`, "check", filled, second.raw);
  expect(checked.status).toBe(200);
  expect(checked.html).toContain("Can be saved");
  expect(checked.html).toContain('<ins>+     "input": 1.5,</ins>');
  expect((await asAdmin("/models/reef-text")).status).toBe(404);
  const log = vi.spyOn(console, "log");
  const saved = await press(`${root}/_new`, "save", {}, checked.raw);
  expect(saved).toMatchObject({ status: 303, to: `${root}/reef-text?saved=1` });
  expect(log.mock.calls.map(([line]) => JSON.parse(String(line))).filter(({ unit }) => unit === "admin")).toEqual([
    expect.objectContaining({ outcome: "model_changed", model: "reef-text", revision: 1, by: expect.stringMatching(/^acc_/) }),
  ]);
  log.mockRestore();
  const acts = env.DB.prepare(
    "SELECT count(*) AS n FROM audit_log WHERE act = 'model_changed' AND actor = 'user' AND target = 'reef-text'",
  );
  expect(await acts.first("n")).toBe(1);
  expect((await stored("reef-text")).entry).toEqual({
    id: "reef-text",
    kind: "text",
    price: { input: 1.5, output: 6 },
    typical_seconds: 4,
    routes: [{ provider: "sandbox", model: "textA-1" }],
  });
  const { key } = await newAccount();
  const sold = await call("/v1/chat/completions", { key, body: { model: "reef-text", messages: [{ role: "user", content: "hi" }] } });
  expect(sold.status).toBe(200);
  expect(await browser.read(saved.to!)).toContain("Revision 1 is saved");
});

test("a built-in model's entry has only what differs; emptied fields are as built in again", async () => {
  const saved = await press(`${root}/imgA-4`, "save", { "price.image": "0.05" });
  expect(saved.to).toBe(`${root}/imgA-4?saved=1`);
  expect((await stored("imgA-4")).entry).toEqual({ id: "imgA-4", price: { image: 0.05 } });
  const page = await browser.read(`${root}/imgA-4`);
  expect(page).toContain("Built in: 0.03");
  expect(page).not.toContain('name="aliases"');
  const own = await press(`${root}/imgA-4`, "own");
  expect(fieldsOf(own.raw)).toMatchObject({
    "routes.0.provider": "modelark",
    "routes.0.model": "seedream-4-5-251128",
    "price.image": "0.05",
  });
  const moved = await press(`${root}/imgA-4`, "up.1", {}, own.raw);
  expect(fieldsOf(moved.raw)).toMatchObject({ "routes.0.provider": "fal", "routes.1.provider": "modelark" });
  const fewer = await press(`${root}/imgA-4`, "remove.0", {}, moved.raw);
  expect(fieldsOf(fewer.raw)).toMatchObject({ "routes.0.provider": "modelark", "routes.1.provider": "replicate" });
  const back = await press(`${root}/imgA-4`, "built_in", { "price.image": "" }, fewer.raw);
  expect((await press(`${root}/imgA-4`, "save", {}, back.raw)).to).toBe(`${root}/imgA-4?saved=2`);
  expect((await stored("imgA-4")).entry).toEqual({ id: "imgA-4" });
});

test("the form keeps what it does not show, and the JSON shows what was typed in the form", async () => {
  const route = { provider: "compatible", model: "llama", settings: { base_url: "https://llm.example/v1" } };
  await put("reef-text", { ...text, routes: [route] });
  const json = await press(`${root}/reef-text`, "show", { "price.input": "3", "routes.0.retires": "2031-01-02" });
  const asJson = await browser.ask(`${root}/reef-text/json`, { ...fieldsOf(json.raw), act: "show" });
  expect(JSON.parse(textOf(await asJson.text()))).toEqual({
    ...text,
    price: { input: 3, output: 2 },
    routes: [{ ...route, retires: "2031-01-02" }],
  });
});

test("a title is written in the form, and callers and people see it beside the id", async () => {
  await put("reef-text", text);
  expect((await press(`${root}/reef-text`, "save", { title: " House <Llama> " })).status).toBe(303);
  expect((await stored("reef-text")).entry).toEqual({ id: "reef-text", ...text, title: "House <Llama>" });
  const { key } = await newAccount();
  expect((await call("/v1/models/reef-text", { key })).body).toMatchObject({ id: "reef-text", title: "House <Llama>" });
  expect((await call("/v1/models/imgA-4", { key })).body).not.toHaveProperty("title");
  for (const path of [root, `${root}?q=llama`, "/console/models", "/console/models?q=llama&as=table", "/console/models/reef-text"])
    expect(await browser.read(path)).toContain("House &lt;Llama&gt;");
  const long = await press(`${root}/reef-text`, "save", { title: "x".repeat(81) });
  expect([long.status, long.html.includes("80")]).toEqual([400, true]);
  // The twelve of the interface may have one, too.
  expect((await press(`${root}/imgA-4`, "save", { title: "Paintbrush" })).status).toBe(303);
  expect((await call("/v1/models/imgA-4", { key })).body).toMatchObject({ title: "Paintbrush", price: { image: 0.03 } });
});

test("what a route costs is written in the form, and what is earned stands beside it and in the list", async () => {
  const route = { provider: "sandbox", model: "textA-1", cost: { input: 0.5, usd: 1 } };
  await put("reef-text", { ...text, routes: [route] });
  const page = await browser.read(`${root}/reef-text`);
  expect(fieldsOf(page)).toMatchObject({ "routes.0.cost.input": "0.5", "routes.0.cost.output": "", "routes.0.cost.usd": "1" });
  expect(page).not.toContain("also:");
  const change = {
    "routes.0.cost.output": "2.5",
    "routes.0.cost.usd": "",
    "routes.0.cost.cached_input": "0.05",
    "routes.0.bills_failures": "on",
  };
  const checked = await press(`${root}/reef-text`, "check", change);
  const card = checked.html.slice(checked.html.indexOf("Margin at this price")).replaceAll(/<[^>]*>/g, " ");
  expect(card).toMatch(
    /at route 1\s+per million input tokens\s+\$1\.00 − \$0\.50\s+=\s+50\s%\s+per million output tokens\s+\$2\.00 − \$2\.50\s+=\s+-25\s%/,
  );
  expect((await press(`${root}/reef-text`, "save", {}, checked.raw)).status).toBe(303);
  expect((await stored("reef-text")).entry?.["routes"]).toEqual([
    { provider: "sandbox", model: "textA-1", cost: { input: 0.5, output: 2.5, cached_input: 0.05 }, bills_failures: true },
  ]);
  expect((await browser.read(root)).replaceAll(/<[^>]*>/g, " ")).toMatch(/reef-text.*?per million output tokens\s+\$0\.50\s+\$2\.50\s+–/s);
});

test("of an own input the margin follows the factors of price and cost; what only the maker reports is not known", async () => {
  const own = {
    kind: "video",
    body: {
      type: "object",
      properties: { duration: { type: "string", enum: ["5", "10"], default: "5" }, sound: { type: "boolean", default: false } },
    },
    price: { second: 0.1, seconds: "duration", factors: { sound: { true: 2, false: 1 } } },
  };
  const cost = { second: 0.06, seconds: "duration", factors: { sound: { true: 1.5, false: 1 } } };
  const cardWith = async (routes: object[], revision: number) => {
    expect((await put("kling-own", { ...own, routes }, `?revision=${revision}`)).status).toBeLessThan(300);
    const html = plain(await browser.read(`${root}/kling-own`));
    return html.slice(html.indexOf("Margin at this price")).replaceAll(/<[^>]*>/g, " ");
  };
  expect(await cardWith([{ provider: "fal", model: "fal-ai/kling", cost }], 0)).toMatch(
    /per second\s+\$0\.10 − \$0\.06\s+=\s+40\s%\s+with sound: true\s+\$0\.20 − \$0\.09\s+=\s+55\s%/,
  );
  expect(await cardWith([{ provider: "fal", model: "fal-ai/kling", cost: { run_second: 0.01 } }], 1)).toMatch(
    /per second\s+\$0\.10 − \?.*only its maker reports it/s,
  );
});

test.each<[name: string, change: Record<string, string>, field: string, words: string]>([
  ["a price that is no number", { "price.input": "much" }, "price.input", "price.input"],
  ["a price that is missing", { "price.output": "" }, "price.output", "is required"],
  ["a route without a provider", { "routes.0.provider": "" }, "routes.0.provider", "sandbox"],
  ["a route without a model", { "routes.0.model": "" }, "routes.0.model", "routes[0].model"],
  ["a cost that is no number", { "routes.0.cost.output": "much" }, "routes.0.cost.output", "routes[0].cost.output"],
  ["a day that does not exist", { "routes.0.retires": "2027-02-31" }, "routes.0.retires", "YYYY-MM-DD"],
  ["a name of another model", { aliases: "imgA-4, fine" }, "aliases", "imgA-4"],
  ["a time out of range", { typical_seconds: "0" }, "typical_seconds", "1"],
])("%s is refused at its field, keeps what was typed, and the revision before works on", async (_, change, name, words) => {
  await put("reef-text", text);
  for (const act of ["check", "save"]) {
    const { status, html, raw } = await press(`${root}/reef-text`, act, change);
    expect(status).toBe(400);
    expect(html).toContain(`href="#f-${name}"`);
    expect(html).toMatch(
      new RegExp(`(id="f-${name.replaceAll(".", "\\.")}"[^>]*aria-invalid="true")|(aria-invalid="true"[^>]*id="f-${name}")`),
    );
    expect(html).toContain(words);
    expect(html).toContain("Revision 1 keeps working");
    expect(fieldsOf(raw)).toMatchObject(change);
  }
  expect(await stored("reef-text")).toMatchObject({ revision: 1, entry: { price: text.price } });
});

test("an error in the JSON names its line, the value and what is allowed; broken JSON names its line", async () => {
  const at = `${root}/reef-text/json`;
  await put("reef-text", text);
  const wrong =
    '{\n  "kind": "text",\n  "price": { "input": 1, "output": 2 },\n  "routes": [\n    {\n      "provider": "kling",\n      "model": "x"\n    }\n  ]\n}';
  const refused = await press(at, "save", { text: wrong });
  expect(refused.status).toBe(400);
  expect(refused.html).toMatch(/Line 6: routes\[0\]\.provider “kling”<\/b> must be one of .*fal.*<a href="#l6">Go to line 6/s);
  expect(refused.html).toContain('<li id="l6" class="hot">');
  expect(textOf(refused.raw)).toBe(wrong);
  const broken = await press(at, "save", { text: '{\n  "kind": text\n}' });
  expect([broken.status, broken.html.includes("Line 2 is not JSON")]).toEqual([400, true]);
  for (const other of ["[]", "1", "", "null", '{"a":1,}', "{} // why"])
    expect((await press(at, "check", { text: other })).status).toBe(400);
  expect((await stored("reef-text")).revision).toBe(1);
  const tidied = await press(at, "tidy", {
    text: '{"routes":[{"model":"textA-1","provider":"sandbox"}],"kind":"text","price":{"output":3,"input":1}}',
  });
  expect(textOf(tidied.raw)).toBe(
    '{\n  "kind": "text",\n  "price": { "input": 1, "output": 3 },\n  "routes": [{ "provider": "sandbox", "model": "textA-1" }]\n}',
  );
  expect(tidied.html).toContain('<del>-   "price": { "input": 1, "output": 2 },</del>');
  expect((await press(at, "save", {}, tidied.raw)).to).toBe(`${root}/reef-text/json?saved=2`);
});

test("if another admin saved meanwhile, the page says what changed, takes over what only they changed, and saving again replaces the rest", async () => {
  await put("reef-text", text);
  const opened = await browser.read(`${root}/reef-text`);
  await put("reef-text", { ...text, typical_seconds: 9, price: { input: 5, output: 5 } }, "?revision=1");
  const late = await press(`${root}/reef-text`, "save", { "price.input": "7" }, opened);
  expect(late.status).toBe(409);
  expect(late.html).toContain("Another admin saved revision 2 meanwhile");
  expect(late.html).toMatch(/<code>price<\/code> was changed from \{"input":1,"output":2\} to \{"input":5,"output":5\}/);
  expect(fieldsOf(late.raw)).toMatchObject({ revision: "2", typical_seconds: "9", "price.input": "7", "price.output": "2" });
  expect((await stored("reef-text")).entry).toMatchObject({ price: { input: 5 } });
  expect((await press(`${root}/reef-text`, "save", {}, late.raw)).to).toBe(`${root}/reef-text?saved=3`);
  expect((await stored("reef-text")).entry).toMatchObject({ price: { input: 7, output: 2 }, typical_seconds: 9 });
});

test("a new model cannot take the place of one that exists", async () => {
  await put("reef-text", text);
  const filled = JSON.stringify({ ...text, price: { input: 9, output: 9 } });
  const late = await press(`${root}/_new/json`, "save", { id: "reef-text", text: filled });
  expect([late.status, late.html.includes("Another admin saved revision 1")]).toEqual([409, true]);
  expect((await stored("reef-text")).entry).toMatchObject({ price: text.price });
  for (const id of ["", "..", "a/b", "<b>", "imgA-4"]) {
    const answer = await press(`${root}/_new/json`, "save", { id, text: filled });
    expect([id, answer.status]).toEqual([id, 400]);
  }
});

test("revisions say what each changed, and an earlier one becomes the newest again unless it was changed meanwhile", async () => {
  await put("reef-text", text);
  await put("reef-text", { ...text, price: { input: 5, output: 2 }, state: "hidden" }, "?revision=1");
  const html = plain(await browser.read(`${root}/reef-text/revisions`));
  expect(html).toMatch(/Revision 2.*<code>price\.input<\/code> <span class="meta">1 → <\/span>5.*<code>state<\/code>.*Revision 1/s);
  expect(html).toContain('<del>-   "price": { "input": 1, "output": 2 },</del>');
  const back = (base: string, to = "1") => browser.ask(`${root}/reef-text/revisions`, { base, to });
  const late = await back("1");
  expect([late.status, (await late.text()).includes("Another admin saved revision 2")]).toEqual([409, true]);
  expect((await back("2", "77")).status).toBe(400);
  expect((await back("2")).headers.get("location")).toBe(`${root}/reef-text?saved=3`);
  expect((await stored("reef-text")).entry).toEqual({ id: "reef-text", ...text });
});

test("a removed model is not sold, and comes back by its revisions; a built-in one is as built in", async () => {
  await put("reef-text", text);
  expect(await browser.read(`${root}/reef-text/remove`)).toContain("Remove reef-text?");
  await put("reef-text", { ...text, typical_seconds: 3 }, "?revision=1");
  expect((await browser.ask(`${root}/reef-text/remove`, { base: "1" })).status).toBe(409);
  const removed = await browser.ask(`${root}/reef-text/remove`, { base: "2" });
  expect(removed.headers.get("location")).toBe(`${root}?removed=reef-text`);
  const list = await browser.read(`${root}?removed=reef-text`);
  expect(list).toContain("The entry of reef-text was removed");
  expect(list).toMatch(/Removed:.*admin\/models\/reef-text/s);
  expect((await browser.ask(`${root}/reef-text/remove`, { base: "3" })).status).toBe(404);
  expect(await browser.read(`${root}/reef-text`)).toContain("was removed and is not sold");
  expect((await press(`${root}/reef-text`, "save")).to).toBe(`${root}/reef-text?saved=4`);
  await put("imgA-4", { price: { image: 1 } });
  expect((await browser.ask(`${root}/imgA-4/remove`, { base: "5" })).status).toBe(303);
  expect((await stored("imgA-4")).entry).toBeNull();
  expect(fieldsOf(await browser.read(`${root}/imgA-4`))).toMatchObject({ "price.image": "", revision: "6" });
});

test("users without the admin role, and models that do not exist, get 404", async () => {
  for (const path of ["", "/imgA-4", "/imgA-4/json", "/imgA-4/revisions", "/_new", "/_new/json"]) {
    expect((await other.ask(root + path)).status, path).toBe(404);
    expect((await other.ask(root + path, { act: "save", view: "json", id: "x", text: JSON.stringify(text) })).status, path).toBe(404);
  }
  expect(await env.DB.prepare("SELECT count(*) AS n FROM model").first("n")).toBe(0);
  for (const path of ["/unknown", "/unknown/json", "/unknown/revisions", "/unknown/remove"]) {
    expect((await browser.ask(root + path)).status, path).toBe(404);
    expect((await browser.ask(root + path, { act: "save", view: "json", text: JSON.stringify(text) })).status, path).toBe(404);
  }
});

test.each(["zh", "ko", "ja"])("in %s every page has its words, and rules come in that language", async (language) => {
  const { browser: speaking } = await operator();
  await speaking.ask(`/console/language?to=${language}`);
  await put("reef-text", text);
  for (const path of ["", "/reef-text", "/reef-text/json", "/reef-text/revisions", "/reef-text/remove", "/_new"]) {
    const html = await speaking.read(root + path);
    expect(heading(html)).toBeTruthy();
    expect(html).not.toMatch(/admin_(model|route)/);
  }
  const answer = await speaking.ask(`${root}/reef-text`, {
    ...fieldsOf(await speaking.read(`${root}/reef-text`)),
    "price.input": "x",
    act: "check",
  });
  expect(await answer.text()).not.toContain("must be");
});

/** Answers requests to fal for schemas with this one; others go on. */
function publish(schema: object | undefined): void {
  const go = globalThis.fetch;
  vi.spyOn(globalThis, "fetch").mockImplementation((input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (!url.startsWith("https://fal.ai/api/openapi/")) return go(input, init);
    const post = { requestBody: { content: { "application/json": { schema } } } };
    return Promise.resolve(schema ? Response.json({ paths: { "/x": { post } } }) : new Response("", { status: 404 }));
  });
}

test("a maker's schema opens in the editor before anything is saved, and is fetched again with what changed", async () => {
  const schema = { type: "object", properties: { text: { type: "string", maxLength: 5000 } }, required: ["text"] };
  const from = `${root}/_maker`;
  publish(schema);
  expect(await browser.read(root)).toContain(`href="${from}"`);
  const begin = async (maker: string, model: string) => {
    const answer = await browser.ask(from, { maker, model });
    const raw = await answer.text();
    return { status: answer.status, raw, html: plain(raw) };
  };
  const begun = await begin("fal", " fal-ai/tts/v2 ");
  expect(begun.status).toBe(200);
  const fields = fieldsOf(begun.raw);
  expect(JSON.parse(fields["entry"] ?? "")).toEqual({
    kind: "file",
    body: schema,
    price: {},
    state: "hidden",
    routes: [{ provider: "fal", model: "fal-ai/tts/v2" }],
  });
  expect((await asAdmin("/models/tts-v2")).status).toBe(404);
  // Without a price it is refused.
  expect(fields["id"]).toBe("tts-v2");
  const refused = await press(`${root}/_new/json`, "save", {}, begun.raw);
  expect(refused).toMatchObject({ status: 400 });
  expect(refused.html).toContain("price");
  await put("tts-v2", { ...JSON.parse(fields["entry"] ?? ""), price: { task: 0.1 } });
  publish({ ...schema, properties: { ...schema.properties, speed: { type: "number" } } });
  const again = await press(`${root}/tts-v2`, "fetch");
  expect(again.raw).toMatch(/<ins>[^<]*speed/);
  expect((await asAdmin("/models/tts-v2")).body.entry.body).toEqual(schema);
  publish(undefined);
  const gone = await press(`${root}/tts-v2`, "fetch");
  expect(gone).toMatchObject({ status: 400 });
  expect(gone.html).toContain("fal: is not a model whose input fal publishes");
  const wrongs: [maker: string, model: string, text: string][] = [
    ["fal", "fal-ai/nothing", "is not a model whose input fal publishes"],
    ["fal", "../x", "is not a model whose input fal publishes"],
    ["replicate", "a/b", "REPLICATE_API_TOKEN"],
    ["nobody", "a/b", "must be one of"],
  ];
  for (const [maker, model, text] of wrongs) {
    const wrong = await begin(maker, model);
    expect(wrong.status).toBe(400);
    expect(wrong.html).toContain(text);
  }
});
