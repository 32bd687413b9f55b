/** Videos through Cloudflare, one long call each: each family's request and its result, through the binding and through REST. */

import { expect, test, vi } from "vitest";
import { readBalance, call, finish, holdTime, unique } from "../../support/gateway.ts";
import { generate } from "../support.ts";
import { doors, generateBy, readHeads, inline, publicImage, readStarts, videos } from "./support.ts";

holdTime();

const bare = inline.slice(inline.indexOf(",") + 1);
const veo = { duration: "8s", resolution: "720p", generate_audio: true };
const seedance = { fps: 24, camera_fixed: false, watermark: false };

const asked: [string, { model: string; [field: string]: unknown }, Record<string, unknown>][] = [
  ["google/veo-3.1-fast", { model: "vidB-3.1-fast" }, { ...veo, aspect_ratio: "16:9" }],
  ["google/veo-3.1", { model: "vidB-3.1-quality", size: "9:16", images: [inline] }, { ...veo, aspect_ratio: "9:16", image_input: bare }],
  ["bytedance/seedance-2.0-fast", { model: "vidC-1-0-pro-fast" }, { ...seedance, duration: 5, resolution: "720p", aspect_ratio: "16:9" }],
  [
    "bytedance/seedance-2.0",
    { model: "vidC-1-0-pro-quality", duration: 12, size: "21:9", metadata: { resolution: "1080p" } },
    { ...seedance, duration: 12, resolution: "1080p", aspect_ratio: "21:9" },
  ],
  [
    "bytedance/seedance-2.0",
    {
      model: "vidC-1-0-pro-quality",
      image_with_roles: [
        { url: inline, role: "last_frame" },
        { url: inline, role: "first_frame" },
      ],
    },
    { ...seedance, duration: 5, resolution: "720p", aspect_ratio: "16:9", image: inline, last_frame_image: inline },
  ],
  [
    "bytedance/seedance-2.0-fast",
    { model: "vidC-1-0-pro-fast", size: "9:16", metadata: { resolution: "480p" }, images: [inline, inline] },
    { ...seedance, duration: 5, resolution: "480p", aspect_ratio: "9:16", reference_images: [inline, inline] },
  ],
  [
    "bytedance/seedance-2.0",
    { model: "vidA-2", metadata: { watermark: true, thumbnail: true } },
    { ...seedance, watermark: true, duration: 10, resolution: "720p", aspect_ratio: "16:9" },
  ],
  ["klingai/kling-v3", { model: "vidA-2", size: "1:1" }, { duration: 10, aspect_ratio: "1:1", sound: "on" }],
  ["klingai/kling-v3-omni", { model: "vidA-2", images: [inline] }, { duration: 10, aspect_ratio: "16:9", sound: "on", image_input: bare }],
  ["alibaba/wan-3.0", { model: "vidA-2-pro", duration: 15 }, { duration: 15, resolution: "720P", ratio: "16:9" }],
  [
    "alibaba/wan-3.0-prime",
    { model: "vidC-1-0-pro-quality", duration: 2, size: "3:4", metadata: { resolution: "1080p" } },
    { duration: 2, resolution: "1080P", ratio: "3:4" },
  ],
  [
    "minimax/hailuo-2.3",
    { model: "vidD-02", duration: 10, metadata: { prompt_optimizer: false } },
    { duration: 10, resolution: "768P", prompt_optimizer: false, fast_pretreatment: false },
  ],
];

for (const door of doors)
  test.each(asked)(`through the ${door} %s makes %o`, async (model, body, input) => {
    const prompt = unique();
    const { account, data } = await generateBy(door, [model], videos, { ...body, prompt } as never);
    expect(data).toMatchObject({ status: "completed" });
    const [video] = data.result.videos;
    expect(video).toMatchObject({ duration: 2 });
    expect(await readHeads(video.url)).toEqual([expect.stringContaining("ftyp")]);
    expect(await readStarts(prompt)).toEqual([{ door, model, input: { prompt, ...input } }]);
    expect(await readBalance(account)).toMatchObject({ reserved: 0, used: expect.any(Number) });
  });

test.each(doors)("through the %s h3 takes prompt and frames as content, and makes five seconds", async (door) => {
  const prompt = unique();
  const url = await publicImage();
  const body = { model: "vidD-02", prompt, size: "9:16", metadata: { first_frame_image: url, last_frame_image: url } };
  const { data } = await generateBy(door, ["minimax/h3"], videos, body);
  expect(data.status).toBe("completed");
  const frame = (role: string) => ({ type: "image_url", image_url: { url }, role });
  const content = [{ type: "text", text: prompt }, frame("first_frame"), frame("last_frame")];
  expect((await readStarts(prompt))[0]!.input).toEqual({ content, duration: 5, resolution: "768P", ratio: "9:16" });
});

test("a style is appended to the prompt", async () => {
  const prompt = unique();
  await generateBy("binding", ["bytedance/seedance-2.0"], videos, { model: "vidA-2", prompt, metadata: { style: "anime" } } as never);
  expect((await readStarts(prompt))[0]!.input["prompt"]).toBe(`${prompt}\n\nStyle: anime.`);
});

test("a character is sent as a reference image, with its name in the prompt", async () => {
  vi.spyOn(globalThis, "fetch").mockImplementationOnce(
    async () => new Response("....ftypisom", { headers: { "content-type": "video/mp4" } }),
  );
  vi.spyOn(globalThis, "fetch").mockImplementationOnce(
    async () => new Response("....ftypisom", { headers: { "content-type": "video/mp4" } }),
  );
  const routes = { "vidA-2": ["media:character", "cloudflare:bytedance/seedance-2.0"].map(readRoute) };
  const made = await generate(routes, videos, { model: "vidA-2", url: "https://videos.example/someone.mp4", timestamps: "0,2" });
  vi.restoreAllMocks();
  const [{ username, display_name: name }] = made.data.result.data.characters;
  const word = unique();
  const body = { model: "vidA-2", prompt: `@${username} waves ${word}` };
  const { body: submitted } = await call(videos, { key: made.account.key, body, vars: { ROUTES: routes } });
  expect((await finish(made.account, submitted.id as string)).body.data.status).toBe("completed");
  expect((await readStarts(word))[0]!.input).toMatchObject({
    prompt: `${name} waves ${word}`,
    reference_images: [expect.stringMatching(/^data:image\/png;base64,/)],
  });
});

const readRoute = (text: string) => {
  const [provider = "", model = ""] = text.split(/:(.*)/);
  return { provider, model };
};
