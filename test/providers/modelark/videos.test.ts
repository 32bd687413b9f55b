/** Seedance videos through the whole gateway. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { insertCharacter } from "../../../src/db/characters.ts";
import { readBalance, call, deliver, holdTime, newAccount, passToPoll, unique } from "../../support/gateway.ts";
import { openStub } from "../../support/faults.ts";
import { inlineImage, imageUrl, routes, routeTo, videos } from "./support.ts";
import { readCalls, generate, sent, submitTo } from "../support.ts";

holdTime();

const text = (prompt: string) => ({ type: "text", text: prompt });
const image = (url: string, role: string) => ({ type: "image_url", image_url: { url }, role });
const readText = (body: { content: { text?: string }[] }) => body.content[0]!.text!;

test("a video is a task, polled while it is queued and runs, then stored and delivered", async () => {
  const prompt = `${unique()} [queued 2] [running 2]`;
  const { account, data } = await generate(routes, videos, {
    model: "vidC-1-0-pro-fast",
    prompt,
    duration: 4,
    size: "9:16",
    metadata: { resolution: "480p" },
  });
  expect(data.status).toBe("completed");
  const video = await call(data.result.videos[0].url[0]);
  expect(new TextDecoder().decode(video.body.slice(4, 8))).toBe("ftyp");
  expect(await sent(prompt)).toEqual([
    {
      model: "dreamina-seedance-2-0-fast-260128",
      content: [text(prompt)],
      ratio: "9:16",
      resolution: "480p",
      duration: 4,
      watermark: false,
    },
  ]);
  // The last poll is the collection's.
  expect(await readCalls(prompt)).toEqual(["start", "poll", "poll", "poll", "poll", "poll", "poll", "file"]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.12 });
});

test.each([
  [
    "vidC-1-0-pro-quality",
    { duration: 12, size: "21:9", metadata: { resolution: "1080p" } },
    { duration: 12, ratio: "21:9", resolution: "1080p" },
  ],
  ["vidC-1-0-pro-fast", {}, { duration: 5, ratio: "16:9", resolution: "720p" }],
  [
    "vidA-2",
    { duration: 15, size: "1:1", metadata: { watermark: true } },
    { duration: 15, ratio: "1:1", resolution: "720p", watermark: true },
  ],
  ["vidA-2-pro", { duration: 25, size: "9:16" }, { model: "dreamina-seedance-2-5-260628", duration: 25, ratio: "9:16" }],
])("%s: duration, ratio, resolution and watermark are sent as requested: %o", async (model, asked, expected) => {
  const prompt = unique();
  const { data } = await generate(routes, videos, { model, prompt, ...asked });
  expect(data.status).toBe("completed");
  expect(await sent(prompt)).toEqual([expect.objectContaining(expected)]);
});

test.each([
  ["seedance-1-0-pro-250528", { duration: 2, metadata: { resolution: "1080p" } }],
  ["seedance-1-0-pro-fast-251015", { duration: 3, metadata: { resolution: "1080p" } }],
])("1.0 makes what 2.x cannot: %s %o", async (model, asked) => {
  const prompt = unique();
  const { data } = await generate(routeTo("vidC-1-0-pro-quality", model), videos, { model: "vidC-1-0-pro-quality", prompt, ...asked });
  expect(data.status).toBe("completed");
  expect(await sent(prompt)).toEqual([expect.objectContaining({ model, duration: asked.duration, resolution: "1080p" })]);
});

test("a request that one version cannot honour goes to the next route", async () => {
  const prompt = unique();
  const table = routeTo("vidC-1-0-pro-fast", "dreamina-seedance-2-0-fast-260128", "dreamina-seedance-2-0-260128");
  await generate(table, videos, { model: "vidC-1-0-pro-fast", prompt, metadata: { resolution: "1080p" } });
  expect((await sent(prompt)).map(({ model }) => model)).toEqual(["dreamina-seedance-2-0-260128"]);
});

test("first and last frame keep their roles and order, references are reference_image", async () => {
  const ask = async (image_with_roles: object[]) => {
    const prompt = unique();
    const { data } = await generate(routes, videos, { model: "vidC-1-0-pro-quality", prompt, image_with_roles });
    expect(data.status).toBe("completed");
    return (await sent(prompt))[0].content.slice(1);
  };
  expect(
    await ask([
      { url: inlineImage, role: "last_frame" },
      { url: imageUrl, role: "first_frame" },
    ]),
  ).toEqual([image(inlineImage, "last_frame"), image(imageUrl, "first_frame")]);
  expect(
    await ask([
      { url: imageUrl, role: "reference" },
      { url: inlineImage, role: "reference" },
    ]),
  ).toEqual([image(imageUrl, "reference_image"), image(inlineImage, "reference_image")]);
});

test("one image without a role is the first frame, several are references", async () => {
  const ask = async (images: string[]) => {
    const prompt = unique();
    const { data } = await generate(routes, videos, { model: "vidA-2", prompt, images });
    expect(data.status).toBe("completed");
    return (await sent(prompt))[0].content.slice(1);
  };
  expect(await ask([imageUrl])).toEqual([image(imageUrl, "first_frame")]);
  expect(await ask([imageUrl, inlineImage])).toEqual([image(imageUrl, "reference_image"), image(inlineImage, "reference_image")]);
});

test("with a first frame 2.5 gets no ratio, because the image decides it; 2.0 gets it", async () => {
  const prompt = unique();
  const body = { prompt, images: [imageUrl] };
  expect((await generate(routes, videos, { model: "vidA-2-pro", ...body })).data.status).toBe("completed");
  expect((await generate(routes, videos, { model: "vidA-2", ...body, size: "9:16" })).data.status).toBe("completed");
  const [second, first] = await sent(prompt);
  expect(second).not.toHaveProperty("ratio");
  expect(first).toMatchObject({ ratio: "9:16" });
});

test("a thumbnail is the video's last frame; a style is added to the prompt", async () => {
  const prompt = unique();
  const metadata = { thumbnail: true, style: "anime", storyboard: true };
  const { data } = await generate(routes, videos, { model: "vidA-2", prompt, metadata });
  expect(data.status).toBe("completed");
  const thumbnail = await call(data.result.thumbnail_url ?? data.result.videos[0].thumbnail_url ?? data.result.videos[0].thumbnail);
  expect(new Uint8Array(thumbnail.body).toHex().startsWith("89504e47")).toBe(true);
  const [body] = await sent(prompt);
  expect(body).toMatchObject({ return_last_frame: true });
  expect(readText(body)).toBe(`${prompt}\n\nStyle: anime.`);
});

test("a character is named by its display name, and its image is a reference of the video", async () => {
  const account = await newAccount();
  const prompt = unique();
  const character = {
    id: `ch_${crypto.randomUUID()}`,
    username: "ann.1",
    displayName: "Ann Lee",
    pictureType: "image/png",
    pictureDigest: "x",
    provider: "sandbox",
    handle: null,
  };
  await env.ASSETS.put(`characters/${character.id}`, Uint8Array.fromBase64(inlineImage.split(",")[1]!));
  await insertCharacter(env.DB, { ...character, accountId: account.id, model: "vidA-2", createdAt: Date.now() });
  const body = { model: "vidA-2", prompt: `${prompt} @Ann.1 sings` };
  const made = await call(videos, { key: account.key, body, vars: { ROUTES: routes } });
  expect(made.status, JSON.stringify(made.body)).toBe(200);
  await deliver(made.body.id);
  const [video] = await sent(prompt);
  expect(readText(video)).toBe(`${prompt} Ann Lee sings`);
  expect((video as { content: unknown[] }).content.slice(1)).toEqual([image(inlineImage, "reference_image")]);
});

test("a queued video is cancelled at the upstream; a running one continues, and the caller pays for neither", async () => {
  for (const state of ["queued", "running"]) {
    const prompt = `${unique()} [${state}]`;
    const { account, body } = await submitTo(routes, videos, { model: "vidA-2", prompt });
    await deliver(body.id);
    await passToPoll(body.id);
    const answer = await call(`/v1/tasks/${body.id}/cancel`, { key: account.key, method: "POST" });
    expect(answer.body).toMatchObject({ data: { status: "failed", error: { code: "cancelled" } } });
    expect((await readCalls(prompt)).at(-1)).toBe("cancel");
    expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
    const task = await runInDurableObject(openStub(body.id), (_, ctx) => ctx.storage.kv.get<{ operation: string }>("task"));
    const { task: id } = JSON.parse(task!.operation) as { task: string };
    const upstream = await fetch(`https://ark.ap-southeast.bytepluses.com/api/v3/contents/generations/tasks?filter.task_ids=${id}`, {
      headers: { authorization: "Bearer test-ark-key" },
    });
    expect(await upstream.json()).toMatchObject({ total: 1, items: [{ status: state === "queued" ? "cancelled" : "running" }] });
  }
});
