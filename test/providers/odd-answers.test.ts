/** Answers to tasks that no maker documents and servers with its format, proxies and new versions give: how the task ends, and how soon. */

import { beforeEach, expect, test, vi } from "vitest";
import { finish, holdTime, readBalance, unique } from "../support/gateway.ts";
import { submitTo } from "./support.ts";

holdTime();
beforeEach(() => void vi.setSystemTime(Date.now() + 120_000));

const image =
  "iVBORw0KGgoAAAANSUhEUgAAAAYAAAAKCAAAAACyZXDvAAAACXBIWXMAAAABAAAAAQBPJcTWAAAADklEQVR4nGMIBAMGyigAmNgS/QjLSi4AAAAASUVORK5CYII=";
const images = "/v1/images/generations";
const videos = "/v1/videos/generations";

/** Makes something by these routes of a provider, whose answers come from this list, the last one again and again; everything else is emulated. Returns the final task and the URLs that were asked. */
async function make(provider: string, model: string, ids: string[], ...answers: unknown[]) {
  const asked: string[] = [];
  const others = globalThis.fetch;
  const path = model.startsWith("vid") ? videos : images;
  const { account, status, body } = await submitTo({ [model]: ids.map((id) => ({ provider, model: id })) }, path, {
    model,
    prompt: unique(),
  });
  expect(status).toBe(200);
  vi.spyOn(globalThis, "fetch").mockImplementation((input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (!/^https:\/\/(?:api\.|ark\.|generativelanguage\.)/.test(url)) return others(input, init);
    asked.push(url);
    return Promise.resolve(Response.json(answers[Math.min(asked.length, answers.length) - 1]));
  });
  const began = Date.now();
  const { data } = (await finish(account, body.id, 60)).body;
  vi.restoreAllMocks();
  if (data.status === "failed") expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  return { data, asked, seconds: (Date.now() - began) / 1000 };
}

const failed = (code: string) => ({ status: "failed", error: { code } });

test.each([
  ["xai", "vidA-2", "grok-imagine-video", { request_id: "a" }, { status: "done", video: { url: "/a.mp4" } }],
  ["modelark", "vidC-1-0-pro-fast", "dreamina-seedance-2-0-fast-260128", { id: "a" }, { status: "succeeded", content: { video_url: 5 } }],
  ["openai", "imgB-4o-image", "gpt-image-2", { data: [{ url: "/a.png" }] }],
  ["replicate", "imgA-4", "bytedance/seedream-4.5", { id: "a" }, { id: "a", status: "succeeded", output: "data:image/png;base64,%%%" }],
])("%s: a file that can never be read ends the task, which does not wait for its deadline", async (provider, model, id, ...answers) => {
  const { data, seconds } = await make(provider, model, [id], ...answers);
  expect(data).toMatchObject(failed("provider_error"));
  expect(seconds).toBeLessThan(110);
});

test.each([
  [
    "openai, an error with 200",
    "openai",
    "imgB-4o-image",
    ["gpt-image-2", "gpt-image-1.5"],
    { error: { message: "no channel", code: "x" } },
  ],
  ["openai, an error as text", "openai", "imgB-4o-image", ["gpt-image-2", "gpt-image-1.5"], { error: "no channel" }],
  [
    "google, parts that are no list",
    "google",
    "imgC-3-pro-image-preview",
    ["gemini-3-pro-image", "gemini-3.1-flash-image"],
    { candidates: [{ content: { parts: {} } }] },
  ],
])("%s: nothing was made, so the next route makes the image", async (_, provider, model, ids, answer) => {
  const made =
    provider === "openai" ? { data: [{ b64_json: image }] } : { candidates: [{ content: { parts: [{ inlineData: { data: image } }] } }] };
  const { data, asked } = await make(provider, model, ids, answer, made);
  expect([data.status, asked.length]).toEqual(["completed", 2]);
});

test("a video that was cancelled or expired at its upstream is made by the next route", async () => {
  for (const status of ["cancelled", "expired"]) {
    const { data, asked } = await make(
      "openai",
      "vidA-2",
      ["video-1", "video-2"],
      { id: "a" },
      { id: "a", status },
      { error: { code: "x" } },
    );
    expect(data).toMatchObject(failed("provider_error"));
    expect(asked.map((url) => new URL(url).pathname)).toEqual(["/v1/videos", "/v1/videos/a", "/v1/videos"]);
  }
});

test.each([
  ["imgB-4o-image", "gpt-image-2"],
  ["vidA-2", "video-1"],
])("openai, %s: a refusal of the content with 200 is one", async (model, id) => {
  const { data, asked } = await make("openai", model, [id, `${id}.5`], { error: { code: "moderation_blocked" } });
  expect(data).toMatchObject(failed("content_policy_violation"));
  expect(asked).toHaveLength(1);
});

test("an id with a slash or letters beyond ASCII is one segment of the path that is polled", async () => {
  const id = "cgt/../1é";
  const { asked } = await make("modelark", "vidC-1-0-pro-fast", ["dreamina-seedance-2-0-fast-260128"], { id }, { id, status: "failed" });
  expect(asked[1]).toMatch(/\/contents\/generations\/tasks\/cgt%2F..%2F1%C3%A9$/);
});

test("modelark: images that are no list may have been made: no other route makes them again", async () => {
  const { data, asked } = await make("modelark", "imgA-4", ["seedream-4-5-251128", "seedream-5-0-260128"], { data: { url: "x" } });
  expect(data).toMatchObject(failed("provider_error"));
  expect(asked).toHaveLength(1);
});
