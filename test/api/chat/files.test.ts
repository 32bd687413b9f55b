/** Stored files as images of a chat, on every path that takes a chat: sent to the upstream as data URIs, with the limits of inline images. Contract 15. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { bindings } from "../../support/faults.ts";
import { begin, readResults, run } from "../../support/batches.ts";
import { type Account, call, newAccount, readBalance, unique } from "../../support/gateway.ts";

const path = "/v1/chat/completions";
const MiB = 1024 * 1024;

/** Bytes that begin like a PNG, different each time. */
function png(bytes = 200): Uint8Array<ArrayBuffer> {
  const data = new Uint8Array(Math.floor(bytes));
  data.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  data.set(new TextEncoder().encode(unique()), 8);
  return data;
}

async function store(account: Account, bytes: Uint8Array<ArrayBuffer> | string): Promise<string> {
  const sent = typeof bytes === "string" ? bytes : bytes.buffer;
  const { status, body } = await call("/v1/files", { key: account.key, method: "POST", body: sent });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.id;
}

const picture = (url: string, more: object = {}) => ({ type: "image_url", image_url: { url, ...more } });
const chat = (...urls: string[]) => ({
  model: "textA-1",
  messages: [
    { role: "user", content: [{ type: "text", text: "What is this?" }, ...urls.map((url) => picture(url, { detail: "low" }))] },
    { role: "user", content: "echo-request" },
  ],
});
const ask = (account: Account, body: object, query = "") => call(path + query, { key: account.key, body });
const sent = (content: string) => JSON.parse(content).messages as { content: { image_url?: { url: string; detail?: string } }[] }[];
const asUrl = (bytes: Uint8Array) => `data:image/png;base64,${bytes.toBase64()}`;

/** The chats that the upstream gets from now on, which it answers without an echo: an answer has at most 8 MiB. */
function captureChats(): string[] {
  const upstream = Object.getPrototypeOf(env.SANDBOX) as Fetcher;
  // oxlint-disable-next-line typescript/unbound-method -- called with its object below
  const original = upstream.fetch;
  const chats: string[] = [];
  vi.spyOn(upstream, "fetch").mockImplementation(async function (this: unknown, ...values: Parameters<Fetcher["fetch"]>) {
    const request = new Request(...values);
    if (request.url !== "http://sandbox/v1/chat/completions") return original.apply(this, [request]);
    chats.push(await request.text());
    return Response.json({ choices: [{ index: 0, message: { role: "assistant", content: "seen" }, finish_reason: "stop" }] });
  });
  return chats;
}

test("the upstream gets a stored file as an inline image, beside those that are URLs; the price is that of an inline one", async () => {
  const account = await newAccount();
  const bytes = png();
  const file = await store(account, bytes);
  const { status, body } = await ask(account, chat(file, "https://pictures.example/a.png", file));
  expect(status, JSON.stringify(body)).toBe(200);
  expect(sent(body.choices[0].message.content)[0]!.content.slice(1)).toEqual(
    [asUrl(bytes), "https://pictures.example/a.png", asUrl(bytes)].map((url) => picture(url, { detail: "low" })),
  );
  const price = async (url: string) => (await ask(account, chat(url), "?dry_run=true")).body.price;
  expect(await price(file)).toBe(await price(asUrl(bytes)));
});

test("an unknown, foreign, deleted or lost file is the same 400 at its field, and nothing is held", async () => {
  const [account, stranger] = [await newAccount(), await newAccount()];
  const [deleted, foreign, mine] = [await store(account, png()), await store(stranger, png()), await store(account, png())];
  await call(`/v1/files/${deleted}`, { key: account.key, method: "DELETE" });
  const lines = await store(account, '{"custom_id":"a"}\n');
  for (const query of ["", "?dry_run=true"]) {
    const answers = [];
    for (const id of ["file_", deleted, foreign]) answers.push(await ask(account, chat(mine, id), query));
    for (const { status, body } of answers) expect([status, body.error]).toEqual([400, answers[0]!.body.error]);
    expect(answers[0]!.body.error).toMatchObject({ code: "invalid_request", param: "messages[0].content[2].image_url.url" });
    expect((await ask(account, chat(lines), query)).body.error.message).toContain("not an image");
  }
  expect((await call("/v1/estimates", { key: account.key, body: { kind: "chat", ...chat(foreign) } })).status).toBe(400);
  for (const { key } of (await env.ASSETS.list({ prefix: `files/${account.id}/` })).objects) await env.ASSETS.delete(key);
  expect((await ask(account, chat(mine))).body.error).toMatchObject({ param: "messages[0].content[1].image_url.url" });
  expect(await readBalance(account)).toMatchObject({ used: 0, reserved: 0 });
});

test("stored images have the limits of inline ones: together with the body no more than the largest body", async () => {
  const account = await newAccount();
  const [five, four] = [await store(account, png(5 * MiB)), await store(account, png(4 * MiB))];
  expect((await ask(account, chat(five), "?dry_run=true")).status).toBe(200);
  // The same file twice is sent twice.
  for (const other of [four, five])
    expect((await ask(account, chat(five, other), "?dry_run=true")).body.error).toMatchObject({
      code: "body_too_large",
      message: "messages: must be at most 10 MiB",
    });
  // Beside an inline image of the same size.
  expect((await ask(account, chat(five, asUrl(png(4 * MiB))))).body.error.code).toBe("body_too_large");
  captureChats();
  const { status, body } = await ask(account, chat(four, asUrl(png(2 * MiB))));
  expect(status, JSON.stringify(body.error)).toBe(200);
  expect((await ask(account, chat(await store(account, png(8 * MiB))))).body.error).toMatchObject({
    code: "invalid_request",
    param: "messages[0].content[1].image_url.url",
  });
});

test("an estimate and a line of a batch count the body beside its stored images too", async () => {
  const account = await newAccount();
  const { model, messages } = chat(await store(account, png(7 * MiB)));
  const body = { model, messages: [...messages, { role: "user", content: "x".repeat(0.9 * MiB) }] };
  for (const to of [path, "/v1/estimates"])
    expect((await call(to, { key: account.key, body })).body.error).toMatchObject({ code: "body_too_large", param: "messages" });
  const id = await begin(account, { requests: [{ custom_id: "long", endpoint: path, body }] });
  await run(account, id);
  expect(await readResults(account, id)).toMatchObject([{ status: "failed", error: { code: "body_too_large", param: "messages" } }]);
});

test("large chats that name files do not wait for each other: one gives its memory back", async () => {
  const accounts = [await newAccount(), await newAccount()];
  const inline = asUrl(png(5.2 * MiB));
  const bodies: ReturnType<typeof chat>[] = [];
  for (const account of accounts) bodies.push(chat(await store(account, png(2.1 * MiB)), inline));
  // Both bodies are in the memory of chats before one of their files is found: there is no room for the files of either.
  const statement = bindings.statement();
  const { run } = statement;
  let found = 0;
  vi.spyOn(statement, "run").mockImplementation(async function (this: unknown, ...values) {
    if ((this as { statement: string }).statement.includes("FROM file")) {
      found++;
      for (let turn = 0; found < accounts.length && turn < 20_000; turn++) await scheduler.wait(1);
    }
    return run!.apply(this, values);
  });
  const chats = captureChats();
  const answers = await Promise.all(accounts.map((account, at) => ask(account, bodies[at]!)));
  expect(answers.map(({ status, body }) => [status, body.error?.code])).toEqual(accounts.map(() => [200, undefined]));
  expect(found).toBeGreaterThan(accounts.length);
  expect(chats).toHaveLength(accounts.length);
  for (const one of chats) {
    const { content } = sent(one)[0]!;
    expect(content[1]!.image_url!.url.length).toBe(asUrl(png(2.1 * MiB)).length);
    expect(content[2]).toEqual(picture(inline, { detail: "low" }));
  }
});

test("a line of a batch names files too", async () => {
  const account = await newAccount();
  const bytes = png();
  const file = await store(account, bytes);
  const line = (id: string, url: string) => ({ custom_id: id, endpoint: path, body: chat(url) });
  const id = await begin(account, { requests: [line("stored", file), line("unknown", "file_x")] });
  await run(account, id);
  const [stored, unknown] = (await readResults(account, id)) as unknown as [
    { response: { choices: { message: { content: string } }[] } },
    { error: { param: string } },
  ];
  expect(sent(stored.response.choices[0]!.message.content)[0]!.content[1]).toEqual(picture(asUrl(bytes), { detail: "low" }));
  expect(unknown.error.param).toBe("messages[0].content[1].image_url.url");
});

test("OpenAI's paths take a file by its id where OpenAI's do", async () => {
  const account = await newAccount();
  const bytes = png();
  const file = await store(account, bytes);
  const input = [
    { role: "user", content: [{ type: "input_image", file_id: file, detail: "low" }] },
    { role: "user", content: "echo-request" },
  ];
  const openai = (to: string, body: object) => call(`/openai/v1/${to}`, { key: account.key, body });
  const response = await openai("responses", { model: "gpt-5", input });
  expect(sent(response.body.output[0].content[0].text)[0]!.content).toEqual([picture(asUrl(bytes), { detail: "low" })]);
  const edit = (images: object) => openai("images/edits?dry_run=true", { model: "gpt-image-1", prompt: "p", images });
  expect((await edit([{ file_id: file }])).status).toBe(200);
  expect((await edit([{ file_id: "file_x" }])).body.error).toMatchObject({ param: "images[0]" });
  const video = (id: string) => openai("videos?dry_run=true", { model: "sora-2", prompt: "p", input_reference: { file_id: id } });
  expect((await video(file)).status).toBe(200);
  expect((await video("file_x")).body.error).toMatchObject({ param: "input_reference" });
});
