/** Runs in the playground: in place beside the form, compared, cancelled, after signing in again; chats as events. */

import { env } from "cloudflare:workers";
import { beforeAll, expect, test } from "vitest";
import { type Account, asAdmin, call, complete, holdTime } from "../../support/gateway.ts";
import { formIn, readForm, held, path, person, png, readRecord, send } from "./support.ts";
import { Browser } from "../support.ts";

/** The headers of the page's script. */
const scripted = { "hx-request": "true" };

let one: { browser: Browser; account: Account };
let image: string;

beforeAll(async () => {
  holdTime();
  one = await person();
  image = await complete(one.account, "/v1/images/generations", { model: "imgA-4", prompt: "sand", n: 2 });
});

/** Runs a form as the page's script does. */
async function runInPlace(browser: Browser, model: string, typed: Record<string, string>, key?: string): Promise<Response> {
  const { values } = await readForm(browser, model);
  return browser.ask(
    path,
    new URLSearchParams({ ...values, ...(key !== undefined && { key }), ...typed, do: "run" }).toString(),
    undefined,
    {
      ...scripted,
      "content-type": "application/x-www-form-urlencoded",
    },
  );
}

const runsIn = (response: Response) => new URL(response.headers.get("hx-replace-url")!, "https://x").searchParams.get("run")!.split(",");

test("a run is answered with its result, a new key and the new balance, and refreshes itself until it has ended", async () => {
  const { browser, account } = await person();
  const response = await runInPlace(browser, "imgA-4", { prompt: "in place", n: "2" });
  const html = await response.text();
  const [id = ""] = runsIn(response);
  expect((await readRecord(account, id)).submission.parameters).toMatchObject({ prompt: "in place", n: 2 });
  expect(html).toContain(`<div class="body" id="result" hx-get="${path}/runs/${id}" hx-trigger="every 2s"`);
  expect(html).toMatch(/id="balance-side"[^>]*><data class="num" value="999.94"/);
  // The same values are another task with the new key, and the same task with the old one.
  const [, key = ""] = /name="key" value="([^"]+)"/.exec(html)!;
  expect(runsIn(await runInPlace(browser, "imgA-4", { prompt: "in place", n: "2" }, key))).not.toEqual([id]);
  expect(await held(account)).toBe(120_000);
  // The page at this URL has the result, and the form as it was submitted.
  const page = await browser.read(`${path}?run=${id}`);
  expect((await formIn(page)).values).toMatchObject({ prompt: "in place", n: "2", run: id });
  expect(page).toContain(`hx-get="${path}/runs/${id}"`);
});

test("an ended result does not refresh itself, and has the file, the duration and the cost", async () => {
  const html = await (await one.browser.ask(`${path}/runs/${image}`, undefined, undefined, scripted)).text();
  expect(html).not.toContain("every 2s");
  expect(html.match(/<img src="[^"]*\/assets\/[^"]*" alt="sand, image \d of 2"/g)).toHaveLength(2);
  expect(html).toContain('value="0.06"');
  expect(html).toContain('id="strip"');
  // Without script the URL of a part leads to the whole page.
  expect((await one.browser.ask(`${path}/runs/${image}`)).headers.get("location")).toBe(`${path}?run=${image}`);
});

test("a running task is cancelled beside the form, and its price is returned", async () => {
  const { browser, account } = await person();
  const [id = ""] = runsIn(await runInPlace(browser, "vidA-2", { prompt: "too long sandbox:slow" }));
  const cancelled = await (await browser.ask(`${path}/runs/${id}/cancel`, {}, undefined, scripted)).text();
  expect(cancelled).toContain("You cancelled this run.");
  expect(cancelled).toContain("Nothing was charged: $1.00 was returned.");
  expect(cancelled).toMatch(/id="balance-side"[^>]*><data class="num" value="1000"/);
  expect((await asAdmin(`/accounts/${account.id}`)).body).toMatchObject({ used: 0, reserved: 0, remaining: 1000 });
  // Cancelled a second time, and without script: nothing changes.
  const again = await browser.ask(`${path}/runs/${id}/cancel`, {});
  expect([again.status, again.headers.get("location")]).toEqual([303, `${path}?run=${id}`]);
});

test("another account's run is neither shown nor cancelled", async () => {
  const { browser } = await person();
  for (const [at, form] of [
    [`${path}?run=${image}`, undefined],
    [`${path}/runs/${image}`, undefined],
    [`${path}/runs/${image}/cancel`, {}],
    [`${path}/picture/${image}/0`, undefined],
  ] as const)
    expect([at, (await browser.ask(at, form)).status]).toEqual([at, 404]);
});

/** Sends a form with several values of one name. */
async function compare(browser: Browser, model: string, others: string[], typed: Record<string, string>, way = "run") {
  const { values } = await readForm(browser, model);
  const form = new URLSearchParams({ ...values, ...typed, do: way });
  for (const other of others) form.append("with", other);
  return browser.ask(path, form.toString(), undefined, { ...scripted, "content-type": "application/x-www-form-urlencoded" });
}

test("the same prompt runs on several models for one price, each with the values that are valid for it", async () => {
  const { browser, account } = await person();
  const others = ["vidB-3.1-fast", "vidD-02", "vidC-1-0-pro-fast"];
  const typed = { prompt: "compared", duration: "15", size: "9:16" };
  // 15 s at 0.10, 8 s at 0.15, 5 s at 0.05, 5 s at 0.03: a duration that a model does not support becomes its default.
  const preview = await (await compare(browser, "vidA-2", others, typed, "preview")).text();
  expect(/value="run">.*?<data[^>]* value="([\d.]+)"/.exec(preview)![1]).toBe("3.1");
  expect(await held(account)).toBe(0);
  const ids = runsIn(await compare(browser, "vidA-2", others, typed));
  const made = await Promise.all(ids.map((id) => readRecord(account, id)));
  expect(made.map(({ submission: { model, parameters } }) => [model, parameters.duration, parameters.size])).toEqual([
    ["vidA-2", 15, "9:16"],
    ["vidB-3.1-fast", 8, "9:16"],
    ["vidC-1-0-pro-fast", 5, "9:16"],
    ["vidD-02", 5, "9:16"],
  ]);
  expect(await held(account)).toBe(3_100_000);
  const page = await browser.read(`${path}?run=${ids.join(",")}`);
  for (const model of ["vidA-2", ...others]) expect(page).toContain(`<h2>${model}</h2>`);
});

test("a comparison that one model refuses, or that costs more than the balance, runs nothing", async () => {
  const { browser, account } = await person({ SIGNUP_QUOTA: "0.15" });
  const long = await compare(browser, "imgA-4", ["imgC-3-pro-image-preview"], { prompt: "x".repeat(1001) });
  expect(await long.text()).toContain("imgA-4: ");
  expect((await compare(browser, "imgA-4", ["imgC-3-pro-image-preview"], { prompt: "x", n: "2" })).headers.get("hx-retarget")).toBe(
    "#form",
  );
  // The balance suffices for each, but not for both: 0.04 + 0.12.
  const both = await compare(browser, "imgB-4o-image", ["imgC-3-pro-image-preview"], { prompt: "x" });
  expect(await both.text()).toContain("The price is higher than the balance.");
  expect(await held(account)).toBe(0);
});

test("a refused run answers the script with the form, whose summary takes the focus", async () => {
  const response = await runInPlace(one.browser, "imgA-4", { prompt: "", n: "2" });
  expect(response.headers.get("hx-retarget")).toBe("#form");
  const html = await response.text();
  expect(html).toContain('data-focus="true"');
  const { values, invalid } = await formIn(html);
  expect([values["n"], [...invalid]]).toEqual(["2", ["prompt"]]);
});

test("an image of the gallery becomes the input, byte by byte, and a deleted one is named in the error", async () => {
  const { browser, account } = one;
  const shown = await browser.ask(`${path}/picture/${image}/1`);
  const bytes = new Uint8Array(await shown.arrayBuffer());
  expect(shown.headers.get("content-type")).toBe("image/png");
  const [id = ""] = runsIn(await runInPlace(browser, "vidC-1-0-pro-fast", { prompt: "moves", "pictures.0.task": `${image}/1` }));
  const { inputs } = (await readRecord(account, id)).submission;
  expect(inputs.map(({ role }) => role)).toEqual(["first_frame"]);
  expect(await (await env.ASSETS.get(inputs[0]?.key ?? ""))!.bytes()).toEqual(bytes);
  const list = await (await browser.ask(`${path}/pictures`, undefined, undefined, scripted)).text();
  expect(list).toContain(`data-use="${image}/1"`);
  const gone = await (await runInPlace(browser, "imgA-4", { prompt: "x", "pictures.0.task": `${image}/7` })).text();
  expect(gone).toContain("Image 1: This image does not exist any more.");
});

test("a stored file of the account is chosen in the tray, or typed, and becomes the input, byte by byte", async () => {
  const { browser, account } = one;
  const picture = await (await browser.ask(`${path}/picture/${image}/0`)).arrayBuffer();
  const { id: file } = (await call("/v1/files", { key: account.key, method: "POST", body: picture })).body;
  const list = await (await browser.ask(`${path}/pictures`, undefined, undefined, scripted)).text();
  expect(list).toContain(`data-use="${file}"`);
  expect(list).toContain(`src="/console/files/${file}/content"`);
  const typed = { prompt: "moves", "pictures.0.url": file, "pictures.0.role": "last_frame" };
  const [id = ""] = runsIn(await runInPlace(browser, "vidC-1-0-pro-fast", typed));
  const { inputs } = (await readRecord(account, id)).submission;
  expect(inputs.map(({ role }) => role)).toEqual(["last_frame"]);
  expect(await (await env.ASSETS.get(inputs[0]?.key ?? ""))!.bytes()).toEqual(new Uint8Array(picture));
  // The form shows the image, not its id.
  const again = await browser.read(`${path}?model=vidC-1-0-pro-fast&${new URLSearchParams(typed)}`);
  expect(again).toContain(`<img src="/console/files/${file}/content"`);
  const unknown = await (await runInPlace(browser, "imgA-4", { prompt: "x", "pictures.0.url": `${file.slice(0, -1)}!` })).text();
  expect(unknown).toContain("Image 1");
});

test("typed values are restored after signing in, and a page with script keeps them itself", async () => {
  const { browser } = await person();
  const { values } = await readForm(browser, "vidA-2");
  const typed = { ...values, prompt: "kept & typed", duration: "15", "pictures.0.url": "https://pictures.example/1.png", do: "run" };
  const guest = new Browser();
  const length = { "content-length": String(new URLSearchParams(typed).toString().length) };
  const answer = await guest.ask(path, typed, undefined, length);
  expect(answer.status).toBe(303);
  const back = new URL(answer.headers.get("location")!, "https://x").searchParams.get("to")!;
  const { values: again } = await formIn(await browser.read(back));
  expect(again).toMatchObject({
    model: "vidA-2",
    prompt: "kept & typed",
    duration: "15",
    "pictures.0.url": "https://pictures.example/1.png",
  });

  const live = await guest.ask(path, typed, undefined, { ...scripted, ...length });
  expect([live.status, live.headers.get("hx-reswap"), live.headers.get("hx-redirect")]).toEqual([200, "none", null]);
  expect(await live.text()).toMatch(/id="unsent" hx-swap-oob="true">.*href="\/console\/sign-in\?to=/);
  // A form with files is not read for a visitor.
  const form = new FormData();
  form.set("prompt", "with a file");
  form.set("pictures.0", new File([png, new Uint8Array(300_000)], "a.png"));
  expect((await guest.ask(path, form)).headers.get("location")).toBe(`/console/sign-in?to=${encodeURIComponent(path)}`);
});

test("a chat answers the script with events: the question, the text, then the conversation with its cost", async () => {
  const { browser } = await person();
  const { values } = await readForm(browser, "textA-1");
  const sent = { ...values, "messages.1.content": "Hello <i>you</i>", do: "run" };
  const response = await browser.ask(path, sent, undefined, { ...scripted, accept: "text/event-stream" });
  const events = (await response.text())
    .split("\n\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line.slice("data: ".length)) as { html?: string; text?: string });
  expect(events[0]?.html).toContain('<div class="said me-said">Hello &lt;i&gt;you&lt;/i&gt;</div>');
  expect(events[0]?.html).toContain('id="stop"');
  expect(events.map(({ text }) => text ?? "").join("")).toBe("Hello there");
  const done = events.at(-1)!.html!;
  expect(done).toContain('<div class="said" id="said-2"><div class="md"><p>Hello there</p></div></div>');
  expect(done).toContain("textA-1 · 10 in, 2 out · $0.000036 · ");
  expect(done).toContain('id="send"');
  expect((await formIn(done)).values).toMatchObject({ "messages.2.content": "Hello there", "messages.3.content": "" });
});

test("a refused chat restores the typed text, and a stopped one keeps what arrived", async () => {
  const { browser } = one;
  const { values } = await readForm(browser, "textA-1");
  const bad = { ...values, "messages.1.content": "kept", temperature: "9", do: "run" };
  const refused = await (await browser.ask(path, bad, undefined, { ...scripted, accept: "text/event-stream" })).text();
  const last = JSON.parse(refused.trim().split("\n\n").at(-1)!.slice("data: ".length)) as { html: string };
  const { values: again, invalid } = await formIn(last.html);
  expect([again["messages.1.content"], [...invalid]]).toEqual(["kept", ["temperature"]]);

  const stopped = await send(browser, "textA-1", { "messages.1.content": "long", answer: "It begins" }, "stopped");
  const html = await stopped.text();
  expect(html).toContain("<p>It begins</p>");
  expect(html).toContain("Stopped. The received part is charged.");
  expect((await formIn(html)).values).toMatchObject({ "messages.1.content": "long", "messages.2.content": "It begins" });
});
