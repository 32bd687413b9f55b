/** The gallery in a browser: the lightbox by keys, select and download, delete, thumbnails of videos, and its weight. */

import { buffer } from "node:stream/consumers";
import { unzipSync } from "fflate";
import { expect, test } from "./support/test.ts";
import { makeTasks } from "./support/own-tasks.ts";
import { measureWidth } from "./support/images.ts";

const image = (prompt: string, more: object = {}) => ({ model: "imgA-4", prompt, ...more });

test("the lightbox moves from image to image by keys, and returns the focus", async ({ signedIn, gateway, watch }) => {
  const page = await signedIn();
  await makeTasks(gateway, page, [image("The first"), image("A pair", { n: 2 }), image("Refused sandbox:flag"), image("The last")]);
  await page.goto("/console/tasks");
  const dialog = page.locator("#light");
  const title = dialog.locator("#light-title");
  const shot = dialog.locator("img:not([hidden])");
  await page.locator("a[data-open]", { hasText: "The last" }).press("Enter");
  await expect.poll(() => title.innerText()).toBe("The last");
  expect(await dialog.evaluate((element: HTMLDialogElement) => element.open)).toBe(true);
  await expect.poll(() => measureWidth(shot)).toBe(1024);
  await watch.look(page);
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => shot.getAttribute("alt")).toBe("A pair, 1 / 2");
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => shot.getAttribute("alt")).toBe("A pair, 2 / 2");
  expect(await dialog.locator("[data-place]").innerText()).toBe("2");
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => title.innerText()).toBe("The first");
  // There is no next image, and a refused task has no output.
  expect(await dialog.locator(".next").isVisible()).toBe(false);
  await page.keyboard.press("ArrowLeft");
  await expect.poll(() => shot.getAttribute("alt")).toBe("A pair, 2 / 2");
  await page.keyboard.press("Escape");
  expect(await dialog.isVisible()).toBe(false);
  // The event of the closed dialog comes later.
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute("data-title"))).toBe("A pair");
  await page.keyboard.press("/");
  await page.keyboard.type("first");
  await Promise.all([page.waitForURL("**/console/tasks?q=first"), page.keyboard.press("Enter")]);
  expect(await page.locator(".tiles > li").count()).toBe(1);
});

test("selected tasks are downloaded as one archive, and deleted after a confirmation", async ({ signedIn, gateway, watch }) => {
  const page = await signedIn();
  const [first = "", second = "", third = ""] = await makeTasks(gateway, page, [image("One"), image("Two", { n: 2 }), image("Three")]);
  await page.goto("/console/tasks");
  const bar = page.locator(".bar");
  expect(await bar.isVisible()).toBe(false);
  await page.getByRole("checkbox", { name: "Select One" }).focus();
  await page.keyboard.press(" ");
  await page.getByRole("checkbox", { name: "Select Two" }).check({ force: true });
  await bar.getByText("2 selected").waitFor();
  await watch.look(page);
  const [download] = await Promise.all([page.waitForEvent("download"), bar.getByRole("button", { name: "Download" }).click()]);
  const files = unzipSync(await buffer(await download.createReadStream()));
  expect(Object.keys(files).toSorted()).toEqual([`${first}.png`, `${second}-1.png`, `${second}-2.png`].toSorted());
  for (const bytes of Object.values(files)) expect(Buffer.from(bytes.slice(1, 4)).toString()).toBe("PNG");
  // The download did not change the selection.
  await bar.getByText("2 selected").waitFor();
  await bar.getByRole("link", { name: "Select all" }).click();
  await bar.getByText("3 selected").waitFor();
  await page.getByRole("checkbox", { name: "Select Three" }).uncheck({ force: true });
  await bar.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "Delete 2 tasks?" }).waitFor();
  await page.getByRole("button", { name: "Delete 2 tasks" }).click();
  await page.getByText("Deleted: 2").waitFor();
  expect(await page.locator(".tiles > li").evaluateAll((tiles) => tiles.map(({ id }) => id))).toEqual([third]);
});

test("a video without a thumbnail gets one when it is first shown", async ({ signedIn, gateway }) => {
  const page = await signedIn();
  const [id = ""] = await makeTasks(gateway, page, [{ model: "vidB-3.1-fast", prompt: "Waves" }]);
  await page.goto("/console/tasks");
  const thumbnail = page.locator(`#${id} img`);
  await thumbnail.waitFor();
  expect(await measureWidth(thumbnail)).toBe(480);
  await page.reload();
  expect(await page.locator("[data-capture]").count()).toBe(0);
  // It plays without sound while the pointer is over it; not for users who prefer reduced motion, as these pages do by default.
  await page.emulateMedia({ reducedMotion: "no-preference" });
  await thumbnail.hover();
  const video = page.locator(`#${id} video`);
  await expect.poll(() => video.evaluate((one: HTMLVideoElement) => one.muted && !one.paused && one.currentTime > 0)).toBe(true);
  await page.mouse.move(0, 0);
  await video.waitFor({ state: "detached" });
  await expect.poll(() => measureWidth(thumbnail)).toBe(480);
});

test("a page of 24 tasks is smaller than 1 MB, and no thumbnail larger than 40 KB", async ({ signedIn, gateway }) => {
  const page = await signedIn();
  const sizes = ["1:1", "16:9", "9:16", "4:3"];
  await makeTasks(
    gateway,
    page,
    Array.from({ length: 24 }, (_, at) => image(`Picture ${at}`, { size: sizes[at % 4] })),
  );
  const bodies: Promise<{ type: string; bytes: number }>[] = [];
  page.on("response", (response) => {
    bodies.push(response.body().then((body) => ({ type: response.headers()["content-type"] ?? "", bytes: body.length })));
  });
  await page.goto("/console/tasks");
  await page.locator(".pager").scrollIntoViewIfNeeded();
  const images = page.locator(".tiles img");
  expect(await images.count()).toBe(24);
  await expect
    .poll(async () => Math.min(...(await images.evaluateAll((all: HTMLImageElement[]) => all.map((one) => one.naturalWidth)))))
    .toBeGreaterThan(0);
  const loaded = await Promise.all(bodies);
  expect(loaded.filter(({ type }) => type === "image/webp")).toHaveLength(24);
  for (const { type, bytes } of loaded) if (type === "image/webp") expect(bytes).toBeLessThanOrEqual(40_000);
  expect(loaded.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(1_000_000);
});

test("on a phone, the words of a tile without an image are inside it, however long its prompt is", async ({ signedIn, gateway }) => {
  const page = await signedIn({ viewport: { width: 390, height: 844 } });
  await makeTasks(gateway, page, [image(`${"A coastal city at the blue hour, ".repeat(20)}sandbox:flag`)]);
  await page.goto("/console/tasks");
  const outside = await page.locator(".tiles .void > *").evaluateAll((parts) =>
    parts
      .filter((part) => part.checkVisibility())
      .filter((part) => {
        const [inner, tile] = [part.getBoundingClientRect(), part.closest("li")!.getBoundingClientRect()];
        return inner.top < tile.top || inner.bottom > tile.bottom;
      })
      .map((part) => part.outerHTML),
  );
  expect(outside).toEqual([]);
});
