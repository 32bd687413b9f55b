/** Chat bodies at both sides of every limit: 4.1 of the interface, section 1 of the contract. */

import { expect, test } from "vitest";
import { each } from "../../support/bodies.ts";
import { readBalance, call, holdTime, newAccount, settledBalance } from "../../support/gateway.ts";
import { expectNothingPaid, expectRefusedFor } from "../../support/refusal.ts";

holdTime();

const path = "/v1/chat/completions";
const model = "textA-1";
const messages = [{ role: "user", content: "Good morning" }];

/** Each body is accepted. */
async function accepts(bodies: object[]): Promise<void> {
  const account = await newAccount();
  for (const body of bodies) {
    const answer = await call(path, { key: account.key, body: { model, messages, ...body } });
    expect(answer.status, JSON.stringify([body, answer.body])).toBe(200);
  }
  expect(await settledBalance(account)).toMatchObject({ reserved: 0 });
}

/** Each body is refused because of this one field; nothing is reserved or charged. */
async function refuses(param: string, bodies: object[]): Promise<void> {
  const account = await newAccount();
  for (const body of bodies) {
    const answer = await call(path, { key: account.key, body: { model, messages, ...body } });
    expectRefusedFor(param, answer, body);
  }
  await expectNothingPaid(account);
}

const second = (message: unknown) => ({ messages: [...messages, message] });

test("both text models are accepted", () => accepts(each("model", ["textA-1", "textA-1-mini"])));
test("messages are required", () => refuses("messages", each("messages", [undefined, null])));
test("messages must be a list of at least one", () =>
  refuses("messages", each("messages", [[], "Good morning", "", 5, { role: "user", content: "Hi" }])));
test("a message must be an object; the error names its index", () =>
  refuses(
    "messages[1]",
    ["Hi", 5, ["user", "Hi"]].map((message) => second(message)),
  ));
test("the roles of the protocol are accepted", () =>
  accepts(["system", "developer", "user", "assistant"].map((role) => second({ role, content: "Good morning" }))));
test("a message needs one of the roles", () =>
  refuses(
    "messages[1].role",
    [undefined, null, "", "robot", "User", 5].map((role) => second({ role, content: "Hi" })),
  ));
test("content may be a string or parts", () =>
  accepts([
    second({ role: "user", content: "x".repeat(5000) }),
    second({ role: "user", content: [{ type: "text", text: "What is this?" }] }),
    second({
      role: "user",
      content: [
        { type: "text", text: "And this?" },
        { type: "image_url", image_url: { url: "https://pictures.example/a.png" } },
      ],
    }),
  ]));
test("content of any other type is refused", () =>
  refuses(
    "messages[1].content",
    [5, true, { type: "text", text: "Hi" }].map((content) => second({ role: "user", content })),
  ));
test("an error in a part names the field in it, and what is allowed there", async () => {
  const { key } = await newAccount();
  const text = { type: "text", text: "What is this?" };
  const types = ["text", "image_url", "input_audio", "file", "refusal"];
  const details = ["auto", "low", "high", "original"];
  const noImage = "must be a public http(s) URL or a base64 image";
  const rows: [part: unknown, param: string, reason: string, allowed?: unknown][] = [
    ["Hi", "", "must be of type object"],
    [{}, ".type", "is required", types],
    [{ type: "video_url" }, ".type", `must be one of ${types.join(", ")}`, types],
    [{ type: "text", text: 5 }, ".text", "must be of type string"],
    [{ type: "image_url", image_url: "https://pictures.example/a.png" }, ".image_url", "must be of type object"],
    [{ type: "image_url", image_url: { detail: "low" } }, ".image_url.url", "is required"],
    [
      { type: "image_url", image_url: { url: "data:", detail: "best" } },
      ".image_url.detail",
      `must be one of ${details.join(", ")}`,
      details,
    ],
    [{ type: "image_url", image_url: { url: "" } }, ".image_url.url", noImage],
    [{ type: "image_url", image_url: { url: "ftp://pictures.example/a.png" } }, ".image_url.url", noImage],
  ];
  for (const [part, field, reason, allowed] of rows) {
    const param = `messages[1].content[1]${field}`;
    const { status, body } = await call(path, { key, body: { model, ...second({ role: "user", content: [text, part] }) } });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ param, message: `${param}: ${reason}` });
    expect(body.error.details).toEqual([{ param, message: reason, ...(allowed !== undefined && { allowed }) }]);
  }
  for (const [field, value, reason] of [
    ["tool_choice", 5, "must be of type string | object"],
    ["stop", ["a", "b", "c", "d", "e"], "must have at most 4 elements"],
  ] as const) {
    const { body } = await call(path, { key, body: { model, messages, [field]: value } });
    expect(body.error.message).toBe(`${field}: ${reason}`);
  }
});
test("a user's message needs content", () =>
  refuses(
    "messages[1].content",
    [{ role: "user" }, { role: "user", content: null }].map((message) => second(message)),
  ));
test("an assistant message with tool calls needs no content", () => {
  const tool_calls = [{ id: "call_1", type: "function", function: { name: "clock", arguments: "{}" } }];
  const reply = { role: "tool", tool_call_id: "call_1", content: "nine" };
  return accepts([{ messages: [...messages, { role: "assistant", content: null, tool_calls }, reply] }]);
});

test("an assistant message may have empty content beside a refusal, an audio or a function call; a function's answer may be empty", () =>
  accepts([
    second({ role: "assistant", content: null, refusal: "No." }),
    second({ role: "assistant", content: null, audio: { id: "audio_1" } }),
    second({ role: "assistant", content: null, function_call: { name: "clock", arguments: "{}" } }),
    second({ role: "function", name: "clock", content: null }),
  ]));
test("a file needs its data: file ids refer to storage elsewhere", async () => {
  const file = (more: object) => second({ role: "user", content: [{ type: "file", file: { filename: "a.pdf", ...more } }] });
  await accepts([file({ file_data: "data:application/pdf;base64,AAAA" })]);
  await refuses("messages[1].content[0].file.file_id", [file({ file_id: "file-1" })]);
  await refuses("messages[1].content[0].file.file_data", [file({})]);
});
test("fields that change the kind of output and cannot be honoured are refused", async () => {
  await accepts(each("modalities", [["text"], null]));
  await refuses("modalities", each("modalities", [["text", "audio"], ["audio"], "text"]));
  await refuses("web_search_options", [{ web_search_options: {} }]);
  await refuses("moderation", [{ moderation: { model: "omni-moderation-latest" } }]);
});
test("lists have a length limit", async () => {
  const many = (length: number) => Array.from({ length }, (_, at) => at);
  await refuses("messages", [{ messages: many(2049).map(() => messages[0]) }]);
  await refuses("tools", [{ tools: many(513).map(() => ({ type: "function" })) }]);
  await refuses("logit_bias", [{ logit_bias: Object.fromEntries(many(1025).map((at) => [at, 1])) }]);
});

test("stream must be true or false", () => refuses("stream", each("stream", ["true", 1, 0, {}])));
test("max_tokens must be a whole number from 1", async () => {
  await accepts(each("max_tokens", [1, 4096, null]));
  await refuses("max_tokens", each("max_tokens", [0, -1, 1.5, "10", true]));
});
test("max_completion_tokens must be a whole number from 1", async () => {
  await accepts(each("max_completion_tokens", [1, 4096]));
  await refuses("max_completion_tokens", each("max_completion_tokens", [0, 1.5, "10"]));
});
test("n must be 1", async () => {
  await accepts(each("n", [1, null]));
  await refuses("n", each("n", [0, 2, "1", 1.5]));
});

for (const [field, low, high] of [
  ["temperature", 0, 2],
  ["top_p", 0, 1],
  ["presence_penalty", -2, 2],
  ["frequency_penalty", -2, 2],
] as const)
  test(`${field} must be between ${low} and ${high}`, async () => {
    await accepts(each(field, [low, high, (low + high) / 2]));
    await refuses(field, each(field, [low - 0.01, high + 0.01, String(high), true]));
  });
test("stop must be a string or up to four", async () => {
  await accepts(each("stop", ["\n", ["a"], ["a", "b", "c", "d"]]));
  await refuses("stop", each("stop", [["a", "b", "c", "d", "e"], 5]));
  await refuses("stop[0]", each("stop", [[5]]));
});

test("unknown fields are ignored", () =>
  accepts([{ prompt: 5, size: "9:16", images: "none", duration: "long", whatever: { deep: [null] } }]));
test("all violations are reported at once", async () => {
  const account = await newAccount();
  const body = { messages: [{ role: "robot", content: 5 }, { content: "Hi" }], n: 2, temperature: 3, stream: "yes" };
  const answer = await call(path, { key: account.key, body });
  expect(answer.status).toBe(400);
  expect(answer.body.error.details.map(({ param }: { param: string }) => param).sort()).toEqual(
    ["messages[0].content", "messages[0].role", "messages[1].role", "model", "n", "stream", "temperature"].sort(),
  );
  expect(answer.body.error.param).toBe(answer.body.error.details[0].param);
  await expectNothingPaid(account);
});
test("a limit is accepted if the balance covers it", async () => {
  const account = await newAccount(0.01);
  const ask = (max_tokens: number) => call(path, { key: account.key, body: { model, messages, max_tokens } });
  expect(await ask(4096)).toMatchObject({
    status: 402,
    body: { error: { type: "insufficient_quota", code: "insufficient_quota", param: null } },
  });
  expect(await readBalance(account)).toEqual({ quota: 0.01, reserved: 0, used: 0, remaining: 0.01 });
  expect((await ask(100)).status).toBe(200);
});
