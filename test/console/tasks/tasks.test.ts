/** An account's tasks in the console: the gallery, a task's page, and its actions. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { png } from "../../media/images.ts";
import {
  type Account,
  asAdmin,
  readBalance,
  call,
  cancel,
  complete,
  deliver,
  finish,
  holdTime,
  pass,
  script,
  submit,
  unique,
} from "../../support/gateway.ts";
import { openStub } from "../../support/faults.ts";
import { Browser, person, shown } from "../support.ts";

holdTime();

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const attack = `"><script>alert(1)</script>`;

let known: ReturnType<typeof person> | undefined;
/** A shared user for tests of a single task, because signing up is slow. */
const sharedPerson = () => (known ??= person(new Browser(), 95));

const tick = () => vi.setSystemTime(Date.now() + 1_000);
const image = (account: Account, body: object = {}) => submit(account, images, { model: "imgA-4", prompt: unique(), ...body });
const makeVideo = (account: Account, body: object = {}) => complete(account, videos, { model: "vidA-2", prompt: unique(), ...body });

/** The ids of the tasks in the gallery, in their order. */
const isLive = (text: string) => /<(?:section|div class="page") id="tasks?" hx-get=/.test(text) && text.includes('hx-trigger="every');

/** The URL at this place in a page. */
const within = (text: string, place: RegExp) => (place.exec(text)?.[1] ?? "").replaceAll("&amp;", "&");

/** A page's form: its action, and its hidden idempotency key. */
function readForm(text: string, name: string): { action: string; key: string } {
  const [, action = "", key = ""] = new RegExp(`action="([^"]*/${name})".*?name="key" value="([^"]*)"`, "s").exec(text) ?? [];
  expect(action, text).not.toBe("");
  return { action, key };
}

/** The path that a form redirected to. */
async function led(response: Response): Promise<string> {
  expect(response.status, response.status === 303 ? "" : await response.text()).toBe(303);
  return response.headers.get("location")!.replace("/console/tasks/", "");
}

test("the gallery shows each kind with its image or video, newest first, and is live while a task runs", async () => {
  const { browser, account } = await person();
  expect(await browser.read("/console/tasks")).toContain("There are no tasks yet.");
  const imageId = await complete(account, images, { model: "imgA-4", prompt: `a ${attack}` });
  tick();
  const video = await makeVideo(account);
  tick();
  const character = await complete(account, videos, { model: "vidA-2", from_task: video, timestamps: "0,1" });
  tick();
  const remix = await complete(account, `/v1/videos/${video}/remix`, { model: "vidA-2", prompt: unique() });
  const text = await browser.read("/console/tasks");
  expect(shown(text)).toEqual([remix, character, video, imageId]);
  for (const id of [imageId, character]) expect(text).toMatch(new RegExp(`<img src="/console/thumbnails/assets/${id}/`));
  for (const id of [video, remix]) expect(text).toMatch(new RegExp(`data-video="https://gateway.example/assets/${id}/`));
  expect(text).toContain("@amber.fox");
  expect(text).not.toContain("<script>alert");
  expect(text).toContain("a &quot;&gt;&lt;script&gt;");
  expect(isLive(text)).toBe(false);
  const running = await image(account);
  expect(isLive(await browser.read("/console/tasks"))).toBe(true);
  await finish(account, running);
  expect(isLive(await browser.read("/console/tasks"))).toBe(false);
});

test("the gallery is filtered by kind, status and model, and has further pages", async () => {
  const { browser, account } = await person();
  const video = await makeVideo(account);
  const imageIds: string[] = [];
  for (let count = 0; count < 25; count++) {
    tick();
    imageIds.unshift(await image(account));
  }
  const show = async (query: string) => shown(await browser.read(`/console/tasks${query}`));
  const first = await browser.read("/console/tasks?kind=image&status=queued&model=imgA-4");
  expect(shown(first)).toEqual(imageIds.slice(0, 24));
  const older = within(first, /href="([^"]*after=[^"]*)"/);
  const second = await browser.read(older);
  expect(shown(second)).toEqual(imageIds.slice(24));
  expect([first, second].map((text) => text.includes(">Older</a>"))).toEqual([true, false]);
  expect(await show("?kind=video")).toEqual([video]);
  expect(await show("?status=completed&kind=&model=")).toEqual([video]);
  expect(await show("?model=vidA-2")).toEqual([video]);
  expect(await browser.read("/console/tasks?model=vidB-3.1-fast")).toContain("There are no matching tasks.");
  const refused = await browser.ask("/console/tasks?kind=%3Cscript%3E");
  expect([refused.status, shown(await refused.text())]).toEqual([400, []]);
});

test("a task's page is live until the task ends, then shows its images, parameters, cost and times", async () => {
  const { browser, account } = await sharedPerson();
  const prompt = `${unique()} ${attack}`;
  const id = await image(account, { prompt, n: 2, size: "16:9" });
  const running = await browser.read(`/console/tasks/${id}`);
  expect(isLive(running)).toBe(true);
  expect(running).toContain(`hx-get="/console/tasks/${id}"`);
  expect(running).toContain("queued");
  expect(running).toMatch(/Reserved<\/dt><dd><data class="num" value="0\.06"/);
  expect(running).toMatch(/Charged<\/dt><dd>not yet/);
  await finish(account, id);
  const text = await browser.read(`/console/tasks/${id}`);
  expect(isLive(text)).toBe(false);
  expect(text).toContain("Completed");
  expect(text.match(/<figure class="r-16-9"><img src="https:\/\/gateway\.example\/assets\//g)).toHaveLength(2);
  expect(text).toContain(`download="${id}-2.png"`);
  const url = within(text, /<img src="([^"]*)"/);
  expect((await call(url)).status).toBe(200);
  expect(text).toMatch(/Aspect ratio<\/dt><dd>16:9/);
  expect(text).toMatch(/Charged<\/dt><dd><data class="num" value="0\.06"/);
  expect(text).toMatch(/Returned<\/dt><dd><data class="num" value="0"/);
  for (const word of ["Submitted", "Started", "Completed</span>", "data-countdown="]) expect(text).toContain(word);
  expect(text).not.toContain("<script>alert");
});

test("a video plays on its page, with its thumbnail and a link to its source", async () => {
  const { browser, account } = await sharedPerson();
  const source = await makeVideo(account, { metadata: { thumbnail: true, style: "anime" } });
  const text = await browser.read(`/console/tasks/${source}`);
  expect(text).toMatch(/<video src="https:[^"]*" poster="https:[^"]*" width="\d+" height="\d+" controls/);
  const remix = await complete(account, `/v1/videos/${source}/remix`, { model: "vidA-2", prompt: unique() });
  expect(await browser.read(`/console/tasks/${remix}`)).toContain(`href="/console/tasks/${source}"`);
});

test("a failed task shows the reason and that its money was returned", async () => {
  const { browser, account } = await sharedPerson();
  const prompt = unique();
  await script({ match: prompt, polls: [{ failed: "content_policy_violation" }] });
  const id = await image(account, { prompt });
  await finish(account, id);
  const text = await browser.read(`/console/tasks/${id}`);
  for (const words of ["The content violates the content policy.", "content_policy_violation", "$0.03 was returned"])
    expect(text).toContain(words);
  expect(text).toMatch(/Returned<\/dt><dd><data class="num" value="0\.03"/);
});

test("a failed task says what to do, where to read about it, and what to copy", async () => {
  const { browser, account } = await sharedPerson();
  const prompt = unique();
  await script({ match: prompt, polls: [{ failed: "content_policy_violation" }] });
  const id = await image(account, { prompt });
  await finish(account, id);
  const text = await browser.read(`/console/tasks/${id}`);
  expect(text).toContain("Change the prompt or the images, then run it again.");
  expect(text).toContain('href="/docs/errors#every-code"');
  expect(text).toContain(`content_policy_violation: The content violates the content policy. (${id})`);
  expect(text).toContain('data-copy="error-text"');
  expect(await browser.read("/console")).toContain("The content violates the content policy.</span>");
});

const words = (html = "") =>
  html
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ")
    .trim();
const figures = (text: string) => words(/<div class="stats sm">(.*?)<\/div>/s.exec(text)?.[1]);
const legend = (text: string) => words(/<ul class="legend push">(.*?)<\/ul>/s.exec(text)?.[1]);

test("where the time went: callers see its steps, admins every provider that was asked, with its cost", async () => {
  const { browser, account } = await person();
  const prompt = unique();
  const id = await image(account, { prompt });
  await deliver(id);
  vi.setSystemTime(Date.now() + 3_000);
  await finish(account, id);
  const section = (text: string) => words(/<ol class="fall">(.*?)<\/ol>/s.exec(text)?.[1]);
  const text = await browser.read(`/console/tasks/${id}`);
  expect(section(text)).toMatch(/^0 s [\d. s]+Waited \d+ ms Being made [\d.]+ (s|ms)/);
  // Four equal parts of a round number, with room for the longest bar.
  const [, one = 0, two, three, end] = [...section(text).matchAll(/([\d.]+) s(?=.*Waited)/g)].map(([, figure]) => Number(figure));
  expect([two, three, end]).toEqual([2, 3, 4].map((times) => expect.closeTo(times * one, 5)));
  expect([1, 1.5, 2, 2.5, 3, 4, 5, 6, 8]).toContain(Number((one / 10 ** Math.floor(Math.log10(one))).toPrecision(2)));
  // Four figures, and one bar a kind in the legend.
  expect(figures(text)).toMatch(/Ended [\d.]+ s typical 15 s Attempts 1 no other was needed Charged \$0\.03 \$0\.00 returned/);
  expect(legend(text)).toBe("Gateway Being made");
  expect(text).not.toMatch(/sandbox ·|· sandbox|<th scope="row">sandbox|Attempts<\/h2>/);
  await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { admin: true } });
  const own = await browser.read(`/console/tasks/${id}`);
  expect(section(own)).toMatch(/Waited .* 1 · sandbox [\d.]+ (s|ms)/);
  expect(own).toContain('<th scope="row">sandbox</th>');
  const operated = await browser.read(`/console/admin/accounts/${account.id}/tasks/${id}`);
  expect(section(operated)).toContain("1 · sandbox");
  expect(operated).not.toContain(prompt);
});

test("a cancelled task has no failed step; its page says what it cost, and names no provider that was not asked", async () => {
  const { browser, account } = await person();
  await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { admin: true } });
  const [early, running, made] = [await image(account), await image(account), await image(account)];
  await cancel(account, early);
  await deliver(running);
  await cancel(account, running);
  await runInDurableObject(openStub(made), (object) => {
    const configured = object as unknown as { env: Env };
    configured.env = { ...configured.env, CANCEL_CHARGE: "full" };
  });
  await deliver(made);
  await pass(made, 2); // the provider has generated it: it waits to be collected
  await cancel(account, made);
  const [waited, stopped, charged] = [
    await browser.read(`/console/tasks/${early}`),
    await browser.read(`/console/tasks/${running}`),
    await browser.read(`/console/tasks/${made}`),
  ];
  expect([legend(waited), legend(stopped), legend(charged)]).toEqual(["Gateway", "Gateway Being made", "Gateway Being made"]);
  expect(figures(waited)).toContain("Attempts 0 not asked Charged");
  expect(waited).not.toContain('<th scope="row">sandbox</th>');
  expect(words(await browser.read(`/console/admin/accounts/${account.id}/tasks/${early}`))).toMatch(/Routes sandbox · imgA-4 · not tried/);
  expect(stopped).toMatch(/<th scope="row">sandbox<\/th>.*?Cancelled/s);
  for (const text of [waited, stopped]) expect(text).toContain("Nothing was charged: $0.03 was returned.");
  expect(charged).toContain("Charged: $0.03");
  expect(await browser.read("/console")).toContain("No task has failed.");
  for (const wrong of ["Nothing was charged", "Money returned"]) expect(charged).not.toContain(wrong);
});

test("expired files and the actions that need them are not on the pages", async () => {
  const { browser, account } = await sharedPerson();
  const id = await makeVideo(account);
  expect(await browser.read(`/console/tasks/${id}`)).toContain(`action="/console/tasks/${id}/remix"`);
  vi.setSystemTime(Date.now() + 86_401_000);
  await pass(id, 0);
  const text = await browser.read(`/console/tasks/${id}`);
  expect(text).toContain("The files have expired and are deleted.");
  for (const gone of ["<video", `${id}/remix`, `${id}/character`, "data-countdown"]) expect(text).not.toContain(gone);
  const gallery = await browser.read("/console/tasks");
  expect(gallery).toContain("Files expired");
  expect(gallery).not.toContain("<video");
  const late = await browser.ask(`/console/tasks/${id}/remix`, { key: "x", prompt: "at night", choice: "vidA-2/10", size: "16:9" });
  expect(late.status).toBe(400);
  expect(await late.text()).toContain("the video of the task has expired");
});

test("running a task again submits its request once, however often the form is sent", async () => {
  const { browser, account } = await sharedPerson();
  const body = { model: "vidA-2", prompt: unique(), duration: 15, size: "9:16", metadata: { style: "anime", watermark: true } };
  const id = await complete(account, videos, body);
  const { action, key } = readForm(await browser.read(`/console/tasks/${id}`), "again");
  const before = (await readBalance(account)).reserved;
  const [first, second] = await Promise.all([browser.ask(action, { key }), browser.ask(action, { key })]);
  const again = await led(first);
  expect(again).not.toBe(id);
  expect(await led(second)).toBe(again);
  expect((await readBalance(account)).reserved - before).toBe(1.5);
  const { metadata } = (await call(`/v1/tasks/${again}`, { key: account.key })).body.data;
  expect(metadata).toEqual((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.metadata);
  // Opening the page again creates another idempotency key.
  const later = readForm(await browser.read(`/console/tasks/${id}`), "again");
  expect(await led(await browser.ask(later.action, { key: later.key }))).not.toBe(again);
});

test("a task with uploaded images cannot be repeated: its page links to the playground", async () => {
  const { browser, account } = await sharedPerson();
  const inline = `data:image/png;base64,${png.toBase64()}`;
  const id = await complete(account, images, { model: "imgB-4o-image", prompt: unique(), images: [inline] });
  const text = await browser.read(`/console/tasks/${id}`);
  expect(text).toContain("cannot be repeated unchanged");
  expect(text).toContain("an uploaded image");
  expect(text).toContain(`href="/console/playground?from=${id}"`);
  expect(text).not.toContain(`${id}/again`);
  const before = await readBalance(account);
  expect((await browser.ask(`/console/tasks/${id}/again`, { key: "x" })).status).toBe(400);
  expect(await readBalance(account)).toEqual(before);
});

test("a video is remixed with the catalog's choices; a refusal is shown beside the input", async () => {
  const { browser, account } = await person();
  const id = await makeVideo(account);
  const text = await browser.read(`/console/tasks/${id}`);
  for (const choice of ["vidA-2, 15 s, $1.50", "vidA-2-pro, 25 s, $7.50"]) expect(text).toContain(choice);
  const { action, key } = readForm(text, "remix");
  const form = { key, prompt: `at night ${attack}`, choice: "vidA-2-pro/25", size: "1:1" };
  const refused = await browser.ask(action, form);
  expect(refused.status).toBe(402);
  const told = await refused.text();
  expect(told).toContain("The balance is insufficient.");
  expect(told).toContain("at night &quot;&gt;&lt;script&gt;");
  expect(told).not.toContain("<script>alert");
  expect(told).toMatch(/<option value="vidA-2-pro\/25" selected/);
  expect((await readBalance(account)).reserved).toBe(0);
  // The same form with a changed value: another request with the same idempotency key.
  const remix = await led(await browser.ask(action, { ...form, choice: "vidA-2/15" }));
  const other = await led(await browser.ask(action, { ...form, prompt: "by day", choice: "vidA-2/15" }));
  expect(other).not.toBe(remix);
  const { model, metadata } = (await call(`/v1/tasks/${remix}`, { key: account.key })).body.data;
  expect([model, metadata]).toEqual([
    "vidA-2",
    { kind: "remix", prompt: form.prompt, duration: 15, size: "1:1", reserved: 1.5, source_task: id },
  ]);
  const spoken = await browser.ask(action, { ...form, prompt: " " }, undefined, { "accept-language": "ko" });
  expect(await spoken.text()).toContain("prompt: 비워 둘 수 없습니다");
});

test("there is no remix form for private videos and for models that cannot remix", async () => {
  const { browser, account } = await sharedPerson();
  const hidden = await makeVideo(account, { metadata: { private: true } });
  const other = await makeVideo(account, { model: "vidB-3.1-fast" });
  for (const id of [hidden, other]) expect(await browser.read(`/console/tasks/${id}`)).not.toContain(`${id}/remix`);
});

test("a character is created from a video", async () => {
  const { browser, account } = await sharedPerson();
  const id = await makeVideo(account);
  const { action, key } = readForm(await browser.read(`/console/tasks/${id}`), "character");
  const refused = await browser.ask(action, { key, start: "1", end: "9" });
  expect(await refused.text()).toMatch(/timestamps: must be at least 1 and at most 3 seconds long.*value="9"/s);
  const made = await led(await browser.ask(action, { key, start: "0.5", end: "1.75" }));
  await finish(account, made);
  const text = await browser.read(`/console/tasks/${made}`);
  for (const words of ["Amber Fox", "@amber.fox", `href="/console/tasks/${id}"`, "0.5–1.75 s"]) expect(text).toContain(words);
});

test("cancelling returns the money; cancelling a final task shows a message", async () => {
  const { browser, account } = await sharedPerson();
  const before = await readBalance(account);
  const id = await image(account);
  await deliver(id);
  const { action, key } = readForm(await browser.read(`/console/tasks/${id}`), "cancel");
  expect(await readBalance(account)).not.toEqual(before);
  expect(await led(await browser.ask(action, { key }))).toBe(id);
  expect(await readBalance(account)).toEqual(before);
  expect(await browser.read(`/console/tasks/${id}`)).toContain("$0.03 was returned");
  const late = await browser.ask(action, { key });
  expect(late.status).toBe(409);
  expect(await late.text()).toContain("The task has already ended.");
});

test("another account's task is 404 for every action", async () => {
  const { account } = await sharedPerson();
  const id = await makeVideo(account);
  const { browser: stranger, account: theirs } = await person();
  const form = { key: "x", prompt: "mine now", choice: "vidA-2/10", size: "16:9", start: "0", end: "1" };
  expect((await stranger.ask(`/console/tasks/${id}`)).status).toBe(404);
  expect((await stranger.ask(`/console/tasks/${id}`, undefined, null, { "hx-request": "true" })).status).toBe(404);
  for (const name of ["cancel", "again", "remix", "character"])
    expect((await stranger.ask(`/console/tasks/${id}/${name}`, form)).status, name).toBe(404);
  expect(await (await stranger.ask(`/console/tasks/${id}`)).text()).toContain("what it showed has been deleted");
  for (const odd of ["task_x", "..%2Fmodels", `${id}A`]) expect((await stranger.ask(`/console/tasks/${odd}`)).status).toBe(404);
  expect(await readBalance(theirs)).toMatchObject({ reserved: 0, used: 0 });
  expect(shown(await stranger.read("/console/tasks"))).toEqual([]);
});

test("when the session has ended, a live part of a page redirects to the sign-in page", async () => {
  const response = await new Browser().ask("/console/tasks", undefined, null, { "hx-request": "true" });
  expect([response.status, response.headers.get("hx-redirect")]).toEqual([401, "/console/sign-in?to=%2Fconsole%2Ftasks"]);
});

test("characters are shown with image and username, and deleted after confirmation", async () => {
  const { browser, account } = await person();
  const none = await browser.read("/console/characters");
  expect(none).toContain("<h2>There are no characters yet.</h2>");
  expect(none).toContain('href="/console/tasks?kind=video&amp;status=completed"');
  await complete(account, videos, { model: "vidA-2", from_task: await makeVideo(account), timestamps: "0,1" });
  await env.DB.prepare("UPDATE character SET display_name = ?2 WHERE account_id = ?1").bind(account.id, `Amber ${attack}`).run();
  const text = await browser.read("/console/characters");
  expect(text).toMatch(/<code id="name-ch_[\w-]+">@amber\.fox<\/code>/);
  expect(text).not.toContain("<script>alert");
  const image = within(text, /<img class="face" src="([^"]*)"/);
  expect((await call(image)).headers.get("content-type")).toBe("image/png");
  const path = within(text, /href="(\/console\/characters\/ch_[\w-]+\/delete)"/);
  const { browser: stranger } = await sharedPerson();
  expect((await stranger.ask(path)).status).toBe(404);
  expect((await stranger.ask(path, {})).status).toBe(404);
  const confirm = await browser.read(path);
  expect(confirm).toContain("Delete the character Amber &quot;&gt;&lt;script&gt;");
  expect((await browser.ask(path, {})).status).toBe(303);
  expect(await browser.read("/console/characters")).toContain("There are no characters yet.");
  expect((await browser.ask(path, {})).status).toBe(404);
});
