/** The headers and `callback_url` of submissions: API key, `Idempotency-Key`, language. Sections 1 and 5 of the contract. */

import { expect, test } from "vitest";
import en from "../../../src/messages/en.ts";
import ja from "../../../src/messages/ja.ts";
import ko from "../../../src/messages/ko.ts";
import zh from "../../../src/messages/zh.ts";
import { neverIssued } from "../../support/bodies.ts";
import { call, finish, holdTime, newAccount, submit, unique } from "../../support/gateway.ts";
import { expectNothingPaid } from "../../support/refusal.ts";

holdTime();

const prompt = "a bell tower";
const submissions: [name: string, path: string, body: object][] = [
  ["an image", "/v1/images/generations", { model: "imgA-4", prompt }],
  ["a video", "/v1/videos/generations", { model: "vidB-3.1-fast", prompt }],
  ["a character", "/v1/videos/generations", { model: "vidA-2", url: "https://films.example/a.mp4", timestamps: "0,2" }],
];
const [, images, image] = submissions[0]!;

test("the Authorization scheme is case-insensitive", async () => {
  const { key } = await newAccount();
  for (const scheme of ["Bearer", "bearer", "BEARER"])
    expect((await call(images, { body: image, headers: { authorization: `${scheme} ${key}` } })).status, scheme).toBe(200);
});
test("a submission without a valid key is 401, and the body is not validated", async () => {
  const account = await newAccount();
  const { key } = account;
  const mistyped = key.slice(0, -1) + (key.endsWith("A") ? "B" : "A");
  const foreign = `sk-${"a".repeat(49)}`;
  for (const authorization of [
    undefined,
    "",
    "Bearer",
    "Bearer ",
    `Basic ${key}`,
    key,
    `Bearer ${mistyped}`,
    `Bearer ${foreign}`,
    `Bearer ${key.toLowerCase()}`,
    `Bearer ${key} ${key}`,
  ])
    for (const [, path, body] of [
      ...submissions,
      ["", `/v1/videos/${neverIssued}/remix`, {}],
      ["", "/v1/chat/completions", {}],
    ] as typeof submissions) {
      const answer = await call(path, {
        body: { ...body, n: "2", duration: "10" },
        ...(authorization !== undefined && { headers: { authorization } }),
      });
      const error = { message: expect.any(String), type: "unauthorized", code: "unauthorized", param: null };
      expect({ status: answer.status, body: answer.body }, `${path} ${authorization}`).toEqual({ status: 401, body: { error } });
    }
  await expectNothingPaid(account);
});

for (const [name, path, body] of submissions) {
  test(`an Idempotency-Key of 1 to 255 printable characters is accepted with ${name}`, async () => {
    const account = await newAccount();
    for (const key of ["k", "k".repeat(255), "order 7: ~!@#$%^&*()"])
      expect((await call(path, { key: account.key, body, headers: { "idempotency-key": key } })).status, key).toBe(200);
  });
  test(`any other Idempotency-Key is refused with ${name}`, async () => {
    const account = await newAccount();
    for (const key of ["", "k".repeat(256), "a\tb", "a\u007fb"]) {
      const answer = await call(path, { key: account.key, body, headers: { "idempotency-key": key } });
      expect(answer, key).toMatchObject({ status: 400, body: { error: { type: "invalid_request", param: "Idempotency-Key" } } });
    }
    await expectNothingPaid(account);
  });
}
test("a refused submission leaves no claim on its Idempotency-Key", async () => {
  const account = await newAccount();
  const send = (body: object) => call(images, { key: account.key, body, headers: { "idempotency-key": "one" } });
  expect((await send({ ...image, n: 5 })).status).toBe(400);
  const taken = await send({ ...image, n: 4 });
  expect(taken.status).toBe(200);
  expect(taken.headers.get("idempotent-replayed")).toBeNull();
});

const goodCallbacks = [
  "https://receiver.example/done",
  "https://receiver.example:8443/done?job=7",
  "http://127.0.0.1:9000/done",
  "http://localhost:9000/",
];
const badCallbacks = [
  "http://receiver.example/done",
  "ftp://receiver.example/done",
  "https://u:p@receiver.example/done",
  "receiver.example/done",
  "/done",
  "",
  5,
  true,
  [],
];
for (const [name, path, body] of submissions) {
  test(`an https callback_url, or an http one to loopback, is accepted with ${name}`, async () => {
    const account = await newAccount();
    for (const callback_url of goodCallbacks)
      expect((await call(path, { key: account.key, body: { ...body, callback_url } })).status, callback_url).toBe(200);
  });
  test(`any other callback_url is refused with ${name}`, async () => {
    const account = await newAccount();
    for (const callback_url of badCallbacks) {
      const answer = await call(path, { key: account.key, body: { ...body, callback_url } });
      expect(answer, JSON.stringify(callback_url)).toMatchObject({
        status: 400,
        body: { error: { type: "invalid_request", param: "callback_url" } },
      });
    }
    await expectNothingPaid(account);
  });
}
test("the headers and callback_url of a remix follow the same rules", async () => {
  const account = await newAccount();
  const video = await submit(account, "/v1/videos/generations", { model: "vidA-2", prompt: unique() });
  await finish(account, video);
  const remix = (body: object, key: string) =>
    call(`/v1/videos/${video}/remix`, {
      key: account.key,
      body: { model: "vidA-2", prompt, ...body },
      headers: { "idempotency-key": key },
    });
  expect((await remix({ callback_url: goodCallbacks[0] }, "k".repeat(255))).status).toBe(200);
  expect((await remix({}, "k".repeat(256))).status).toBe(400);
  expect(await remix({ callback_url: badCallbacks[0] }, "other")).toMatchObject({
    status: 400,
    body: { error: { param: "callback_url" } },
  });
});

const tables = { en, zh, ko, ja };
const placeholders = (sentence: string) => [...sentence.matchAll(/\{\w+\}/g)].map(([name]) => name).sort();
for (const [language, table] of Object.entries<Record<string, string>>(tables))
  test(`every message exists in ${language}, with the same placeholders`, () => {
    expect(Object.keys(table).sort()).toEqual(Object.keys(en).sort());
    for (const [key, sentence] of Object.entries(en)) {
      expect(table[key], key).toMatch(/\S/);
      expect(placeholders(table[key]!), key).toEqual(placeholders(sentence));
    }
  });
test("the balance's messages are fixed", async () => {
  for (const path of ["/v1/balance", "/balance", "/v1/user/balance", "/user/balance"])
    for (const language of Object.keys(tables)) {
      const { body } = await call(`${path}?language=${language}`, { headers: { "accept-language": language } });
      expect(body).toEqual({ success: false, message: "No Authorization header" });
    }
});
for (const [query, header, language] of [
  [undefined, undefined, "en"],
  [undefined, "ja", "ja"],
  [undefined, "zh-CN,zh;q=0.9,en;q=0.8", "zh"],
  [undefined, "zh-Hant-TW", "zh"],
  [undefined, "KO-kr", "ko"],
  [undefined, "fr, ko;q=0.8, ja;q=0.9", "ja"],
  [undefined, "en;q=0.2, ja;q=0.3, fr", "ja"],
  [undefined, "ja;q=0, ko;q=0.1", "ko"],
  [undefined, "fr-FR, de;q=0.9, *;q=0.1", "en"],
  [undefined, ",;q=,,", "en"],
  [undefined, "ja ;q=0.2 , ko ; q=0.9", "ko"],
  [undefined, "zh ;q=0.8,en;q=0.7", "zh"],
  ["ko", undefined, "ko"],
  ["ko", "ja", "ko"],
  ["en", "ja", "en"],
  ["fr", "ja", "ja"],
  ["", "ja", "ja"],
  ["fr", undefined, "en"],
] as const)
  test(`?language=${query ?? "-"} and Accept-Language ${header ?? "-"} select ${language}`, async () => {
    const path = query === undefined ? images : `${images}?language=${query}`;
    const answer = await call(path, { body: {}, headers: header === undefined ? {} : { "accept-language": header } });
    expect(answer.headers.get("content-language")).toBe(language);
    expect(answer.body.error.message).toBe(tables[language].unauthorized);
  });
