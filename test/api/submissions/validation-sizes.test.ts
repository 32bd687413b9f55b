/** Very long lists and records in bodies: one short error that names the field and its limit, before the elements are checked. Contract 1. */

import { expect, test } from "vitest";
import { findOversized } from "../../../src/catalog/sizes.ts";
import { asAdmin, call, newAccount } from "../../support/gateway.ts";
import { expectNoTrace } from "../../support/refusal.ts";

const chat = "/v1/chat/completions";
const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const message = { role: "user", content: "hello" };
const fill = <T>(length: number, item: T): T[] => Array.from({ length }, () => item);
const long = "n".repeat(500_000);
const record = (size: number) => Object.fromEntries(fill(size, 0).map((value, at) => [`k${at}`, value]));
const talk = (more: object) => ({ model: "textA-1", messages: [message], ...more });

test.each<[string, string, object, string, number]>([
  ["200,000 empty messages", chat, talk({ messages: fill(200_000, {}) }), "messages", 2_048],
  ["2,049 good messages", chat, talk({ messages: fill(2_049, message) }), "messages", 2_048],
  [
    "a million parts of a message",
    chat,
    talk({ messages: [{ role: "user", content: fill(1_000_000, {}) }] }),
    "messages[0].content",
    2_048,
  ],
  ["513 tools", chat, talk({ tools: fill(513, { type: "function", function: { name: "f" } }) }), "tools", 512],
  ["1,025 biases", chat, talk({ logit_bias: record(1_025) }), "logit_bias", 1_024],
  ["100,000 images", images, { model: "imgA-4", prompt: "p", images: fill(100_000, 1) }, "images", 2_048],
  ["100,000 roles", videos, { model: "vidC-1-0-pro-fast", prompt: "p", image_with_roles: fill(100_000, {}) }, "image_with_roles", 2_048],
  [
    "a list in a field with a long name",
    images,
    { model: "imgA-4", prompt: "p", [long]: [record(1_025)] },
    `${long.slice(0, 64)}[0]`,
    1_024,
  ],
  ["a list so long that it is not parsed", images, { model: "imgA-4", prompt: "p", [long]: fill(9_000, 1) }, long.slice(0, 64), 2_048],
  ["100,000 entries of metadata", videos, { model: "vidA-2", prompt: "p", metadata: record(20_000) }, "metadata", 1_024],
])("%s", async (_, path, body, param, maximum) => {
  const account = await newAccount();
  const answer = await call(path, { key: account.key, body });
  expect(answer.status).toBe(400);
  expect(answer.body.error).toMatchObject({ code: "invalid_request", param });
  expect(answer.body.error.details[0]).toMatchObject({ param, allowed: { maximum } });
  expect(JSON.stringify(answer.body).length).toBeLessThan(2_000);
  await expectNoTrace(account);
});

test("nested lists share one limit, so that they do not multiply", () => {
  const messages = fill(2_000, { role: "user", content: fill(2_000, {}) });
  expect(findOversized({ messages })).toMatchObject({ param: "messages[3].content", rule: "too_big_list", values: { maximum: 192 } });
});

test("lists inside the caller's own schemas are not limited", () => {
  const parameters = { type: "object", properties: record(3_000), enum: fill(5_000, 1) };
  expect(findOversized({ tools: [{ type: "function", function: { name: "f", parameters } }] })).toBeUndefined();
  expect(findOversized({ messages: fill(2_048, message), logit_bias: record(1_024), tools: fill(512, {}) })).toBeUndefined();
});

test.each<[string, string, object]>([
  ["2,048 empty messages", chat, talk({ messages: fill(2_048, {}) })],
  ["2,000 images of the wrong type", images, { model: "imgA-4", prompt: "p", images: fill(2_000, 1) }],
  [
    "1,000 entries with long names",
    chat,
    talk({ logit_bias: Object.fromEntries(fill(1_000, 0).map((_, at) => [`${at}${"x".repeat(5_000)}`, "y"])) }),
  ],
])("%s are reported in at most 50 violations", async (_, path, body) => {
  const account = await newAccount();
  const answer = await call(path, { key: account.key, body });
  expect(answer.status).toBe(400);
  expect(answer.body.error.details.length).toBeLessThanOrEqual(50);
  expect(JSON.stringify(answer.body).length).toBeLessThan(20_000);
});

test("the admin API's bodies have the same limits", async () => {
  const answer = await asAdmin("/accounts", { body: { email: "a@example.com", quota: 1, name: fill(3_000, {}) } });
  expect(answer).toMatchObject({ status: 400, body: { error: { param: "name", details: [{ allowed: { maximum: 2_048 } }] } } });
});

test.each([
  ["POST", chat],
  ["POST", images],
  ["POST", videos],
  ["POST", "/v1/videos/task_x/remix"],
  ["POST", "/v1/tasks/task_x/cancel"],
])("%s %s: a compressed body is 415", async (method, path) => {
  const { key } = await newAccount();
  for (const encoding of ["gzip", "GZIP", "br", "deflate, gzip"]) {
    const answer = await call(path, { key, method, body: talk({}), headers: { "content-encoding": encoding } });
    expect([encoding, answer.status, answer.body.error.code]).toEqual([encoding, 415, "unsupported_media_type"]);
    expect(answer.body.error.message).toContain("not be compressed");
  }
  const plain = await call(path, { key, method, body: {}, headers: { "content-encoding": "identity" } });
  expect(plain.status).not.toBe(415);
});
