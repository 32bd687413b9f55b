/** xAI's refusals, and failures of its videos and images: each to its end, with the money returned. */

import { beforeEach, expect, test, vi } from "vitest";
import { isUnhealthy } from "../../../src/providers/index.ts";
import { holdTime, readBalance, unique } from "../../support/gateway.ts";
import { countAll, generate, readCalls, sent, submitReferenceAt1080p, submitTo } from "../support.ts";
import { imageUrl, images, routeTo, videos } from "./support.ts";

holdTime();
// Providers that were marked unhealthy are healthy again.
beforeEach(() => void vi.setSystemTime(Date.now() + 120_000));

const route = { provider: "xai", model: "" };
const table = { ...routeTo("imgB-4o-image", "grok-imagine-image-2.0"), ...routeTo("vidC-1-0-pro-fast", "grok-imagine-video-1.5") };
/** With a second route each. */
const wide = {
  ...routeTo("imgB-4o-image", "grok-imagine-image-2.0", "grok-imagine-image-quality"),
  ...routeTo("vidC-1-0-pro-fast", "grok-imagine-video-1.5", "grok-imagine-video"),
};
const kinds: [string, object][] = [
  [images, { model: "imgB-4o-image" }],
  [videos, { model: "vidC-1-0-pro-fast" }],
];

/** Videos and images both fail with this code after this number of starts, although there is a second route. */
async function bothEnd(orders: string, code: string, starts: number): Promise<void> {
  for (const [path, body] of kinds) {
    const prompt = `${unique()} ${orders}`;
    const { account, data } = await generate(wide, path, { ...body, prompt });
    expect(data, path).toMatchObject({ status: "failed", error: { code } });
    expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
    expect(await countAll(prompt, "start"), path).toBe(starts);
  }
}

test.each(["moderated", "forbidden", "moderated-later", "marked"])(
  "[%s]: refused content is billed by the maker and its verdict: no other route is asked, and our account is not in question",
  async (order) => {
    await bothEnd(`[${order}]`, "content_policy_violation", 1);
    expect(isUnhealthy(route)).toBe(false);
  },
);

test.each(["failed-check", "failed-policy"])("a video that failed while it was made, by %s, is refused content", async (order) => {
  const prompt = `${unique()} [${order}]`;
  const { data } = await generate(wide, videos, { model: "vidC-1-0-pro-fast", prompt });
  expect(data).toMatchObject({ status: "failed", error: { code: "content_policy_violation" } });
  expect(await countAll(prompt, "start")).toBe(1);
});

test.each(["fails", "lapsed", "empty", "forgotten"])("a video that %s falls back to the next route", async (order) => {
  const prompt = `${unique()} [${order}]`;
  const { account, data } = await generate(wide, videos, { model: "vidC-1-0-pro-fast", prompt });
  expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(await countAll(prompt, "start")).toBe(2);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test.each(["limit 2", "unavailable 1"])("[%s] is retried", async (order) => {
  for (const [path, body] of kinds) {
    const prompt = `${unique()} [${order}]`;
    expect((await generate(table, path, { ...body, prompt })).data.status).toBe("completed");
    expect(await countAll(prompt, "start")).toBe(Number(order.split(" ")[1]) + 1);
  }
});

test.each(["retired", "misfit", "wallet", "spent"])("[%s]: the next route is asked, because nothing was accepted", async (order) => {
  for (const [path, body] of kinds) {
    const prompt = `${unique()} [${order} 1]`;
    expect((await generate(wide, path, { ...body, prompt })).data.status).toBe("completed");
    expect(new Set((await sent(prompt)).map(({ model }) => model)).size).toBe(2);
    vi.setSystemTime(Date.now() + 120_000);
  }
});

test.each(["wallet", "spent"])("[%s]: funds that are used up put the account aside", async (order) => {
  await generate(table, videos, { model: "vidC-1-0-pro-fast", prompt: `${unique()} [${order}]` });
  expect(isUnhealthy(route)).toBe(true);
});

test("no second generation when the outcome of a start is unknown", async () => {
  await bothEnd("[drop]", "provider_error", 1);
  await bothEnd("[garbled]", "provider_error", 1);
  await bothEnd("[broken]", "provider_error", 1);
});

test.each(["locked 2", "limit-poll 2"])("polls that are refused by [%s] are repeated, and nothing is made twice", async (order) => {
  const prompt = `${unique()} [${order}]`;
  expect((await generate(table, videos, { model: "vidC-1-0-pro-fast", prompt })).data.status).toBe("completed");
  expect(await countAll(prompt, "start")).toBe(1);
});

const frame = (role: string) => ({ url: imageUrl, role });
const newest = "grok-imagine-video-1.5";

test.each([
  ["no video over 15 seconds", "vidA-2-pro", newest, { duration: 25 }, "duration"],
  ["references end at 10 seconds", "vidA-2", newest, { duration: 15, images: [imageUrl, imageUrl] }, "duration"],
  ["no 21:9", "vidC-1-0-pro-fast", newest, { size: "21:9" }, "size"],
  ["a ratio would stretch the first frame", "vidC-1-0-pro-fast", newest, { size: "9:16", images: [imageUrl] }, "size"],
  ["1.0 ends at 720p", "vidC-1-0-pro-fast", "grok-imagine-video", { metadata: { resolution: "1080p" } }, "metadata.resolution"],
  ["no watermark", "vidA-2", newest, { metadata: { watermark: true } }, "metadata.watermark"],
  [
    "1.0 has no last frame",
    "vidC-1-0-pro-fast",
    "grok-imagine-video",
    { image_with_roles: [frame("first_frame"), frame("last_frame")] },
    "image_with_roles",
  ],
  ["lite has no references", "vidC-1-0-pro-fast", "grok-imagine-video-1.5-lite", { images: [imageUrl, imageUrl] }, "images"],
  ["the first image model has no 2K", "imgB-4o-image", "grok-imagine-image", { quality: "hd" }, "quality"],
  ["it takes three images", "imgB-4o-image", "grok-imagine-image", { images: Array.from({ length: 4 }, () => imageUrl) }, "images"],
])("refused by field: %s", async (_, model, id, body, param) => {
  const prompt = unique();
  const path = model.startsWith("img") ? images : videos;
  const answer = await submitTo(routeTo(model, id), path, { model, prompt, ...body });
  expect([answer.status, answer.body.error]).toMatchObject([400, { code: "unsupported_parameter", param }]);
  expect(await readCalls(prompt)).toEqual([]);
});

test("a character's image is a reference, which does not go with 1080p", async () => {
  const [model, prompt] = ["vidC-1-0-pro-quality", unique()];
  const { status, body } = await submitReferenceAt1080p(routeTo(model, newest), videos, model, prompt);
  expect([status, body.error]).toMatchObject([400, { code: "unsupported_parameter", param: "metadata.resolution" }]);
  expect(await readCalls(prompt)).toEqual([]);
});
