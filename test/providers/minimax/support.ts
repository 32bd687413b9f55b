/** Shared by the tests of MiniMax: routes, submissions, and the emulator's video. */

import { expect } from "vitest";
import { call, unique } from "../../support/gateway.ts";
import { generate, type Routes, sent } from "../support.ts";

export const videos = "/v1/videos/generations";
export const firstFrame = "https://images.example/first.png";
export const lastFrame = "https://images.example/last.png";

/** Routes of every video model through this upstream model. */
export const through = (...models: string[]): Routes =>
  Object.fromEntries(
    ["vidD-02", "vidA-2", "vidA-2-pro", "vidB-3.1-fast", "vidB-3.1-quality", "vidC-1-0-pro-fast", "vidC-1-0-pro-quality"].map((id) => [
      id,
      models.map((model) => ({ provider: "minimax", model })),
    ]),
  );

export const v1 = through("MiniMax-Hailuo-02");
export const v2 = through("MiniMax-H3");

/** A request that both of its APIs support. */
export const plain = (prompt: string) => ({ model: "vidD-02", prompt, duration: 10 });

/** Generates a video with these routes, of a prompt that begins with a `unique` word: the final answer, and the body that the upstream received. */
export async function video(routes: Routes, body: { prompt: string; [field: string]: unknown }) {
  const done = await generate(routes, videos, body);
  expect(done.data.status, JSON.stringify(done.data)).toBe("completed");
  const starts = await sent(body.prompt.slice(0, unique().length));
  expect(starts).toHaveLength(1);
  return { ...done, sent: starts[0] as Record<string, unknown> };
}

/** The video that the emulator always makes, requested from it. */
async function emulatedVideo(): Promise<string> {
  const headers = { authorization: "Bearer test-minimax-key" };
  const body = { model: "MiniMax-H3", content: [{ type: "text", text: "any" }], resolution: "768P", duration: 5, ratio: "16:9" };
  const base = "https://api.minimax.io/v2";
  const made = await fetch(`${base}/video_generation`, { method: "POST", headers, body: JSON.stringify(body) });
  const { task_id: id } = await made.json<{ task_id: string }>();
  const { task } = await (await fetch(`${base}/query/video_generation/${id}`, { headers })).json<{ task: { content: { url: string } } }>();
  return computeDigest(await (await fetch(task.content.url)).arrayBuffer());
}

const computeDigest = async (bytes: ArrayBuffer) =>
  `${bytes.byteLength} ${new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex()}`;

/** Downloads the caller's URL and compares it with the emulator's video. */
export async function expectVideo(data: { result: { videos: { url: string[]; size: string }[] } }): Promise<void> {
  const [video] = data.result.videos;
  expect(video!.size).toBe("854x480");
  const asset = await call(video!.url[0]!);
  expect(asset.status).toBe(200);
  expect(asset.headers.get("content-type")).toBe("video/mp4");
  expect(await computeDigest(asset.body as ArrayBuffer)).toBe(await emulatedVideo());
}
