/** The gallery's thumbnails, search, lightbox, downloads and deletions. */

import { encode } from "fast-png";
import { unzipSync } from "fflate";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { png } from "../../media/images.ts";
import { type Account, call, complete, holdTime, pass, submit, unique } from "../../support/gateway.ts";
import { Browser, person, shown } from "../support.ts";

holdTime();

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const maxBytes = 40_000;

const image = (account: Account, body: object = {}) => complete(account, images, { model: "imgA-4", prompt: unique(), ...body });
const video = (account: Account, body: object = {}) => complete(account, videos, { model: "vidA-2", prompt: unique(), ...body });
const findThumbnail = (text: string, id: string) =>
  (new RegExp(`<img src="(/console/thumbnails/assets/${id}/[^"]*)"`).exec(text)?.[1] ?? "").replaceAll("&amp;", "&");
const readFiles = async (id: string) => (await env.ASSETS.list({ prefix: `assets/${id}/` })).objects.map(({ key }) => key);
const toBytes = async (key: string) => new Uint8Array(await (await env.ASSETS.get(key))!.arrayBuffer());

/** An image that no format compresses well. */
function noise(width: number, height: number): Uint8Array<ArrayBuffer> {
  const data = new Uint8Array(width * height * 3);
  for (let at = 0; at < data.length; at += 65_536) crypto.getRandomValues(data.subarray(at, at + 65_536));
  return new Uint8Array(encode({ width, height, data, channels: 3 }));
}

/** Replaces the file of an image task by a large one. */
async function enlarge(id: string): Promise<string> {
  const [key = ""] = await readFiles(id);
  await env.ASSETS.put(key, noise(640, 480), { httpMetadata: { contentType: "image/png" } });
  return key;
}

const broken = {
  input: () => {
    throw new Error("no more transformations this month");
  },
} as unknown as ImagesBinding;

test("a thumbnail is made when it is first shown, has at most 40 KB, and is stored beside the file", async () => {
  const { browser, account } = await person();
  const id = await image(account);
  const key = await enlarge(id);
  const path = findThumbnail(await browser.read("/console/tasks"), id);
  const answer = await new Browser().ask(path);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "image/webp"]);
  expect(answer.headers.get("cache-control")).toMatch(/^private, max-age=\d+, immutable$/);
  // A browser's own page around an image that is opened alone has inline styles, which the pages' policy would refuse.
  expect([answer.headers.get("content-security-policy"), answer.headers.get("x-content-type-options")]).toEqual([null, "nosniff"]);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  expect(bytes.byteLength).toBeGreaterThan(0);
  expect(bytes.byteLength).toBeLessThanOrEqual(maxBytes);
  expect((await readFiles(id)).toSorted()).toEqual([key, `${key}.thumbnail`]);
  // The second view creates no thumbnail.
  const again = await new Browser({ IMAGES: broken }).ask(path);
  expect(new Uint8Array(await again.arrayBuffer())).toEqual(bytes);
});

test("the playground's strip has thumbnails of 8 KB, made of the larger ones and deleted with the file", async () => {
  const { browser, account } = await person();
  const id = await image(account);
  const key = await enlarge(id);
  const path = findThumbnail(await browser.read("/console/playground"), id);
  expect(path).toContain(`${key}.strip?`);
  const small = await browser.ask(path);
  expect((await small.arrayBuffer()).byteLength).toBeLessThanOrEqual(8_000);
  expect((await readFiles(id)).toSorted()).toEqual([key, `${key}.strip.thumbnail`]);
  // Its URL does not open the large one.
  expect((await browser.ask(path.replace(".strip?", "?"))).status).toBe(403);
  await (await browser.ask(findThumbnail(await browser.read("/console/tasks"), id))).arrayBuffer();
  await env.ASSETS.delete([`${key}.strip.thumbnail`]);
  expect((await (await browser.ask(path)).arrayBuffer()).byteLength).toBeLessThanOrEqual(8_000);
  expect((await readFiles(id)).toSorted()).toEqual([key, `${key}.strip.thumbnail`, `${key}.thumbnail`]);
  expect((await browser.ask("/console/tasks/delete", { task: id, sure: "yes" })).status).toBe(303);
  expect(await readFiles(id)).toEqual([]);
});

test("a small image is its own thumbnail; without transformations a large one is too", async () => {
  const { browser, account } = await person(new Browser({ IMAGES: broken }));
  const small = await image(account);
  const text = await browser.read("/console/tasks");
  const answer = await browser.ask(findThumbnail(text, small));
  const [key = ""] = await readFiles(small);
  expect(new Uint8Array(await answer.arrayBuffer())).toEqual(await toBytes(key));
  const large = await image(account);
  const largeKey = await enlarge(large);
  const whole = await browser.ask(findThumbnail(await browser.read("/console/tasks"), large));
  expect(new Uint8Array(await whole.arrayBuffer())).toEqual(await toBytes(largeKey));
  expect(whole.headers.get("cache-control")).toBe("no-store");
  expect(await readFiles(large)).toEqual([largeKey]);
});

test("a thumbnail's URL opens no other file and expires with its file; a deleted task leaves no thumbnail", async () => {
  const { browser, account } = await person();
  const [id, other] = [await image(account), await image(account)];
  const key = await enlarge(id);
  const path = findThumbnail(await browser.read("/console/tasks"), id);
  const [otherKey = ""] = await readFiles(other);
  const status = async (changed: string) => (await browser.ask(changed)).status;
  expect(await status(path.replace(key, otherKey))).toBe(403);
  expect(await status(path.replace(/signature=.../, "signature=AAA"))).toBe(403);
  expect(await status(path.replace(/expires=(\d+)/, (_, seconds) => `expires=${Number(seconds) + 1}`))).toBe(403);
  expect(await status(path.replace("/console/thumbnails/", "/"))).toBe(403);
  expect(await status(path)).toBe(200);
  expect((await browser.ask("/console/tasks/delete", { task: id, sure: "yes" })).status).toBe(303);
  expect(await readFiles(id)).toEqual([]);
  expect(await status(path)).toBe(404);
  expect(await readFiles(id)).toEqual([]);
  vi.setSystemTime(Date.now() + 86_401_000);
  expect(await status(path)).toBe(410);
});

test("the thumbnail of a video is the first one that its owner's browser draws", async () => {
  const { browser, account } = await person();
  const id = await video(account);
  const path = `/console/tasks/${id}/thumbnail`;
  expect(await browser.read("/console/tasks")).toContain(`data-capture="${path}"`);
  const post = (who: Browser, body: BodyInit) => who.ask(path, new Response(body).body!);
  expect((await post(browser, "<svg/>")).status).toBe(400);
  expect((await post(browser, new Uint8Array([...png, ...new Uint8Array(maxBytes)]))).status).toBe(400);
  expect((await post((await person()).browser, png)).status).toBe(404);
  expect(await readFiles(id)).toHaveLength(1);
  const kept = await post(browser, png);
  expect(kept.status).toBe(200);
  const text = await browser.read("/console/tasks");
  expect(findThumbnail(text, id)).toBe(await kept.text());
  expect(text).not.toContain("data-capture");
  await post(browser, new Uint8Array([...png, 0]));
  const answer = await browser.ask(findThumbnail(text, id));
  expect(new Uint8Array(await answer.arrayBuffer())).toEqual(new Uint8Array(png));
});

test("a search finds prompts and references, whatever their case, with the filters", async () => {
  const { browser, account } = await person();
  const word = unique();
  const first = await image(account, { prompt: `A Teapot ${word}` });
  vi.setSystemTime(Date.now() + 1_000);
  const second = await video(account, { prompt: unique(), reference: `order teapot ${word}` });
  await image(account);
  const find = async (query: string) => shown(await browser.read(`/console/tasks?${query}`));
  expect(await find(`q=TEAPOT`)).toEqual([second, first]);
  expect(await find(`q=teapot&kind=image`)).toEqual([first]);
  const nothing = await browser.read(`/console/tasks?q=%22%3E%3Cscript%3E`);
  expect(nothing).toContain("There are no matching tasks.");
  expect(nothing).toContain('value="&quot;&gt;&lt;script&gt;"');
});

test("the lightbox has the originals and the price of another run, for the task's account only", async () => {
  const { browser, account } = await person();
  const id = await image(account, { n: 2 });
  const path = `/console/tasks/${id}/view`;
  const text = await browser.read(path);
  expect(text).not.toContain("<html");
  expect(text.match(/<img src="https:\/\/gateway\.example\/assets\//g)).toHaveLength(2);
  expect(text).toContain("Run again · $0.06");
  expect((await (await person()).browser.ask(path)).status).toBe(404);
  const opened = await browser.ask(path, undefined, null, { "sec-fetch-dest": "document" });
  expect(opened.headers.get("location")).toBe(`/console/tasks/${id}`);
  // The gallery itself loads no original file.
  expect(await browser.read("/console/tasks")).not.toContain(`src="https://gateway.example/assets/`);
});

test("a single file is downloaded unchanged, several as an archive, only of the user's account", async () => {
  const { browser, account } = await person();
  const single = await image(account);
  const one = await browser.ask(`/console/tasks/${single}/download`);
  expect([one.headers.get("content-type"), one.headers.get("content-disposition")]).toEqual([
    "image/png",
    `attachment; filename="${single}.png"`,
  ]);
  const [key = ""] = await readFiles(single);
  expect(new Uint8Array(await one.arrayBuffer())).toEqual(await toBytes(key));
  const pair = await image(account, { n: 2 });
  const chosen = new FormData();
  for (const id of [single, pair, single, "task_x"]) chosen.append("task", id);
  const archive = await browser.ask("/console/tasks/download", chosen);
  expect(archive.headers.get("content-type")).toBe("application/zip");
  const files = unzipSync(new Uint8Array(await archive.arrayBuffer()));
  expect(Object.keys(files).toSorted()).toEqual([`${single}.png`, `${pair}-1.png`, `${pair}-2.png`].toSorted());
  expect(files[`${single}.png`]).toEqual(await toBytes(key));
  const { browser: stranger } = await person();
  expect((await stranger.ask(`/console/tasks/${single}/download`)).status).toBe(404);
  expect((await stranger.ask("/console/tasks/download", { task: single })).status).toBe(404);
  expect((await browser.ask("/console/tasks/download", {})).headers.get("location")).toBe("/console/tasks");
});

test("tasks are deleted after a confirmation; running ones and other accounts' are skipped", async () => {
  const { browser, account } = await person();
  const [gone, kept] = [await image(account), await image(account)];
  const running = await submit(account, images, { model: "imgA-4", prompt: unique() });
  const { browser: stranger } = await person();
  const chosen = (sure: boolean) => {
    const form = new FormData();
    for (const id of [gone, running]) form.append("task", id);
    if (sure) form.append("sure", "yes");
    return form;
  };
  const question = await (await browser.ask("/console/tasks/delete", chosen(false))).text();
  expect(question).toContain("Delete 2 tasks?");
  expect(shown(await browser.read("/console/tasks"))).toHaveLength(3);
  expect((await stranger.ask("/console/tasks/delete", chosen(true))).headers.get("location")).toContain("deleted=0&kept=2");
  expect(shown(await browser.read("/console/tasks"))).toHaveLength(3);
  const answer = await browser.ask("/console/tasks/delete", chosen(true));
  const after = await browser.read(answer.headers.get("location")!);
  expect(shown(after).toSorted()).toEqual([kept, running].toSorted());
  for (const words of ["Deleted: 1", "Not deleted: 1."]) expect(after).toContain(words);
  expect((await call(`/v1/tasks/${gone}`, { key: account.key })).status).toBe(404);
  expect((await call(`/v1/tasks/${running}`, { key: account.key })).status).toBe(200);
  // Deletes a task from its own page.
  const one = await (await browser.ask("/console/tasks/delete", { task: kept })).text();
  expect(one).toContain("Delete this task?");
});

test("expired files are not in tiles, lightbox and downloads", async () => {
  const { browser, account } = await person();
  const id = await image(account);
  vi.setSystemTime(Date.now() + 86_401_000);
  await pass(id, 0);
  expect(await browser.read("/console/tasks")).toContain("Files expired");
  for (const path of ["view", "download"]) expect((await browser.ask(`/console/tasks/${id}/${path}`)).status).toBe(404);
});
