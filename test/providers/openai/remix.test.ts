/** Remixes by the `/v1/videos` format: the upstream takes only a prompt, so everything else must follow the source video. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { openai } from "../../../src/providers/openai/index.ts";
import type { GenerationRequest } from "../../../src/providers/provider.ts";
import { type Account, readBalance, call, finish, holdTime, newAccount, unique } from "../../support/gateway.ts";
import { asked, type Routes } from "../support.ts";

holdTime();

const routes: Routes = {
  "vidA-2": [{ provider: "openai", model: "video-1" }],
  "vidA-2-pro": [{ provider: "openai", model: "video-2" }],
};
const vars = { ROUTES: routes };

async function video(account: Account, more: object = {}): Promise<string> {
  const body = { model: "vidA-2", prompt: unique(), ...more };
  const made = await call("/v1/videos/generations", { key: account.key, body, vars });
  expect((await finish(account, made.body.id)).body.data.status).toBe("completed");
  return made.body.id as string;
}

const remix = (account: Account, source: string, body: object) =>
  call(`/v1/videos/${source}/remix`, { key: account.key, body: { model: "vidA-2", prompt: unique(), ...body }, vars });

test("a remix with the same model, seconds and size is requested by the source's own id, and can be remixed again", async () => {
  const account = await newAccount();
  const source = await video(account, { duration: 15, size: "9:16" });
  const prompt = unique();
  const made = await remix(account, source, { prompt, duration: 15, size: "9:16" });
  expect(made.status).toBe(200);
  expect((await finish(account, made.body.id)).body.data.status).toBe("completed");
  const [entry] = await asked(prompt);
  expect(entry).toMatchObject({ call: "remix", body: { prompt, source: expect.stringMatching(/^video_/) } });
  expect((await remix(account, made.body.id, { duration: 15, size: "9:16" })).status).toBe(200);
});

test("a source that the upstream no longer has fails the remix at no cost, and no model is reported as gone", async () => {
  const account = await newAccount();
  const source = await video(account);
  await env.DB.prepare("DELETE FROM incident").run();
  const { used } = await readBalance(account);
  const made = await remix(account, source, {});
  const send = globalThis.fetch;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const { url } = new Request(input, init);
    return url.endsWith("/remix") ? Response.json({ error: { message: "Video not found" } }, { status: 404 }) : send(input, init);
  });
  const { body } = await finish(account, made.body.id);
  expect(body.data.error.code).toBe("provider_error");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used });
  expect((await env.DB.prepare("SELECT kind FROM incident").run()).results).toEqual([]);
});

test.each([
  ["size", "unsupported_parameter", { size: "9:16" }],
  ["duration", "unsupported_parameter", { duration: 15 }],
  ["model", "model_not_available", { model: "vidA-2-pro", duration: 15 }],
])("another %s than the source's is unsupported: %s, nothing reserved", async (param, code, more) => {
  const account = await newAccount();
  const source = await video(account);
  const { used } = await readBalance(account);
  const { status, body } = await remix(account, source, more);
  expect([status, body.error]).toMatchObject([400, { code, param }]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used });
});

test("[moderated] and [drop]: a refused remix costs nothing, nor does a remix without an answer, which is not repeated", async () => {
  const account = await newAccount();
  const source = await video(account);
  const { used } = await readBalance(account);
  const refused = await remix(account, source, { prompt: `[moderated] ${unique()}` });
  expect((await finish(account, refused.body.id)).body.data.error.code).toBe("content_policy_violation");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used });
  const prompt = `[drop] ${unique()}`;
  const dropped = await remix(account, source, { prompt });
  expect((await finish(account, dropped.body.id)).body.data.error.code).toBe("provider_error");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used });
  expect((await asked(prompt)).filter((entry) => entry.call === "remix")).toHaveLength(1);
});

const request: GenerationRequest = {
  kind: "video",
  model: "sora-2",
  prompt: "a quay",
  n: 1,
  size: "16:9",
  duration: 10,
  images: [],
  characters: [],
};

test("another service of this format is not limited to Sora's seconds", () => {
  const unableAt = (base?: string) => openai({ key: "k", base }).unsupportedField!(request);
  expect([unableAt(), unableAt("https://gateway.example/v1")]).toEqual(["duration", undefined]);
});

test("a prompt that mentions one of our characters is refused: a remix cannot take its image", () => {
  const characters = [{ username: "character.1", displayName: "Character" }];
  expect(openai({ key: "k" }).unsupportedField!({ ...request, duration: 8, characters })).toBe("prompt");
});

test("a video of another provider cannot be remixed", () => {
  expect(openai({ key: "k" }).unsupportedField!({ ...request, kind: "remix" })).toBe("model");
});
