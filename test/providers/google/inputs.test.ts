/** Images sent to Google: written into the request while it is sent, with the images of characters. */

import { expect, test, vi } from "vitest";
import { jsonPieces, postPieces } from "../../../src/providers/shared/streamed-body.ts";
import { InputError, type InputImage } from "../../../src/providers/provider.ts";
import { call, finish, holdTime, unique } from "../../support/gateway.ts";
import { pixel as png } from "../../media/images.ts";
import { asked, generate } from "../support.ts";

holdTime();

const videos = "/v1/videos/generations";

/** Bytes that begin with the PNG signature. */
function noise(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  bytes.set(Uint8Array.fromBase64(png).subarray(0, 24));
  return bytes;
}

test("images of several megabytes arrive complete, each after the previous one", async () => {
  const prompt = unique();
  const files = [noise(2_000_000), noise(196_608), noise(196_609)];
  const images = files.map((bytes) => `data:image/png;base64,${bytes.toBase64()}`);
  const model = "imgC-3-pro-image-preview";
  const routes = { [model]: [{ provider: "google", model: "gemini-3-pro-image" }] };
  const { data } = await generate(routes, "/v1/images/generations", { model, prompt, images });
  expect(data.status).toBe("completed");
  const { contents } = (await asked(prompt))[0]!.body as { contents: { parts: { inlineData?: { data: string } }[] }[] };
  expect(contents[0]!.parts.slice(1).map(({ inlineData }) => inlineData!.data === undefined)).toEqual([false, false, false]);
  for (const [at, bytes] of files.entries()) expect(contents[0]!.parts[at + 1]!.inlineData!.data === bytes.toBase64()).toBe(true);
});

const image = (read: InputImage["read"]): InputImage => ({ role: "reference", read });
const post = (...images: InputImage[]) => {
  const pieces = jsonPieces(images, (values) => ({ images: values }), { toJson: (type, data) => ({ type, data }) });
  return postPieces((init) => fetch("https://upstream.example/", init), pieces, { signal: AbortSignal.timeout(10_000) });
};

test("an answer that arrives before the request was read stops the writing", async () => {
  vi.spyOn(globalThis, "fetch").mockImplementation(async (_, init) => {
    const reader = (init!.body as ReadableStream<Uint8Array>).getReader();
    for (let read = 0; read < 4; read++) await reader.read();
    return new Response("no", { status: 401 });
  });
  let isGivenBack = false;
  const large = image(async (use) => {
    try {
      return await use({ bytes: noise(4_000_000), type: "image/png" });
    } finally {
      isGivenBack = true;
    }
  });
  const response = await post(large);
  expect(response.status).toBe(401);
  expect(isGivenBack).toBe(true);
});

test("a broken image stops the request with the image's error", async () => {
  let signal: AbortSignal | null | undefined;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (_, init) => {
    signal = init!.signal;
    const reader = (init!.body as ReadableStream<Uint8Array>).getReader();
    const aborted = new Promise<never>((_resolve, reject) => signal!.addEventListener("abort", () => reject(new Error("aborted"))));
    for (;;) if ((await Promise.race([reader.read(), aborted])).done) return new Response("whole");
  });
  const broken = image(() => Promise.reject(new InputError("gone")));
  const good = image((use) => use({ bytes: Uint8Array.fromBase64(png), type: "image/png" }));
  await expect(post(good, broken)).rejects.toThrow(new InputError("gone"));
  expect(signal?.aborted).toBe(true);
});

test.each([
  ["gemini-omni-1.2-flash", 10],
  ["veo-3.1-generate-001", 8],
])("a character's image is sent as a reference, with its name in the prompt (%s)", async (model, duration) => {
  const real = globalThis.fetch.bind(globalThis);
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) =>
    new Request(input).url.startsWith("https://videos.example/")
      ? new Response("....ftypisom", { headers: { "content-type": "video/mp4" } })
      : real(input, init),
  );
  const name = duration === 8 ? "vidB-3.1-quality" : "vidA-2";
  const clip = { model: "vidA-2", url: "https://videos.example/someone.mp4", timestamps: "0.5,2" };
  const { account, data } = await generate({ "vidA-2": [{ provider: "media", model: "character" }] }, videos, clip);
  const [character] = data.result.data.characters;
  const word = unique();
  const prompt = `@${character.username} dances ${word}`;
  const image_with_roles = [{ url: `data:image/png;base64,${png}`, role: "reference" }];
  const body = { model: name, prompt, image_with_roles };
  const made = await call(videos, { key: account.key, body, vars: { ROUTES: { [name]: [{ provider: "google", model }] } } });
  expect(made.status, JSON.stringify(made.body)).toBe(200);
  expect((await finish(account, made.body.id as string, 40)).body.data.status).toBe("completed");
  const told = `${character.display_name} dances ${word}`;
  const start = (await asked(word))[0]!.body;
  if (model.startsWith("veo"))
    expect(start).toMatchObject({
      instances: [{ prompt: told, referenceImages: [{ referenceType: "asset" }, { referenceType: "asset" }] }],
    });
  else
    expect(start).toMatchObject({
      input: [{ type: "image" }, { type: "image" }, { type: "text", text: told }],
      generation_config: { video_config: { task: "reference_to_video" } },
    });
});
