/** Keys are sent to their own makers only: no request with a key follows a redirect automatically. */

import { expect, test, vi } from "vitest";
import { google } from "../../src/providers/google/index.ts";
import { openai } from "../../src/providers/openai/index.ts";
import type { Job, Provider } from "../../src/providers/provider.ts";
import { replicate } from "../../src/providers/replicate/index.ts";
import { keep } from "./support.ts";

const secret = "the-key";
const video: Job = {
  kind: "video",
  model: "gemini-omni-1.2-flash",
  prompt: "a pier",
  n: 1,
  size: "16:9",
  duration: 8,
  key: "task_1",
  images: [],
  characters: [],
  keep,
};
const image: Job = { ...video, kind: "image", model: "gemini-3-pro-image", size: "1:1" };
const gemini = google({ gemini: { key: secret, baseUrl: "https://generativelanguage.googleapis.com" } });
const chat = { body: { model: "gpt-5.5", messages: [] }, stream: false, signal: AbortSignal.timeout(60_000) };
const interaction = JSON.stringify({ part: "omni", name: "interactions-1" });

const cases: [string, (provider: Provider) => Promise<unknown> | undefined, Provider][] = [
  ["openai: an image", (one) => one.start({ ...image, model: "gpt-image-2" }, chat.signal), openai({ key: secret })],
  ["openai: a video", (one) => one.start({ ...video, model: "sora-2" }, chat.signal), openai({ key: secret })],
  ["openai: a poll", (one) => one.poll(JSON.stringify({ id: "video_1" })), openai({ key: secret })],
  ["openai: a chat", (one) => one.chat?.(chat), openai({ key: secret })],
  ["google: an image", (one) => one.start(image, chat.signal), gemini],
  ["google: a video", (one) => one.start(video, chat.signal), gemini],
  ["google: a poll", (one) => one.poll(interaction), gemini],
  ["google: a cancellation", (one) => one.cancel?.(interaction), gemini],
  ["replicate: a video", (one) => one.start({ ...video, model: "google/veo-3.1" }, chat.signal), replicate({ token: secret })],
  ["replicate: a poll", (one) => one.poll('["prediction-1"]'), replicate({ token: secret })],
];

test.each(cases)("%s", async (_, ask, provider) => {
  const elsewhere = () => Promise.resolve(new Response(null, { status: 307, headers: { location: "https://elsewhere.example/" } }));
  const asked = vi.spyOn(globalThis, "fetch").mockImplementation(elsewhere);
  await expect(ask(provider)).rejects.toMatchObject({ name: "ProviderError", nothingAccepted: false });
  expect(asked).toHaveBeenCalled();
  for (const [url, init] of asked.mock.calls) {
    expect([...new Headers(init?.headers).values()].join(" ")).toContain(secret);
    expect(init?.redirect, url as string).toBe("manual");
  }
});
