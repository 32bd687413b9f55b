/** openai-node, unchanged, of 2026 and of December 2025, against the gateway. */

import { setTimeout as sleep } from "node:timers/promises";
import Now, { NotFoundError, toFile } from "openai";
import Before from "openai-2025";
import { expect, test } from "vitest";
import { newAccount } from "./account.ts";

const versions = [
  ["of 2026", Now],
  // The used parts have the same types in both versions.
  ["of 2025", Before as unknown as typeof Now],
] as const;
const weather: Now.Responses.FunctionTool = {
  type: "function",
  name: "get_weather",
  strict: true,
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false },
};

/** The final video, awaited like scripts do. */
async function poll(client: Now, id: string): Promise<Now.Video> {
  for (;;) {
    const video = await client.videos.retrieve(id);
    if (video.status === "completed" || video.status === "failed") return video;
    await sleep(500);
  }
}

// Videos of the sandbox take seconds, in which the next test can begin.
test.concurrent.each(versions)("%s: a video is made, downloaded, remixed, listed and deleted", async (_, OpenAI) => {
  const account = await newAccount();
  const client = new OpenAI(account);
  const { id } = await client.videos.create({ model: "sora-2", prompt: "A hare on a hill", seconds: "4", size: "1280x720" });
  const video = await poll(client, id);
  expect(video).toMatchObject({ id, status: "completed", model: "sora-2", seconds: "4", size: "1280x720" });
  const file = new Uint8Array(await (await client.videos.downloadContent(id)).arrayBuffer());
  expect(new TextDecoder().decode(file.subarray(4, 8))).toBe("ftyp");
  const still = await client.videos.downloadContent(id, { variant: "thumbnail" });
  expect(still.headers.get("content-type")).toMatch(/^image\//);
  const remix = await client.videos.remix(id, { prompt: "The same in the rain" });
  expect(remix).toMatchObject({ remixed_from_video_id: id, seconds: "4", model: "sora-2" });
  expect((await poll(client, remix.id)).status).toBe("completed");
  const listed: string[] = [];
  for await (const one of client.videos.list({ limit: 1 })) listed.push(one.id);
  expect(listed).toEqual([remix.id, id]);
  expect(await client.videos.delete(id)).toEqual({ id, object: "video.deleted", deleted: true });
  await expect(client.videos.retrieve(id)).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  expect(await account.used()).toBe(0.8);
});

test.concurrent.each(versions)("%s: images as URLs and as bytes, edits of files, a video from a file", async (_, OpenAI) => {
  const account = await newAccount();
  const client = new OpenAI(account);
  const { data: urls } = await client.images.generate({ model: "dall-e-3", prompt: "A hare", size: "1024x1792" });
  expect((await fetch(urls![0]!.url!)).headers.get("content-type")).toBe("image/png");
  const { data: files, usage } = await client.images.generate({ model: "gpt-image-1", prompt: "A hare", n: 2 });
  const [png, other] = files!.map((one) => Buffer.from(one.b64_json!, "base64"));
  expect([png!.subarray(1, 4).toString(), other!.subarray(1, 4).toString(), usage?.total_tokens]).toEqual(["PNG", "PNG", 0]);
  const file = () => OpenAI.toFile(png!, "hare.png", { type: "image/png" });
  const edited = await client.images.edit({ model: "gpt-image-1", prompt: "Two hares", image: [await file(), await file()] });
  expect(edited.data).toHaveLength(1);
  const one = await client.images.edit({ model: "dall-e-3", prompt: "A hare", image: await file(), response_format: "url" });
  expect(one.data![0]!.url).toContain("/assets/");
  const { id } = await client.videos.create({ model: "sora-2", prompt: "The hare runs", input_reference: await file() });
  expect((await poll(client, id)).status).toBe("completed");
  expect(await account.used()).toBe(0.6);
});

test.concurrent("of 2026: a character is created from a video of the gateway, and used in another one", async () => {
  const account = await newAccount();
  const client = new Now(account);
  const source = await poll(client, (await client.videos.create({ model: "sora-2", prompt: "A hare on a hill", seconds: "4" })).id);
  const video = await toFile(await client.videos.downloadContent(source.id), "hare.mp4", { type: "video/mp4" });
  const character = await client.videos.createCharacter({ name: "Harold the hare", video });
  expect(character).toEqual({ id: expect.stringMatching(/^ch_/), created_at: expect.any(Number), name: "Harold the hare" });
  expect(await client.videos.getCharacter(character.id!)).toEqual(character);
  // The client sends fields that its types do not have, in its own format.
  const fields = { model: "sora-2", prompt: "Harold the hare runs", seconds: "4" as const, characters: [{ id: character.id }] };
  const { id, prompt } = await client.videos.create(fields);
  expect(prompt).toMatch(/^@[\w.]+ runs$/);
  expect((await poll(client, id)).status).toBe("completed");
  expect(await account.used()).toBe(0.85);
  await expect(client.videos.getCharacter("ch_unknown")).rejects.toBeInstanceOf(NotFoundError);
  const broken = client.videos.createCharacter({ name: "Harold", video: await toFile(Buffer.from("no video"), "hare.mp4") });
  await expect(broken).rejects.toMatchObject({ status: 400, param: "video" });
});

test.each(versions)("%s: a batch of images: its file, its results, its list, and another one that is cancelled", async (_, OpenAI) => {
  const account = await newAccount();
  const client = new OpenAI(account);
  const url = "/v1/images/generations";
  const lines = ["A hare", "A fox"].map((prompt, at) => ({
    custom_id: `line-${at}`,
    method: "POST",
    url,
    body: { model: "dall-e-3", prompt },
  }));
  const text = lines.map((line) => JSON.stringify(line)).join("\n");
  const file = await client.files.create({ file: await OpenAI.toFile(Buffer.from(text), "in.jsonl"), purpose: "batch" });
  expect(file).toMatchObject({ object: "file", filename: "in.jsonl", purpose: "batch" });
  const input = { input_file_id: file.id, endpoint: url, completion_window: "24h", metadata: { season: "spring" } } as const;
  const begun = await client.batches.create(input);
  let batch = begun;
  while (batch.completed_at === null || batch.completed_at === undefined) {
    await sleep(500);
    batch = await client.batches.retrieve(begun.id);
  }
  expect(batch).toMatchObject({
    status: "completed",
    request_counts: { total: 2, completed: 2, failed: 0 },
    metadata: { season: "spring" },
  });
  const output = await (await client.files.content(batch.output_file_id!)).text();
  expect((await client.files.retrieve(batch.output_file_id!)).bytes).toBe(Buffer.byteLength(output));
  const results = output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(results.map(({ custom_id: id, response }) => [id, response.status_code])).toEqual([
    ["line-0", 200],
    ["line-1", 200],
  ]);
  expect((await fetch(results[0].response.body.data[0].url)).headers.get("content-type")).toBe("image/png");
  const other = await client.batches.create(input);
  expect(await client.batches.cancel(other.id)).toMatchObject({ id: other.id, object: "batch", cancelling_at: expect.any(Number) });
  const listed: string[] = [];
  for await (const one of client.batches.list({ limit: 1 })) listed.push(one.id);
  expect(listed).toEqual([other.id, begun.id]);
  const files: string[] = [];
  for await (const one of client.files.list()) files.push(one.id);
  expect(files).toContain(file.id);
  expect(await client.files.delete(file.id)).toMatchObject({ id: file.id, deleted: true });
  await expect(client.files.retrieve(file.id)).rejects.toBeInstanceOf(OpenAI.NotFoundError);
});

test.each(versions)("%s: a client that times out and retries is charged once", async (_, OpenAI) => {
  const account = await newAccount();
  const client = new OpenAI({ ...account, timeout: 1_000, maxRetries: 8 });
  const { data } = await client.images.generate({ model: "dall-e-3", prompt: "A hare that takes its time" });
  expect(data).toHaveLength(1);
  await expect.poll(() => account.used()).toBe(0.04);
  // With an explicit idempotency key, as two processes would send it.
  const options = { headers: { "Idempotency-Key": "order-1" }, timeout: 30_000 };
  const [a, b] = await Promise.all([1, 2].map(() => client.images.generate({ model: "dall-e-3", prompt: "Two orders" }, options)));
  expect(a!.data![0]!.url!.split("?")[0]).toBe(b!.data![0]!.url!.split("?")[0]);
  expect(await account.used()).toBe(0.08);
});

test.each(versions)("%s: responses with tools, whole and streamed, and chat", async (_, OpenAI) => {
  const client = new OpenAI(await newAccount());
  const plain = await client.responses.create({ model: "gpt-5", instructions: "Be brief.", input: "Good morning" });
  expect(plain.output_text).toContain("Good morning");
  expect([plain.status, plain.model, plain.usage!.total_tokens > 0]).toEqual(["completed", "gpt-5", true]);

  const question = { role: "user" as const, content: "What does get_weather say?" };
  const stream = client.responses.stream({ model: "gpt-5", input: [question], tools: [weather] });
  const types: string[] = [];
  for await (const event of stream) types.push(event.type);
  expect([...new Set(types)]).toEqual([
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.output_item.done",
    "response.completed",
  ]);
  const [call] = (await stream.finalResponse()).output;
  if (call?.type !== "function_call") throw new Error("no call");
  expect([call.name, JSON.parse(call.arguments)]).toEqual(["get_weather", { city: expect.any(String) }]);
  const result = { type: "function_call_output" as const, call_id: call.call_id, output: "sunny" };
  const answered = client.responses.stream({ model: "gpt-5", input: [question, call, result], tools: [weather] });
  let text = "";
  for await (const event of answered) if (event.type === "response.output_text.delta") text += event.delta;
  expect(text).toContain("sunny");
  expect((await answered.finalResponse()).output).toMatchObject([{ type: "message", content: [{ type: "output_text", text }] }]);

  const next = await client.responses.create({ model: "gpt-5", input: "And then?", previous_response_id: plain.id });
  expect([next.previous_response_id, next.output_text]).toEqual([plain.id, expect.stringContaining("And then?")]);
  expect((await client.responses.retrieve(plain.id)).output_text).toBe(plain.output_text);
  await client.responses.delete(plain.id);
  await expect(client.responses.retrieve(plain.id)).rejects.toBeInstanceOf(OpenAI.NotFoundError);

  const chat = await client.chat.completions.create({ model: "gpt-4o-mini", messages: [{ role: "user", content: "Hello" }] });
  expect([chat.model, chat.choices[0]!.message.content]).toEqual(["gpt-4o-mini", expect.stringContaining("Hello")]);
});

test.each(versions)("%s: errors are the client's own classes, and errors that a retry cannot fix are not retried", async (_, OpenAI) => {
  const poor = new OpenAI(await newAccount(0));
  const empty = await poor.images.generate({ model: "dall-e-3", prompt: "x" }).catch((error: unknown) => error);
  expect(empty).toBeInstanceOf(OpenAI.RateLimitError);
  expect(empty).toMatchObject({ status: 429, code: "insufficient_quota", type: "insufficient_quota" });
  const stranger = new OpenAI({ ...(await newAccount()), apiKey: "sk-nobody" });
  await expect(stranger.models.list()).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
  const client = new OpenAI(await newAccount());
  const refused = client.responses.create({ model: "gpt-5", input: "x", tools: [{ type: "web_search" }] });
  await expect(refused).rejects.toMatchObject({ status: 400, param: "tools[0].type" });
  await expect(client.videos.create({ prompt: "sandbox:reject" })).rejects.toMatchObject({ status: 400, code: "content_policy_violation" });
});
