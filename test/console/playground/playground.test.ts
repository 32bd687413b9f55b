/** The playground: every model's form, its price, and the task it submits. */

import { env } from "cloudflare:workers";
import { beforeAll, expect, test, vi } from "vitest";
import { builtInCatalog } from "../../../src/catalog/catalog.ts";
import { fieldHint, fieldLabel } from "../../../src/console/messages/playground-fields.ts";
import { toSentence } from "../../../src/console/playground/problem.ts";
import { failWalletOnce } from "../../support/faults.ts";
import { type Account, asAdmin, call, chatsSettled, complete, holdTime } from "../../support/gateway.ts";
import { formIn, readForm, held, path, person, png, readRecord, run, send, shownPrice } from "./support.ts";
import { Browser } from "../support.ts";

/** All kinds of task that a model supports. */
const choices = builtInCatalog().live.flatMap(({ id, actions }) =>
  Object.keys(actions).map((action) => (action === "character" || action === "remix" ? `${id}:${action}` : id)),
);

let one: { browser: Browser; account: Account };
let video: string;

beforeAll(async () => {
  holdTime();
  one = await person();
  video = await complete(one.account, "/v1/videos/generations", { model: "vidA-2", prompt: "waves" });
});

interface Schema {
  properties?: Record<string, Schema>;
  additionalProperties?: unknown;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
}

/** Each field of a schema by its path, except those that a form does not have. */
const readLeaves = (schema: Schema, prefix = ""): [string, Schema][] =>
  Object.entries(schema.properties!).flatMap(([name, property]): [string, Schema][] =>
    property.properties && property.additionalProperties === undefined
      ? readLeaves(property, `${prefix}${name}.`)
      : [[prefix + name, property]],
  );
const notAsked = new Set(["model", "stream", "stream_options.include_usage"]);

test("every model's form has the fields and limits of its schema, each with a label in every language", async () => {
  const { body } = await call("/v1/models", { key: one.account.key });
  for (const { id, parameters, actions = {} } of body.data)
    for (const [choice, schema] of [[id, parameters], ...Object.entries(actions).map(([action, other]) => [`${id}:${action}`, other])]) {
      const { fields, controls } = await readForm(one.browser, choice);
      const leaves = readLeaves(schema).filter(([name]) => !notAsked.has(name));
      const own = fields.filter((name) => name !== "video_id");
      expect([choice, own.toSorted()]).toEqual([choice, leaves.map(([name]) => name).toSorted()]);
      expect(fields.includes("video_id")).toBe(choice.endsWith(":remix"));
      for (const [name, limits] of leaves) {
        for (const language of ["en", "zh", "ko", "ja"] as const) expect(fieldLabel(language, name)).not.toBe(name);
        const control = controls.get(name);
        if (limits.enum) expect(control!.options.filter(Boolean)).toEqual(limits.enum.map(String));
        const isList = control?.attributes["type"] === "radio" || control?.tag === "select";
        if (isList && limits.maximum !== undefined) {
          const { minimum = 0, maximum } = limits;
          expect([name, control.options]).toEqual([name, Array.from({ length: maximum - minimum + 1 }, (_, at) => String(minimum + at))]);
          // More values than five do not fit side by side.
          expect([name, control.tag]).toEqual([name, control.options.length > 5 ? "select" : "input"]);
          continue;
        }
        for (const [attribute, limit] of [
          ["min", limits.minimum],
          ["max", limits.maximum],
          ["maxlength", limits.maxLength],
        ] as const)
          if (limit !== undefined) expect([name, attribute, control!.attributes[attribute]]).toEqual([name, attribute, String(limit)]);
      }
    }
});

test("a unit is named once: by the values of a list, or beside a field to type in", async () => {
  const html = await one.browser.read("/console/playground?model=vidC-1-0-pro-fast");
  expect(html).toMatch(/<label for="f-duration">Length\s*<\/label>/);
  expect(html).toMatch(/<option value="5"[^>]*>5 s<\/option>/);
});

test("hints exist in every language or in none", () => {
  for (const name of ["prompt", "timestamps", "tools", "stop", "metadata.style", "image_with_roles"])
    expect(new Set((["en", "zh", "ko", "ja"] as const).map((language) => fieldHint(language, name, "video") !== undefined)).size).toBe(1);
});

test.each(choices.filter((choice) => !choice.startsWith("textA")))("%s runs with the values that its form shows", async (choice) => {
  const { browser, account } = one;
  const typed: Record<string, string> = choice.endsWith(":character")
    ? { from_task: video, timestamps: "0,2" }
    : { prompt: "A lighthouse\r\nat dawn", ...(choice.endsWith(":remix") && { video_id: video }) };
  const { values } = await readForm(browser, choice);
  const task = await run(browser, account, choice, typed);
  const [model, action] = choice.split(":");
  expect(task.submission).toMatchObject({ model, ...(action && { kind: action }) });
  const parameters = task.submission.parameters as Record<string, unknown>;
  if (typed["prompt"]) expect(parameters["prompt"]).toBe("A lighthouse\nat dawn");
  else expect(parameters).toMatchObject(typed);
  if (choice.endsWith(":remix")) expect(task.submission.source?.taskId).toBe(video);
  for (const name of ["size", "n", "quality", "duration", "metadata.resolution"])
    expect([name, parameters[name.replace("metadata.", "")]]).toEqual([name, values[name] && (Number(values[name]) || values[name])]);
});

test("the values of every kind of field reach the task", async () => {
  const { browser, account } = one;
  const typed = {
    prompt: "  <b>wide</b> ",
    duration: "15",
    size: "1:1",
    "metadata.style": "anime",
    "metadata.private": "on",
    "pictures.0.url": "https://pictures.example/1.png",
    "pictures.0.role": "first_frame",
    "pictures.7.url": " https://pictures.example/2.png",
    "pictures.7.role": "last_frame",
  };
  expect((await run(browser, account, "vidA-2", typed)).submission.parameters).toEqual({
    prompt: "  <b>wide</b> ",
    duration: 15,
    size: "1:1",
    style: "anime",
    private: true,
    watermark: false,
    image_with_roles: [
      { url: "https://pictures.example/1.png", role: "first_frame" },
      { url: "https://pictures.example/2.png", role: "last_frame" },
    ],
  });
});

test.each([
  ["imgA-4", { n: "3", quality: "hd" }, "0.18"],
  ["imgC-3-pro-image-preview", { n: "1" }, "0.12"],
  ["vidA-2-pro", { duration: "25" }, "7.5"],
  ["vidC-1-0-pro-fast", { duration: "7", "metadata.resolution": "1080p" }, "0.42"],
  ["vidD-02", { duration: "10", "metadata.resolution": "512p" }, "0.5"],
  ["vidB-3.1-quality", {}, "3.2"],
])("the price shown for %s with %o is the price that is reserved", async (model, typed, price) => {
  const { browser, account } = one;
  const preview = await (await send(browser, model, { prompt: "x", ...typed }, "preview")).text();
  expect(shownPrice(preview)).toBe(price);
  expect((await run(browser, account, model, { prompt: "x", ...typed })).submission.price).toBe(Math.round(Number(price) * 1e6));
});

test("a character costs what its form shows before anything is typed", async () => {
  const { browser, account } = one;
  expect(shownPrice(await browser.read(`${path}?model=vidA-2:character`))).toBe("0.05");
  expect((await run(browser, account, "vidA-2:character", { from_task: video, timestamps: "0,2" })).submission.price).toBe(50_000);
});

test("a form sent twice creates one task; a changed form creates another", async () => {
  const { browser, account } = await person();
  const { values } = await readForm(browser, "imgA-4");
  const twice = { ...values, prompt: "once", do: "run" };
  const [first, second] = await Promise.all([browser.ask(path, twice), browser.ask(path, twice)]);
  expect(first.status).toBe(303);
  expect(second.headers.get("location")).toBe(first.headers.get("location"));
  expect(await held(account)).toBe(30_000);
  const other = await browser.ask(path, { ...twice, prompt: "another" });
  expect(other.headers.get("location")).not.toBe(first.headers.get("location"));
  expect(await held(account)).toBe(60_000);
});

test("a refusal is shown beside its field, in the page's language, and the values are kept", async () => {
  const { browser, account } = await person();
  await browser.ask("/console/language?to=zh");
  const response = await send(browser, "imgA-4", { prompt: "", n: "9", quality: "hd", size: "21:9" });
  expect(response.status).toBe(400);
  const html = await response.text();
  const { values, invalid } = await formIn(html);
  expect([...invalid].toSorted()).toEqual(["n", "prompt", "size"]);
  expect(/id="problem-n"[^>]*><svg.*?<\/svg>([^<]*)</.exec(html)![1]).toBe("数量不得大于 4。");
  // The summary takes the focus and names each field by its label.
  const summary = /<div class="note bad" role="alert" tabindex="-1" data-focus[^>]*>(.*?)<\/ul>/.exec(html)![1];
  for (const [name, sentence] of [
    ["prompt", "提示词为必填项。"],
    ["n", "数量不得大于 4。"],
    ["size", "宽高比必须是以下之一："],
  ])
    expect(summary).toContain(`<a href="#f-${name}">${sentence}`);
  expect(values).toMatchObject({ quality: "hd" });
  expect(await held(account)).toBe(0);
});

test.each([
  ["en", "Prompt", "is required", "Prompt is required."],
  ["en", "Images", "one of url, from_task is required", "Images: one of url, from_task is required."],
  ["zh", "提示词", "为必填项", "提示词为必填项。"],
  ["zh", "图片", "1080p 不支持参考图片", "图片：1080p 不支持参考图片。"],
  ["zh", "视频任务", "该任务尚未完成", "视频任务：该任务尚未完成。"],
  ["ko", "프롬프트", "필수 항목입니다", "프롬프트: 필수 항목입니다."],
  ["ja", "プロンプト", "必須です", "プロンプトは必須です。"],
  ["ja", "画像", "要素は少なくとも 1 個必要です", "画像：要素は少なくとも 1 個必要です。"],
] as const)("a violated rule is a sentence: %s, %s, %s", (language, subject, rule, sentence) => {
  expect(toSentence(language, subject, rule)).toBe(sentence);
});

test("a refusal of an item is shown beside its field and names the item", async () => {
  const response = await send(one.browser, "imgB-4o-image", {
    prompt: "x",
    "pictures.0.url": "https://pictures.example/1.png",
    "pictures.1.url": "nowhere",
  });
  const html = await response.text();
  expect(response.status).toBe(400);
  expect(/id="problem-pictures"[^>]*><svg.*?<\/svg>([^<]*)</.exec(html)![1]).toMatch(/^Image 2 must be .*\.$/);
  expect((await formIn(html)).values).toMatchObject({ "pictures.0.url": "https://pictures.example/1.png", "pictures.1.url": "nowhere" });
});

test.each([
  ["sandbox:reject", 422, "The content violates the content policy."],
  ["@nobody.here walks", 400, "names a character that does not exist: @nobody.here"],
])("an invalid prompt is reported: %s", async (prompt, status, sentence) => {
  const response = await send(one.browser, "vidA-2", { prompt });
  expect(response.status).toBe(status);
  const html = await response.text();
  expect(html).toContain(sentence);
  expect((await formIn(html)).values["prompt"]).toBe(prompt);
});

test("an insufficient balance is reported before and after submitting", async () => {
  const { browser } = await person({ SIGNUP_QUOTA: "0.05" });
  const preview = await (await send(browser, "imgA-4", { prompt: "x", n: "2" }, "preview")).text();
  expect(preview).toMatch(/The balance is \$0\.05, which covers [\w.-]+ at \$0\.0\d+\./);
  const response = await send(browser, "imgA-4", { prompt: "x", n: "2" });
  expect(response.status).toBe(402);
  expect(await response.text()).toContain("The balance is insufficient.");
});

test("chosen image files are the task's inputs, byte by byte", async () => {
  const { browser, account } = one;
  const { values } = await readForm(browser, "vidC-1-0-pro-fast");
  const form = new FormData();
  const large = new Uint8Array(200_001);
  large.set(png);
  for (const [name, value] of Object.entries({
    ...values,
    prompt: "x",
    do: "run",
    "pictures.0.role": "first_frame",
    "pictures.1.role": "reference",
    "pictures.2.role": "last_frame",
    "pictures.1.url": "https://pictures.example/1.png",
  }))
    form.set(name, value);
  form.set("pictures.0", new File([png], "first.png", { type: "image/png" }));
  form.set("pictures.2", new File([large], `"; $(last) '.png`, { type: "image/png" }));
  form.set("pictures.3", new File([], "", { type: "application/octet-stream" }));
  const response = await browser.ask(path, form);
  expect(response.status, await response.clone().text()).toBe(303);
  const id = response.headers.get("location")!.split("=").at(-1)!;
  const { submission } = await readRecord(account, id);
  expect(submission.inputs.map(({ role, url }) => [role, url])).toEqual(
    [
      ["first_frame", undefined],
      ["reference", "https://pictures.example/1.png"],
      ["last_frame", undefined],
    ].map(([role, url]) => [role, url]),
  );
  const stored = await Promise.all([0, 2].map(async (at) => (await env.ASSETS.get(submission.inputs[at]?.key ?? ""))!.bytes()));
  expect(stored[0]).toEqual(png);
  expect(stored[1]).toEqual(large);
});

test("a form that is too large is refused unread", async () => {
  const response = await one.browser.ask(path, { do: "run" }, undefined, { "content-length": String(60 * 1024 * 1024) });
  expect(response.status).toBe(413);
  expect(await response.text()).toContain('href="/console/playground"');
  const headers = { "content-length": String(60 * 1024 * 1024), "hx-request": "true" };
  const live = await one.browser.ask(path, { do: "run" }, undefined, headers);
  expect(live.headers.get("hx-reswap")).toBe("none");
  expect(await live.text()).toMatch(/^<div id="unsent" hx-swap-oob="true">.*The images are too large together/);
});

test("a form is prefilled from a task, and an uploaded image has to be chosen again", async () => {
  const { browser, account } = one;
  const typed = {
    prompt: `"><script>alert(1)</script>`,
    duration: "4",
    size: "21:9",
    "metadata.resolution": "480p",
    "pictures.0.url": "https://pictures.example/1.png",
    "pictures.0.role": "first_frame",
  };
  const { id } = await run(browser, account, "vidC-1-0-pro-fast", typed);
  const html = await browser.read(`${path}?from=${id}`);
  expect(html).not.toContain("<script>alert");
  const { values } = await formIn(html);
  expect(values).toMatchObject({ ...typed, model: "vidC-1-0-pro-fast" });
  expect(html).not.toContain("Choose the image files again");

  const remix = await run(browser, account, "vidA-2-pro:remix", { prompt: "at night", video_id: video, duration: "25" });
  expect((await formIn(await browser.read(`${path}?from=${remix.id}`))).values).toMatchObject({
    model: "vidA-2-pro:remix",
    video_id: video,
    duration: "25",
  });

  const answer = await call("/v1/images/generations", {
    key: account.key,
    body: { model: "imgA-4", prompt: "x", images: [`data:image/png;base64,${png.toBase64()}`] },
  });
  expect(await browser.read(`${path}?from=${answer.body.id}`)).toContain("Choose the image files again");

  const stranger = new Browser();
  await stranger.signUp();
  expect((await stranger.ask(`${path}?from=${id}`)).status).toBe(404);
  expect((await browser.ask(`${path}?from=task_nothing`)).status).toBe(404);
});

test("switching models keeps the values that fit the new form", async () => {
  const response = await send(one.browser, "imgA-4", { prompt: "kept", size: "3:2", n: "4", model: "vidD-02" }, "choose");
  const { values } = await formIn(await response.text());
  expect(values).toMatchObject({ model: "vidD-02", prompt: "kept", size: "16:9", duration: "5" });
  // A value that this model does not accept is restored with the next model that does.
  const back = await one.browser.ask(path, { ...values, model: "imgB-4o-image", do: "choose" });
  expect((await formIn(await back.text())).values).toMatchObject({ model: "imgB-4o-image", prompt: "kept", n: "4" });
  // A default that the user did not change is replaced by the new model's default, even if it would fit.
  const makeVideo = async (typed: Record<string, string>) =>
    (await formIn(await (await send(one.browser, "imgA-4", { ...typed, model: "vidA-2" }, "choose")).text())).values;
  expect(await makeVideo({})).toMatchObject({ model: "vidA-2", size: "16:9" });
  expect(await makeVideo({ size: "9:16" })).toMatchObject({ model: "vidA-2", size: "9:16" });
});

test("the query may have an alias and field values; an unavailable model is replaced by another", async () => {
  const { browser } = one;
  const query = (text: string) => browser.read(`${path}?${text}`).then(formIn);
  expect((await query("model=imgC-alias-pro&prompt=from+a+link")).values).toMatchObject({
    model: "imgC-3-pro-image-preview",
    prompt: "from a link",
  });
  expect((await query("model=nothing")).values["model"]).toBe("imgA-4");
  expect((await browser.ask(path, { model: "nothing", do: "run" })).status).toBe(404);
});

test("a chat is answered on the page with its cost, and continues", async () => {
  const { browser, account } = await person();
  const typed = {
    "messages.0.content": "Be brief.",
    "messages.1.content": "Hello <i>you</i>",
    max_completion_tokens: "1000",
    temperature: "0.5",
    stop: '["END"]',
  };
  const held_ = shownPrice(await (await send(browser, "textA-1", typed, "preview")).text());
  const response = await send(browser, "textA-1", typed);
  const html = await response.text();
  expect(response.status, html).toBe(200);
  expect(await held(account)).toBe(Math.round(Number(held_) * 1e6));
  expect(html).toMatch(/id="answer"[^>]*>Hello there<\/div>/);
  expect(html).toContain("textA-1 · 10 in, 2 out · $0.000036 · ");
  await chatsSettled(account);
  expect((await asAdmin(`/accounts/${account.id}`)).body.used).toBe(0.000036);
  const { values } = await formIn(html);
  expect(values).toMatchObject({
    ...typed,
    "messages.0.role": "system",
    "messages.1.role": "user",
    "messages.2.role": "assistant",
    "messages.2.content": "Hello there",
    "messages.3.role": "user",
    "messages.3.content": "",
  });
});

test("a chat that breaks off shows what arrived and says so below it", async () => {
  const html = await (await send(one.browser, "textA-1-mini", { "messages.1.content": "break <b>" })).text();
  expect(html).toMatch(/id="answer"[^>]*>Hello<\/div>/);
  expect(html).toContain("The answer broke off.");
  expect((await formIn(html)).values).toMatchObject({ "messages.1.content": "break <b>", "messages.2.content": "Hello" });
  expect(html.endsWith("</html>")).toBe(true);
});

test("text that is not JSON, and a conversation that is not valid, are reported beside their field", async () => {
  const response = await send(one.browser, "textA-1-mini", { tools: "hammer", temperature: "warm" });
  expect(response.status).toBe(400);
  const { invalid } = await formIn(await response.text());
  expect([...invalid].toSorted()).toEqual(["messages.1.content", "temperature", "tools"]);
});

test("deeply nested JSON and too many image names are refused, and the page shows them once", async () => {
  const deep = "[".repeat(5_000) + "]".repeat(5_000);
  expect((await send(one.browser, "textA-1-mini", { tools: deep, "messages.0.content": "x" })).status).toBe(400);
  const names = Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`pictures.${at}.name`, "a".repeat(200)]));
  const shown = await one.browser.ask(path, { model: "imgA-4", do: "preview", prompt: "x", ...names });
  expect(shown.status).toBe(200);
  // With the twenty earlier tasks below it.
  expect((await shown.text()).length).toBeLessThan(106_000);
});

test.each([1, 3, 9])("when the wallet fails %i times nothing is reserved, and the same form can be sent again", async (times) => {
  const { values } = await readForm(one.browser, "imgA-4");
  const form = { ...values, prompt: `fault ${times}`, do: "run" };
  const before = await held(one.account);
  failWalletOnce(one.account, "reserve", false, times);
  const refused = await one.browser.ask(path, form);
  vi.restoreAllMocks();
  expect(refused.status).toBe(503);
  expect(await refused.text()).toContain('role="alert"');
  expect(await held(one.account)).toBe(before);
  expect((await one.browser.ask(path, form)).status).toBe(303);
  expect(await held(one.account)).toBe(before + 30_000);
});

test.each([
  ["the sign-in", "/console/sign-in", 50_000, 5_000],
  ["the sign-in, which counts larger ones", "/console/sign-in", 200_000, 4_500],
  ["a page, which counts larger ones", "/console/keys", 200_000, 4_500],
  ["the playground", path, 300_000, 9_000],
])("a form of known length at %s that stops arriving is ended at the minimum pace", async (_, to, length, ms) => {
  const { browser } = await person();
  const stalled = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new TextEncoder().encode("prompt=a")) });
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"], now: Date.now() });
  const headers = { "content-type": "application/x-www-form-urlencoded", "content-length": String(length) };
  const answer = browser.ask(to, stalled, undefined, headers);
  const isAnswered = vi.fn();
  void answer.then(isAnswered);
  await scheduler.wait(100);
  await vi.advanceTimersByTimeAsync(ms);
  await scheduler.wait(20);
  expect(isAnswered).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1_500);
  const { status } = await answer;
  vi.useRealTimers();
  expect(status).toBe(408);
});

test("slow forms with images from two users delay no other form; a form that is too slow is 408", async () => {
  const [slow, other] = [await person(), await person()];
  const headers = { "content-type": "multipart/form-data; boundary=x" };
  const start = new TextEncoder().encode(
    `--x\r\ncontent-disposition: form-data; name="pictures"; filename="a.png"\r\n\r\n${"a".repeat(90_000)}`,
  );
  const ends: (() => void)[] = [];
  const stalled = () =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(start);
        ends.push(() => controller.close());
      },
    });
  const send = ({ browser }: typeof slow) => browser.ask(path, stalled(), undefined, headers);
  const answers = [slow, slow, slow, other, other, other].map(send);
  await scheduler.wait(100);
  const { values } = await readForm(one.browser, "imgB-4o-image");
  const form = new FormData();
  for (const [name, value] of Object.entries({ ...values, prompt: "a quay", do: "run" })) form.append(name, value);
  const picture = new Uint8Array(3_000_000);
  picture.set(png);
  form.append("pictures", new File([picture], "a.png", { type: "image/png" }));
  expect((await one.browser.ask(path, form)).status).toBe(303);
  for (const end of ends) end();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([400, 400, 400, 400, 400, 400]);

  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"], now: Date.now() });
  const late = send(slow);
  await scheduler.wait(100);
  await vi.advanceTimersByTimeAsync(8_000);
  const refused = await late;
  expect(refused.status).toBe(408);
  expect(await refused.text()).toContain("The form arrived too slowly.");
  vi.useRealTimers();
});
