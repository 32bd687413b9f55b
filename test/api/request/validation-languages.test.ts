/** The four languages of the answers: 4.5 of the interface, section 5 of the contract. Messages change; codes and fields never do. */

import { beforeAll, expect, test, vi } from "vitest";
import en from "../../../src/messages/en.ts";
import { languages } from "../../../src/messages/language.ts";
import { neverIssued } from "../../support/bodies.ts";
import { type Account, type Answer, call, finish, holdTime, newAccount, script, submit, unique } from "../../support/gateway.ts";

holdTime();

/** One account for all refusals: none of them leaves a trace. */
let caller: Account;
beforeAll(async () => {
  caller = await newAccount();
});

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const chat = "/v1/chat/completions";
const prompt = "a garden in spring";
const url = "https://pictures.example/a.png";
const video = { model: "vidA-2", prompt };
const character = { model: "vidA-2", url, timestamps: "0,2" };
const still = { model: "vidC-1-0-pro-fast", prompt };

/** Requests a language by `Accept-Language`, or by `?language=` against a different header. */
type Ask = (path: string, options?: Parameters<typeof call>[1]) => Promise<Answer>;
const asking =
  (language: string, byQuery: boolean): Ask =>
  (path, options = {}) =>
    byQuery
      ? call(`${path}${path.includes("?") ? "&" : "?"}language=${language}`, {
          ...options,
          headers: { "accept-language": "fr, en;q=0.1", ...options.headers },
        })
      : call(path, { ...options, headers: { "accept-language": language, ...options.headers } });

/** The messages of an answer, and the rest of its body. */
function split(body: unknown): { sentences: string[]; rest: unknown } {
  const sentences: string[] = [];
  const rest: unknown = JSON.parse(
    JSON.stringify(body, (name, value: unknown) => {
      if (name !== "message" || typeof value !== "string") return value;
      sentences.push(value);
      return undefined;
    }),
  );
  return { sentences, rest };
}

/** The same refusal in each language: only messages differ, none is missing, and none contains a placeholder or a key. */
async function speaks(status: number, ask: (say: Ask) => Promise<Answer>): Promise<void> {
  const seen: { rest: unknown; sentences: string[] }[] = [];
  for (const [at, language] of languages.entries()) {
    const answer = await ask(asking(language, at % 2 === 0));
    expect(answer.status, JSON.stringify(answer.body)).toBe(status);
    expect(answer.headers.get("content-language")).toBe(language);
    expect(answer.headers.get("vary")?.toLowerCase()).toContain("accept-language");
    seen.push(split(answer.body));
  }
  for (const { rest, sentences } of seen) {
    expect(rest).toEqual(seen[0]!.rest);
    expect(sentences).toHaveLength(seen[0]!.sentences.length);
    for (const sentence of sentences) {
      expect(sentence).not.toMatch(/[{}]|undefined|\[object/);
      expect(Object.keys(en)).not.toContain(sentence);
    }
  }
  for (const [at] of seen[0]!.sentences.entries()) expect(new Set(seen.map(({ sentences }) => sentences[at])).size).toBe(languages.length);
}

const gif = `data:image/png;base64,${new TextEncoder().encode("GIF89a and more").toBase64()}`;
const withRoles = (...roles: string[]) => ({ image_with_roles: roles.map((role) => ({ url, role })) });
const refusals: [name: string, path: string, body: object | string][] = [
  ["a missing field", images, {}],
  ["a wrong type", images, { model: 5, prompt: 5, size: 5, n: "2", quality: 1, images: 5 }],
  ["a value that is none of the allowed", images, { model: "imgA-4", prompt, size: "5:4", quality: "ultra" }],
  ["numbers out of range", images, { model: "imgA-4", prompt, n: 5 }],
  ["numbers below their range", images, { model: "imgA-4", prompt, n: 0 }],
  ["a fraction", images, { model: "imgA-4", prompt, n: 2.5 }],
  ["a long list", images, { model: "imgA-4", prompt, images: Array.from({ length: 6 }, () => url) }],
  ["an empty list", chat, { model: "textA-1", messages: [] }],
  ["a list in a wrong form", chat, { model: "textA-1", messages: [{ role: "user", content: 5 }], stop: 5, logit_bias: 5, tools: 5 }],
  ["a long prompt", images, { model: "imgA-4", prompt: "x".repeat(1001) }],
  ["a blank prompt", images, { model: "imgA-4", prompt: " " }],
  ["an unknown model", images, { model: "imgZ-9", prompt }],
  ["bad images", images, { model: "imgA-4", prompt, images: ["https://", "a.png", "data:image/png;base64,!!!!", gif] }],
  ["two fields that exclude each other", videos, { ...still, images: [url], ...withRoles("reference") }],
  ["a reference at 1080p", videos, { ...still, ...withRoles("reference"), metadata: { resolution: "1080p" } }],
  ["two first frames", videos, { ...still, ...withRoles("first_frame", "first_frame") }],
  ["neither url nor from_task", videos, { model: "vidA-2", timestamps: "0,2" }],
  ["both url and from_task", videos, { ...character, from_task: neverIssued }],
  ["timestamps of another form", videos, { ...character, timestamps: "now" }],
  ["timestamps out of range", videos, { ...character, timestamps: "0,4" }],
  ["an unknown character", videos, { ...video, prompt: "@nobody" }],
  ["a bad video URL", videos, { ...character, url: "ftp://a.example/b" }],
  ["flags of a wrong type", videos, { ...video, metadata: { style: 5, watermark: 5, private: 5 } }],
  ["no JSON", images, "{"],
  ["no JSON object", images, "[]"],
];
for (const [name, path, body] of refusals)
  test(`${name} is reported in every language`, () => speaks(400, (say) => say(path, { key: caller.key, body })));

const others: [name: string, status: number, ask: (say: Ask, account: Account) => Promise<Answer>][] = [
  ["a missing key", 401, (say) => say(images, { body: { model: "imgA-4", prompt } })],
  ["a low balance", 402, async (say) => say(images, { key: (await newAccount(0)).key, body: { model: "imgA-4", prompt } })],
  ["an unknown task", 404, (say, { key }) => say(`/v1/tasks/${neverIssued}`, { key })],
  ["an unknown video task", 404, (say, { key }) => say(`/v1/videos/generations/${neverIssued}`, { key })],
  ["an unknown character task", 404, (say, { key }) => say(`/v1/characters_tasks/${neverIssued}`, { key })],
  ["an unknown source", 404, (say, { key }) => say(`/v1/videos/${neverIssued}/remix`, { key, body: video })],
  ["an unknown address", 404, (say, { key }) => say("/v1/nothing", { key })],
  ["another method", 405, (say, { key }) => say(images, { key, method: "PUT", body: {} })],
  ["another content type", 415, (say, { key }) => say(images, { key, body: "model=imgA-4", headers: { "content-type": "text/plain" } })],
  ["a long body", 413, (say, { key }) => say(`/v1/videos/${neverIssued}/remix`, { key, body: "{}".padEnd(1024 * 1024 + 1) })],
  ["a bad Idempotency-Key", 400, (say, { key }) => say(images, { key, body: video, headers: { "idempotency-key": "k".repeat(256) } })],
  ["a bad wait", 400, (say, { key }) => say(`/v1/tasks/${neverIssued}?wait=61`, { key })],
  ["a bad page", 400, (say, { key }) => say("/v1/tasks?limit=101", { key })],
  ["a bad status", 400, (say, { key }) => say("/v1/tasks?status=done", { key })],
  [
    "a refused content of a chat",
    422,
    (say, { key }) => say(chat, { key, body: { model: "textA-1", messages: [{ role: "user", content: "sandbox:reject" }] } }),
  ],
  [
    "a fault of a chat's provider",
    500,
    (say, { key }) => say(chat, { key, body: { model: "textA-1", messages: [{ role: "user", content: "sandbox:fail" }] } }),
  ],
  ["a bad account", 400, (say) => say("/admin/accounts", { key: "test-admin", body: { email: "nobody", quota: -1 } })],
  [
    "two changes at once",
    400,
    (say, { id }) => say(`/admin/accounts/${id}`, { key: "test-admin", method: "PATCH", body: { quota: 1, add: 1 } }),
  ],
  [
    "a key of the past",
    400,
    (say, { id }) => say(`/admin/accounts/${id}/keys`, { key: "test-admin", body: { name: "k", quota: 1, expires_at: 5 } }),
  ],
];
for (const [name, status, ask] of others) test(`${name} is reported in every language`, () => speaks(status, (say) => ask(say, caller)));

test("a source that cannot be used is reported in every language", async () => {
  const { key, ...account } = await newAccount();
  const done = async (body: object, path = videos) => {
    const id = await submit({ key, ...account }, path, body);
    await finish({ key, ...account }, id);
    return id;
  };
  const remix = (id: string) => speaks(400, (say) => say(`/v1/videos/${id}/remix`, { key, body: video }));
  await remix(await submit({ key, ...account }, videos, video));
  await remix(await done({ model: "imgA-4", prompt }, images));
  await remix(await done({ ...video, metadata: { private: true } }));
  const old = await done(video);
  vi.setSystemTime(Date.now() + 86_401_000);
  await remix(old);
});
test("the reason why a task failed is in every language, inside and outside of data", async () => {
  const account = await newAccount();
  for (const code of ["content_policy_violation", "provider_error", "invalid_input"]) {
    const word = unique();
    await script({ match: word, polls: [{ failed: code }] });
    const id = await submit(account, videos, { ...video, prompt: word });
    await finish(account, id);
    await speaks(200, (say) => say(`/v1/tasks/${id}`, { key: account.key }));
    await speaks(200, (say) => say(`/v1/videos/generations/${id}`, { key: account.key }));
    const { data, message } = (await call(`/v1/tasks/${id}?language=ja`, { key: account.key })).body;
    expect(message).toBe(data.error.message);
  }
  const cancelled = await submit(account, videos, video);
  await call(`/v1/tasks/${cancelled}/cancel`, { key: account.key, method: "POST" });
  await speaks(200, (say) => say(`/v1/tasks/${cancelled}`, { key: account.key }));
  await speaks(409, (say) => say(`/v1/tasks/${cancelled}/cancel`, { key: account.key, method: "POST" }));
});
test("successful answers have Content-Language too", async () => {
  const account = await newAccount();
  const id = await submit(account, images, { model: "imgA-4", prompt });
  for (const path of [`/v1/tasks/${id}`, "/v1/tasks", "/v1/models", "/v1/characters"])
    await speaks(200, (say) => say(path, { key: account.key }));
  const made = await call(`${images}?language=ko`, { key: account.key, body: { model: "imgA-4", prompt } });
  expect(made.headers.get("content-language")).toBe("ko");
  const answered = await call(`${chat}?language=zh`, {
    key: account.key,
    body: { model: "textA-1", messages: [{ role: "user", content: "Hi" }] },
  });
  expect(answered.headers.get("content-language")).toBe("zh");
});

test("a number outside its range is refused with both ends of the range, in each language", async () => {
  const expected = {
    en: "limit: must be a whole number from 1 to 100",
    zh: "limit：必须是 1 到 100 之间的整数",
    ko: "limit: 1에서 100 사이의 정수여야 합니다",
    ja: "limit：1 から 100 までの整数でなければなりません",
  };
  for (const language of languages)
    expect(await call(`/v1/tasks?limit=0&language=${language}`, { key: caller.key })).toMatchObject({
      status: 400,
      body: { message: expected[language], error: { details: [{ param: "limit", allowed: { minimum: 1, maximum: 100 } }] } },
    });
});
