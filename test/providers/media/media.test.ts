/** Characters and thumbnails by the platform's media binding, for providers without an upstream for them. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { readBalance, call, holdTime, newAccount, unique } from "../../support/gateway.ts";
import { generate, submitTo } from "../support.ts";

holdTime();

const routes = { "vidA-2": [{ provider: "media", model: "character" }] };
const videos = "/v1/videos/generations";
const byUrl = { model: "vidA-2", url: "https://videos.example/someone.mp4", timestamps: "0.5,2" };

/** The answer of the caller's host. */
const host = (body: string) =>
  vi.spyOn(globalThis, "fetch").mockImplementation(() => Promise.resolve(new Response(body, { headers: { "content-type": "video/mp4" } })));

test("a character is a frame of the clip with a generated name, stored permanently", async () => {
  host("....ftypisom");
  const { account, data } = await generate(routes, videos, byUrl);
  expect(data.status, JSON.stringify(data)).toBe("completed");
  const [character] = data.result.data.characters;
  expect(character).toEqual({
    id: expect.stringMatching(/^ch_/),
    display_name: expect.stringMatching(/^Character [0-9A-F]{4}$/),
    username: expect.stringMatching(/^character\.[0-9a-f]{10}$/),
    profile_picture_url: expect.any(String),
  });
  const image = await call(character.profile_picture_url);
  expect([...new Uint8Array(image.body).slice(1, 4)]).toEqual([0x50, 0x4e, 0x47]);
  expect((await env.ASSETS.head(`characters/${character.id}`))?.size).toBe(image.body.byteLength);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.05 });
});

test.each([
  ["without sound", "....ftypisom silent"],
  ["that is no video", "hello"],
])("a clip %s is invalid_input and costs nothing", async (_, body) => {
  host(body);
  const { account, data } = await generate(routes, videos, byUrl);
  expect(data).toMatchObject({ status: "failed", error: { code: "invalid_input" } });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a video without a thumbnail from its upstream gets one of its frames when a thumbnail is requested", async () => {
  const h3 = { "vidA-2": [{ provider: "minimax", model: "MiniMax-H3" }] };
  const body = { model: "vidA-2", prompt: unique(), metadata: { thumbnail: true } };
  const { data } = await generate(h3, videos, body);
  expect(data.status, JSON.stringify(data)).toBe("completed");
  const image = await call(data.result.videos[0].thumbnail);
  expect(image.headers.get("content-type")).toBe("image/png");
  expect([...new Uint8Array(image.body).slice(1, 4)]).toEqual([0x50, 0x4e, 0x47]);
  const without = await generate(h3, videos, { model: "vidA-2", prompt: unique() });
  expect(without.data.result.videos[0].thumbnail).toBeUndefined();
});

test("routes to it are refused for videos", async () => {
  const { status, body, account } = await submitTo(routes, videos, { model: "vidA-2", prompt: unique() });
  expect(status).toBe(400);
  expect(body.error).toMatchObject({ code: "model_not_available", param: "model" });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a route to an unknown provider is ignored", async () => {
  const account = await newAccount();
  const answer = await call(videos, {
    key: account.key,
    body: byUrl,
    vars: { ROUTES: { "vidA-2": [{ provider: "nobody", model: "x" }] } },
  });
  expect(answer.body.error.code).toBe("model_not_available");
});
