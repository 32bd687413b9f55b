/** The arguments and results of the tools of /mcp, with the official SDK's client, in both revisions of the protocol. */

import { exports } from "cloudflare:workers";
import { expect, test } from "vitest";
import agentsGuide from "../../src/console/site/docs/agents.md?raw";
import { ApiClient } from "../../src/facades/client.ts";
import { toRefusal } from "../../src/facades/mcp/errors.ts";
import { inlineImage } from "../../src/facades/mcp/results.ts";
import { type Account, asAdmin, readBalance, call, finish, holdTime, newAccount, unique, upstreamCalls } from "../support/gateway.ts";
import { address, callTool, connect, type Era } from "./client.ts";

holdTime();

/** Calls a tool that submits, runs the task, and returns its result in the format of `get_task`. */
async function make(account: Account, era: Era, tool: string, args: Record<string, unknown>) {
  const client = await connect(account.key, era);
  const submitted = await callTool(client, tool, { wait: 0, ...args });
  expect(submitted.text).toContain("Call wait_for_task");
  expect(submitted.record).toMatchObject({ status: "queued", progress: 0, task_id: expect.stringMatching(/^task_/) });
  await finish(account, submitted.record.task_id);
  return callTool(client, "get_task", { task_id: submitted.record.task_id });
}

test.each<Era>(["legacy", "modern"])("the tools have the catalog's schemas and annotations about their effects (%s)", async (era) => {
  const { key } = await newAccount();
  const { tools } = await (await connect(key, era)).listTools();
  const names = tools.map(({ name }) => name);
  expect(names).toEqual(
    "list_models estimate generate_image generate_video generate remix_video create_character get_task wait_for_task cancel_task list_tasks balance".split(
      " ",
    ),
  );
  const rows = [...agentsGuide.matchAll(/^\| (`.*?) +\|/gm)].flatMap(([, cell = ""]) => cell.match(/\w+/g) ?? []);
  expect(rows.sort()).toEqual(names.sort());
  const [image, video, remix, character, wait, cancel] = [
    "generate_image",
    "generate_video",
    "remix_video",
    "create_character",
    "wait_for_task",
    "cancel_task",
  ].map((one) => tools.find(({ name }) => name === one)!);
  expect(image!.inputSchema).toMatchObject({
    type: "object",
    required: ["model", "prompt"],
    properties: {
      model: { enum: ["imgA-4", "imgB-4o-image", "imgC-3-pro-image-preview", "imgC-alias-pro"] },
      prompt: { type: "string", maxLength: 1000 },
      n: { type: "integer", minimum: 1, maximum: 4, default: 1 },
      max_cost: { type: "number", minimum: 0 },
      variation: { type: "integer" },
      wait: { maximum: 50 },
    },
  });
  expect(video!.inputSchema.properties!["duration"]).toEqual({
    anyOf: [
      { description: "vidA-2", default: 10, type: "number", enum: [10, 15] },
      { description: "vidA-2-pro", default: 10, type: "number", enum: [10, 15, 25] },
      { description: "vidB-3.1-fast, vidB-3.1-quality", default: 8, type: "number", const: 8 },
      { description: "vidC-1-0-pro-fast, vidC-1-0-pro-quality", default: 5, type: "integer", minimum: 2, maximum: 12 },
      { description: "vidD-02", default: 5, type: "number", enum: [5, 10] },
    ],
  });
  expect(remix!.inputSchema.required).toEqual(["task_id", "model", "prompt"]);
  expect(character!.inputSchema).toMatchObject({ required: ["model", "timestamps"], properties: { from_task: {}, url: {} } });
  for (const tool of [image, video, remix, character])
    expect(tool).toMatchObject({
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true },
      inputSchema: { additionalProperties: false },
      // A dry run's result has the price instead of a task.
      outputSchema: { required: ["model", "metadata"], properties: { task_id: {}, status: {}, cost: {}, price: {} } },
    });
  expect(wait!.annotations).toMatchObject({ readOnlyHint: true });
  expect(cancel!.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true });
});

test.each<Era>(["legacy", "modern"])("images are returned as links, and small ones also as data (%s)", async (era) => {
  const account = await newAccount(1);
  const made = await make(account, era, "generate_image", { model: "imgC-alias-pro", prompt: unique(), n: 2, reference: "order-7" });
  expect(made.isError).toBeFalsy();
  const urls: string[] = made.record.result.images.flatMap(({ url }: { url: string[] }) => url);
  expect(made.content.filter(({ type }) => type === "resource_link")).toEqual(
    urls.map((uri, at) => ({ type: "resource_link", uri, name: `image-${at + 1}`, mimeType: "image/png" })),
  );
  const file = await call(urls[0]!);
  expect(made.content.find(({ type }) => type === "image")).toEqual({
    type: "image",
    data: new Uint8Array(file.body).toBase64(),
    mimeType: "image/png",
  });
  expect(made.record).toMatchObject({
    status: "completed",
    model: "imgC-3-pro-image-preview",
    reference: "order-7",
    cost: { charged: 0.24 },
  });
  expect(made.text).toContain("0.24 was charged");
  expect(JSON.parse(made.content.flatMap((part) => (part.type === "text" ? part.text : []))[1]!)).toEqual(made.record);
});

test("a stored file stands wherever a tool takes the URL of an image or a video; a stranger's is named in the error", async () => {
  const account = await newAccount(20);
  const upload = async (body: Uint8Array) => (await call("/v1/files", { key: account.key, method: "POST", body })).body.id as string;
  const made = await make(account, "modern", "generate_image", { model: "imgA-4", prompt: unique() });
  const image = await upload((await call(made.record.result.images[0].url[0])).body);
  const film = await make(account, "modern", "generate_video", { model: "vidA-2", prompt: unique() });
  const video = await upload((await call(film.record.result.videos[0].url[0])).body);
  const uses: [string, Record<string, unknown>][] = [
    ["generate_image", { model: "imgA-4", prompt: unique(), images: [image] }],
    ["generate_video", { model: "vidC-1-0-pro-fast", prompt: unique(), image_with_roles: [{ url: image, role: "last_frame" }] }],
    ["generate_video", { model: "vidD-02", prompt: unique(), metadata: { first_frame_image: image } }],
    ["create_character", { model: "vidA-2", url: video, timestamps: "0,2" }],
  ];
  for (const [tool, args] of uses) expect((await make(account, "modern", tool, args)).record, tool).toMatchObject({ status: "completed" });
  const stranger = await connect((await newAccount()).key, "modern");
  for (const [tool, args] of uses) {
    const refused = await callTool(stranger, tool, args);
    expect(refused.isError, tool).toBe(true);
    expect(refused.text).toMatch(/images\[0\]|image_with_roles\[0\]\.url|metadata\.first_frame_image|url/);
  }
});

test("a video, its remix, and a character from it", async () => {
  const account = await newAccount(20);
  const video = await make(account, "legacy", "generate_video", { model: "vidA-2", prompt: unique(), metadata: { thumbnail: true } });
  const [link, thumbnail] = video.content.filter(({ type }) => type === "resource_link");
  expect(link).toMatchObject({ name: "video", mimeType: "video/mp4", uri: video.record.result.videos[0].url[0] });
  expect(thumbnail).toMatchObject({ name: "thumbnail", uri: video.record.result.videos[0].thumbnail });
  const { task_id } = video.record;
  const remix = await make(account, "legacy", "remix_video", { task_id, model: "vidA-2", prompt: "at night" });
  expect(remix.record).toMatchObject({ status: "completed", metadata: { kind: "remix", source_task: task_id, prompt: "at night" } });
  const character = await make(account, "legacy", "create_character", { model: "vidA-2", from_task: task_id, timestamps: "0,2" });
  expect(character.text).toContain("Write @amber.fox in a video's prompt");
  expect(await readBalance(account)).toMatchObject({ used: 2.05, reserved: 0 });
});

test("estimate` returns each kind's price, or the error, and submits nothing", async () => {
  const account = await newAccount(20);
  const video = await make(account, "legacy", "generate_video", { model: "vidA-2", prompt: unique() });
  const before = await readBalance(account);
  const client = await connect(account.key);
  const estimate = async (args: object) => (await callTool(client, "estimate", { ...args })).record;
  const prompt = unique();
  expect(await estimate({ kind: "image", model: "imgA-4", prompt, n: 3 })).toMatchObject({
    price: 0.09,
    kind: "image",
    remaining_after: 18.91,
  });
  expect(await estimate({ kind: "video", model: "vidB-3.1-fast", prompt })).toMatchObject({ price: 1.2, kind: "video" });
  expect(await estimate({ kind: "remix", model: "vidA-2", prompt, task_id: video.record.task_id })).toMatchObject({
    price: 1,
    kind: "remix",
  });
  expect(await estimate({ kind: "character", model: "vidA-2", from_task: video.record.task_id, timestamps: "0,1" })).toMatchObject({
    price: 0.05,
  });
  expect(await estimate({ kind: "chat", model: "textA-1", messages: [{ role: "user", content: "Hello" }] })).toMatchObject({
    kind: "chat",
  });
  const other = await callTool(client, "estimate", { kind: "video", model: "vidA-2", from_task: video.record.task_id, timestamps: "0,1" });
  expect(other).toMatchObject({ isError: true, text: expect.stringContaining("from_task, timestamps are not arguments of estimate") });
  expect(await callTool(client, "estimate", { kind: "song", model: "imgA-4" })).toMatchObject({
    isError: true,
    text: expect.stringContaining("image, video"),
  });
  expect(await readBalance(account)).toEqual(before);
});

test.each<Era>(["legacy", "modern"])("dry_run returns the price and makes nothing (%s)", async (era) => {
  const account = await newAccount(1);
  const client = await connect(account.key, era);
  await client.listTools(); // from now on the client checks results against the tool's schema
  const args = { model: "imgA-4", prompt: unique(), n: 2 };
  const dry = await callTool(client, "generate_image", { ...args, dry_run: true });
  expect(dry.record).toMatchObject({ object: "generation.dry_run", price: 0.06, remaining_after: 0.94 });
  expect(dry.text).toContain("Nothing was submitted or charged.");
  expect(await callTool(client, "generate_image", { ...args, dry_run: "true" })).toMatchObject({
    isError: true,
    text: "invalid_request: dry_run must be true or false",
  });
  for (const variation of ["2", 2.5, true])
    expect(await callTool(client, "generate_image", { ...args, variation })).toMatchObject({
      isError: true,
      text: "invalid_request: variation must be a whole number",
    });
  expect(await readBalance(account)).toMatchObject({ used: 0, reserved: 0 });
  expect(await upstreamCalls(args.prompt)).toEqual([]);
  // It is no part of the arguments that identify a call.
  const made = await callTool(client, "generate_image", { ...args, wait: 0, dry_run: false });
  const again = await callTool(client, "generate_image", { ...args, wait: 0 });
  expect(again.record.task_id).toBe(made.record.task_id);
});

test.each([
  [
    "generate_image",
    { model: "imgA-4", prompt: "a", dryRun: true },
    "dryRun is not an argument of generate_image, which takes model, prompt,",
  ],
  [
    "create_character",
    { model: "vidA-2", prompt: "a" },
    "prompt is not an argument of create_character, which takes model, url, from_task,",
  ],
  ["get_task", { task_id: "task_x", wait: 5 }, "wait is not an argument of get_task, which takes task_id"],
  ["balance", { unit: "USD", of: "key" }, "unit, of are not arguments of balance, which takes none"],
  ["list_tasks", { state: "failed" }, "state is not an argument of list_tasks, which takes limit, after, status,"],
  [
    "estimate",
    { kind: "image", model: "imgA-4", prompt: "a", seconds: 4 },
    "seconds is not an argument of estimate, which takes kind, model,",
  ],
])("%s refuses unknown arguments and names them", async (tool, args, reason) => {
  const account = await newAccount();
  const result = await callTool(await connect(account.key), tool, args);
  expect(result).toMatchObject({ isError: true, text: expect.stringContaining(`invalid_request: ${reason}`) });
  expect(await readBalance(account)).toMatchObject({ used: 0, reserved: 0 });
});

test("models are found by kind and by alias", async () => {
  const client = await connect((await newAccount()).key);
  const ids = async (args: object) => (await callTool(client, "list_models", { ...args })).record.data.map(({ id }: { id: string }) => id);
  expect(await ids({ kind: "chat" })).toEqual(["textA-1", "textA-1-mini"]);
  expect(await ids({ model: "imgC-alias-pro" })).toEqual(["imgC-3-pro-image-preview"]);
  expect((await ids({})).length).toBe(12);
  expect(await ids({ kind: null, model: null })).toHaveLength(12);
  for (const [args, allowed] of [
    [{ model: "imgZ" }, "imgA-4"],
    [{ kind: "song" }, "kind must be one of chat, image, video"],
  ] as const)
    expect(await callTool(client, "list_models", args)).toMatchObject({ isError: true, text: expect.stringContaining(allowed) });
});

test("tasks are listed, paged, filtered, and cancelled", async () => {
  const account = await newAccount(1);
  const client = await connect(account.key);
  const submit = async (reference: string) => {
    const { record } = await callTool(client, "generate_image", { model: "imgA-4", prompt: unique(), reference, wait: 0 });
    return record.task_id as string;
  };
  const [first, second] = [await submit("a"), await submit("b")];
  const ids = async (args: object) =>
    (await callTool(client, "list_tasks", { ...args })).record.data.map((task: { task_id: string }) => task.task_id);
  expect((await ids({})).sort()).toEqual([first, second].sort());
  expect(await ids({ reference: "b" })).toEqual([second]);
  const page = await callTool(client, "list_tasks", { limit: 1 });
  expect(page.record.has_more).toBe(true);
  expect(await ids({ limit: 1, after: page.record.data[0].task_id })).toHaveLength(1);
  expect((await callTool(client, "list_tasks", { limit: 0 })).text).toContain("limit");

  expect(await callTool(client, "cancel_task", { task_id: first })).toMatchObject({
    text: expect.stringContaining("The task is cancelled; 0 was charged."),
    record: { status: "failed", error: { code: "cancelled" } },
  });
  expect(await callTool(client, "cancel_task", { task_id: first })).toMatchObject({
    isError: true,
    text: expect.stringContaining("task_already_final"),
  });
  expect(await ids({ status: "failed" })).toEqual([first]);
});

test("the balance tool returns the balances of key and account", async () => {
  const account = await newAccount(5, 0.5);
  const client = await connect(account.key);
  await callTool(client, "generate_image", { model: "imgA-4", prompt: unique(), wait: 0 });
  expect((await callTool(client, "balance")).record).toEqual({
    success: true,
    remain_balance: 0.47,
    used_balance: 0,
    unlimited_quota: false,
    account: { success: true, remain_balance: 4.97, used_balance: 0, unlimited_quota: false },
    key: expect.objectContaining({ id: account.keyId, budget: null, models: null, kinds: null, open_tasks: 1 }),
  });
  await asAdmin(`/keys/${account.keyId}`, { method: "PATCH", body: { budget: { amount: 0.2, window: "day" }, kinds: ["image"] } });
  const narrowed = await callTool(client, "balance");
  expect(narrowed.text).toContain("The key has 0.47 left, 0.17 of its budget of this day, the account 4.97 left.");
  expect(narrowed.record.key).toMatchObject({ budget: { remaining: 0.17 }, kinds: ["image"] });
});

test("errors name each field, its allowed values, and the next step", async () => {
  const account = await newAccount(0.1);
  const client = await connect(account.key);
  const error = async (tool: string, args: Record<string, unknown>) => {
    const result = await callTool(client, tool, args);
    expect(result).toMatchObject({ isError: true, record: undefined });
    return result.text;
  };
  const wrong = await error("generate_image", { model: "imgA-4", prompt: " ", n: 9, size: "5:4" });
  expect(wrong).toContain("invalid_request: ");
  expect(wrong).toContain("- prompt: must not be empty");
  expect(wrong).toContain("- n: must be at most 4");
  expect(wrong).toMatch(/- size: must be one of .*\(allowed: \["1:1","16:9",/);
  expect(await error("generate_image", { model: "vidA-2", prompt: "a" })).toMatch(/- model: .*list_models/s);
  const tooDear = await error("generate_image", { model: "imgA-4", prompt: "a", n: 2, max_cost: 0.05 });
  expect(tooDear).toMatch(/cost_limit_exceeded: .*max_cost.*0\.06.*Raise max_cost/s);
  expect(await error("generate_image", { model: "imgA-4", prompt: "a", n: 4 })).toMatch(/insufficient_quota: .*estimate/s);
  expect(await error("get_task", { task_id: "task_unknown" })).toMatch(/task_not_found: .*list_tasks/s);
  expect(await error("get_task", {})).toContain("task_id is required");
  expect(await error("wait_for_task", { task_id: "task_unknown", wait: 51 })).toContain(
    "wait must be a whole number of seconds from 0 to 50",
  );
  // Half of a surrogate pair is in no URL, and a dot is another path.
  for (const task_id of [".", "..", "\ud800"])
    for (const tool of ["get_task", "cancel_task"]) expect(await error(tool, { task_id })).toContain("task_not_found");
  expect(await error("remix_video", { task_id: "task_unknown", model: "vidA-2", prompt: "a" })).toContain("- task_id: ");
  await expect(client.callTool({ name: "generate_song", arguments: {} })).rejects.toThrow(
    "Unknown tool: generate_song. There are list_models,",
  );
  expect(await readBalance(account)).toMatchObject({ used: 0, reserved: 0 });
});

test.each([
  ["create_character", { model: "vidA-2", timestamps: "0,1" }, "from_task or url is required"],
  ["create_character", { model: "vidB-3.1-fast", from_task: "task_x", timestamps: "0,1" }, "model must be one of vidA-2, vidA-2-pro"],
  [
    "generate_video",
    { model: "vidA-2", prompt: "a", url: "https://videos.example/a.mp4", timestamps: "0,1" },
    "url, timestamps are not arguments of generate_video, which takes model, prompt, duration, size, images, image_with_roles, metadata, " +
      "max_cost, reference, variation, store, dry_run, wait",
  ],
])("%s creates no other kind: %j", async (tool, args, reason) => {
  const account = await newAccount();
  const result = await callTool(await connect(account.key), tool, { ...args, wait: 0 });
  expect(result).toMatchObject({ isError: true, text: `invalid_request: ${reason}` });
  expect(await readBalance(account)).toMatchObject({ used: 0, reserved: 0 });
});

test("an image is returned as data only below the size limit", async () => {
  const account = await newAccount();
  const made = await make(account, "legacy", "generate_image", { model: "imgA-4", prompt: unique() });
  const url: string = made.record.result.images[0].url[0];
  const { byteLength } = (await call(url)).body as ArrayBuffer;
  const client = new ApiClient({ fetch: (request) => exports.default.fetch(request) }, new Request(address), toRefusal);
  expect(await inlineImage(client, url, byteLength)).toBeUndefined();
  const image = await inlineImage(client, url, byteLength + 1);
  expect([image?.mimeType, Uint8Array.fromBase64(image?.data ?? "").byteLength]).toEqual(["image/png", byteLength]);
  // Files with another base URL are still read from the gateway.
  const moved = url.replace("https://gateway.example", "https://files.example/made");
  expect(await inlineImage(client, moved, byteLength + 1)).toMatchObject({ mimeType: "image/png" });
  expect(await inlineImage(client, url.replace("signature=", "signature=x"), byteLength + 1)).toBeUndefined();
});
