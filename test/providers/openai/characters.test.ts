/** Characters by the `/v1/videos` format: created from a clip, stored with the upstream's handle, referred to in videos by that handle or, on other routes, by their image. */

import { env } from "cloudflare:workers";
import { beforeEach, expect, test, vi } from "vitest";
import { isUnhealthy } from "../../../src/providers/index.ts";
import { openai } from "../../../src/providers/openai/index.ts";
import type { Job } from "../../../src/providers/provider.ts";
import { type Account, readBalance, call, deliver, finish, holdTime, newAccount, unique } from "../../support/gateway.ts";
import { asked, readCalls, countAll, generate, keep, type Routes, sent, submitTo } from "../support.ts";

holdTime();
beforeEach(() => void vi.setSystemTime(Date.now() + 61_000));

const videos = "/v1/videos/generations";
const to = (...providers: string[]): Routes => {
  const ids: Record<string, string> = { openai: "video-1", media: "character", modelark: "dreamina-seedance-2-0-fast-260128" };
  return { "vidA-2": providers.map((provider) => ({ provider, model: ids[provider]! })) };
};
const byUrl = { model: "vidA-2", url: "https://videos.example/someone.mp4", timestamps: "0.3,2.3" };
const nothingPaid = { reserved: 0, used: 0 };

const ask = globalThis.fetch;

/** Answers the caller's video URL with a video that contains these directives; other requests are unchanged. */
function readVideo(words: string): void {
  vi.spyOn(globalThis, "fetch").mockImplementation((input, init) =>
    input === byUrl.url
      ? Promise.resolve(new Response(`....ftypisom ${words}`, { headers: { "content-type": "video/mp4" } }))
      : ask(input, init),
  );
}

/** A character created by these providers from a video with these directives. */
async function make(words = unique(), ...providers: string[]) {
  readVideo(words);
  return generate(to(...(providers.length > 0 ? providers : ["openai"])), videos, byUrl);
}

interface Row {
  id: string;
  username: string;
  display_name: string;
  provider: string;
  handle: string | null;
}

const readRow = (id: string) => env.DB.prepare("SELECT * FROM character WHERE id = ?1").bind(id).first<Row>();

/** Creates another character for the same account. */
async function makeFor(account: Account, ...providers: string[]): Promise<Row> {
  readVideo(unique());
  const vars = { ROUTES: to(...providers) };
  const made = await call(videos, { key: account.key, body: byUrl, vars });
  const { data } = (await finish(account, made.body.id)).body;
  return (await readRow(data.result.data.characters[0].id))!;
}

const video = (account: Account, prompt: string, ...providers: string[]) =>
  call(videos, { key: account.key, body: { model: "vidA-2", prompt }, vars: { ROUTES: to(...providers) } });

test("a character is created from exactly the range; the upstream's id is never shown", async () => {
  const word = unique();
  const { account, data } = await make(word);
  expect(data.status, JSON.stringify(data)).toBe("completed");
  const [character] = data.result.data.characters;
  expect(character).toEqual({
    id: expect.stringMatching(/^ch_/),
    display_name: expect.stringMatching(/^Character [0-9A-F]{4}$/),
    username: expect.stringMatching(/^character\.[0-9a-f]{10}$/),
    profile_picture_url: expect.any(String),
  });
  const [entry, ...others] = await asked(word);
  expect([entry, others]).toEqual([
    {
      upstream: "openai",
      call: "character",
      prompt: expect.stringContaining(`${word} cut at 0.3s for 2s`),
      body: { name: character.display_name },
    },
    [],
  ]);
  const image = await call(character.profile_picture_url);
  expect([...new Uint8Array(image.body).slice(1, 4)]).toEqual([0x50, 0x4e, 0x47]);
  const row = await readRow(character.id);
  expect(row).toMatchObject({ provider: "openai", handle: expect.stringMatching(/^char_/) });
  const list = await call("/v1/characters", { key: account.key });
  expect(list.body.data).toMatchObject([{ id: character.id, username: character.username }]);
  expect(JSON.stringify([data, list.body])).not.toContain(row!.handle);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.05 });
});

test("a video refers to it by id and by its name in the prompt; more than two, or a remix, is unsupported", async () => {
  const account = await newAccount();
  const first = await makeFor(account, "openai");
  const second = await makeFor(account, "openai");
  const third = await makeFor(account, "openai");
  const prompt = unique();
  const made = await video(account, `${prompt}: @${first.username} meets @${second.username.toUpperCase()}.`, "openai");
  expect((await finish(account, made.body.id)).body.data.status).toBe("completed");
  expect(await sent(prompt)).toMatchObject([
    {
      prompt: `${prompt}: ${first.display_name} meets ${second.display_name}.`,
      characters: [{ id: first.handle }, { id: second.handle }],
    },
  ]);
  const { used } = await readBalance(account);
  const refused = [400, { code: "unsupported_parameter", param: "prompt" }];
  const crowd = await video(account, `@${first.username} @${second.username} @${third.username}`, "openai");
  expect([crowd.status, crowd.body.error]).toMatchObject(refused);
  const body = { model: "vidA-2", prompt: `@${first.username} at night` };
  const remix = await call(`/v1/videos/${made.body.id}/remix`, { key: account.key, body, vars: { ROUTES: to("openai") } });
  expect([remix.status, remix.body.error]).toMatchObject(refused);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used });
});

test("other providers take its image, and so does the next route when the upstream has forgotten it", async () => {
  const account = await newAccount();
  const character = await makeFor(account, "openai");
  await env.DB.prepare("UPDATE character SET handle = 'char_forgotten' WHERE id = ?1").bind(character.id).run();
  for (const providers of [["modelark"], ["openai", "modelark"]]) {
    const prompt = unique();
    const made = await video(account, `${prompt} @${character.username}`, ...providers);
    expect((await finish(account, made.body.id, 40)).body.data.status).toBe("completed");
    const [body, ...others] = await sent(prompt);
    expect(others).toEqual([]);
    expect(body.content).toMatchObject([
      { text: expect.stringContaining(`${prompt} ${character.display_name}`) },
      { role: "reference_image", image_url: { url: expect.stringMatching(/^data:image\/png/) } },
    ]);
    expect(JSON.stringify(body)).not.toContain("char_");
  }
});

test("a character that another provider made is unsupported", async () => {
  const account = await newAccount();
  const character = await makeFor(account, "media");
  expect(character).toMatchObject({ provider: "media", handle: null });
  // Its handle is from another provider, so it is not used.
  await env.DB.prepare("UPDATE character SET handle = 'char_1' WHERE id = ?1").bind(character.id).run();
  const { used } = await readBalance(account);
  const { status, body } = await video(account, `@${character.username} sings`, "openai");
  expect([status, body.error]).toMatchObject([400, { code: "unsupported_parameter", param: "prompt" }]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used });
});

test("[renamed]: prompts contain the name that the upstream gave it", async () => {
  const word = unique();
  const { account, data } = await make(`${word} [renamed]`);
  const [character] = data.result.data.characters;
  expect(character.display_name).toBe("Mossy $& Teapot");
  const made = await video(account, `${word} @${character.username}`, "openai");
  expect((await finish(account, made.body.id)).body.data.status).toBe("completed");
  expect(await sent(word)).toMatchObject([{ prompt: `${word} Mossy $& Teapot` }]);
});

test("without the media binding a character is refused for its model, and nothing is reserved", async () => {
  const account = await newAccount();
  const vars = { ROUTES: to("openai"), MEDIA: undefined as never };
  const { status, body } = await call(videos, { key: account.key, body: byUrl, vars });
  expect([status, body.error]).toMatchObject([400, { code: "model_not_available", param: "model" }]);
  expect(await readBalance(account)).toMatchObject(nothingPaid);
});

test.each([
  ["[moderated]", "content_policy_violation", 1],
  ["[misfit]", "invalid_input", 1],
  ["silent", "invalid_input", 0],
])("%s fails as %s, later and at submission, and costs nothing", async (order, code, calls) => {
  const word = unique();
  const { account, data } = await make(`${word} ${order}`, "openai", "media");
  expect(data).toMatchObject({ status: "failed", error: { code } });
  expect(await readCalls(word)).toHaveLength(calls);
  expect(await readBalance(account)).toMatchObject(nothingPaid);
});

test.each(["[drop]", "[accepted-500]", "[nothing]"])("%s: the outcome is unknown, so no second character is made", async (order) => {
  const word = unique();
  const { account, data } = await make(`${word} ${order}`, "openai", "media");
  expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(await readCalls(word)).toEqual(["character"]);
  expect((await call("/v1/characters", { key: account.key })).body.data).toEqual([]);
  expect(await readBalance(account)).toMatchObject(nothingPaid);
});

test.each([
  ["[limit 2]", 2],
  ["[wallet]", 1],
  ["[hard-limit]", 1],
  ["uncut", 0],
])("%s falls back to the next route", async (order, calls) => {
  const word = unique();
  const { account, data } = await make(`${word} ${order}`, "openai", "media");
  expect(data.status, JSON.stringify(data)).toBe("completed");
  expect(await readRow(data.result.data.characters[0].id)).toMatchObject({ provider: "media", handle: null });
  expect(await countAll(word, "character")).toBe(calls);
  expect(isUnhealthy({ provider: "openai", model: "" })).toBe(/wallet|hard/.test(order));
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.05 });
});

test("wrong credentials mark the provider unhealthy; nothing is created", async () => {
  const word = unique();
  readVideo(word);
  const errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const { account, body } = await submitTo(to("openai"), videos, byUrl);
  await deliver(body.id, "gateway-dispatch", { OPENAI_API_KEY: "sk-wrong-secret" });
  expect(isUnhealthy({ provider: "openai", model: "" })).toBe(true);
  expect(errors.mock.calls.flat().join("\n")).not.toContain("sk-wrong-secret");
  expect((await finish(account, body.id)).body.data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(await readCalls(word)).toEqual([]);
  expect(await readBalance(account)).toMatchObject(nothingPaid);
});

test("a clip that breaks off while it is sent was not accepted", async () => {
  const clip = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode("....ftyp")),
    pull: (controller) => controller.error(new Error("gone")),
  });
  const response = ({ mode }: { mode: string }) => Promise.resolve(new Response(mode === "video" ? clip : "an image"));
  const media = { input: () => ({ output: (options: { mode: string }) => ({ response: () => response(options) }) }) } as never;
  const job: Job = {
    kind: "character",
    model: "video-1",
    prompt: "",
    n: 1,
    key: "task_1",
    images: [],
    characters: [],
    keep,
    range: { start: 0, end: 2 },
    source: { open: () => Promise.resolve(new Blob(["a video"]).stream()) },
  };
  const start = openai({ key: env.OPENAI_API_KEY!, media }).start(job, AbortSignal.timeout(20_000));
  await expect(start).rejects.toMatchObject({ message: "media: character", retryable: true, nothingAccepted: true });
});
