/** Characters from uploaded videos on OpenAI's paths: created and charged once, retrieved, and used in videos. Contract, section 12. */

import { env } from "cloudflare:workers";
import { afterEach, expect, test } from "vitest";
import { change, set, videoHead } from "../media/videos.ts";
import { type Account, readBalance, call, finish, holdTime, newAccount, script, shortenPauses } from "../support/gateway.ts";
import { form, nextTask, png, taskIds, v1, whileMade } from "./support.ts";

holdTime();
shortenPauses();

/** No video stays stored after its task has ended, nor the video of a refused submission. */
const uploads = async () => (await env.ASSETS.list({ prefix: "inputs/" })).objects.filter(({ key }) => key.endsWith("/video"));
afterEach(async () => {
  expect(await uploads()).toEqual([]);
});

const videos = `${v1}/videos`;
const characters = `${videos}/characters`;
const price = 0.05;

/** The head of a video of this length, different from all others. */
function clip(seconds: number, bytes = 60): Blob {
  const length = set(16, Math.round(seconds * 1000));
  const head = change(videoHead, { "moov/mvhd": length });
  const rest = new Uint8Array(bytes);
  crypto.getRandomValues(rest.subarray(8, 60));
  new DataView(rest.buffer).setUint32(0, bytes);
  rest.set(new TextEncoder().encode("mdat"), 4);
  return new Blob([head, rest], { type: "video/mp4" });
}

type Form = Parameters<typeof form>[0];
async function upload(account: Account, fields: Form, headers: Record<string, string> = {}) {
  const sent = await form(fields);
  return call(characters, { key: account.key, body: sent.body, headers: { ...sent.headers, ...headers } });
}

const make = (account: Account, fields: Form, headers?: Record<string, string>) => whileMade(account, upload(account, fields, headers));

const inputs = async (taskId: string) => (await env.ASSETS.list({ prefix: `inputs/${taskId}/` })).objects.map(({ size }) => size);

test("an uploaded video becomes a character with the caller's name, which is charged once and can be retrieved", async () => {
  const account = await newAccount();
  const video = clip(2.5);
  const made = await make(account, { name: "Mossy", video }, { "x-client-request-id": "cast 1" });
  expect([made.status, made.body]).toEqual([200, { id: expect.stringMatching(/^ch_/), created_at: expect.any(Number), name: "Mossy" }]);
  expect((await call(`${characters}/${made.body.id}`, { key: account.key })).body).toEqual(made.body);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: price });

  const [task] = await taskIds(account);
  const shown = await call(`/v1/tasks/${task}`, { key: account.key });
  expect(shown.body.data).toMatchObject({
    status: "completed",
    model: "vidA-2",
    metadata: { kind: "character", timestamps: "0,2.5", name: "Mossy", url: expect.stringMatching(/^sha256:/), reference: "cast 1" },
  });
  const listed = await call("/v1/characters", { key: account.key });
  expect(listed.body.data).toMatchObject([{ id: made.body.id, display_name: "Mossy" }]);
});

test("the video is an input of its task: stored completely until the task has ended; three seconds of a longer one are used", async () => {
  const account = await newAccount();
  const video = clip(8, 2_000_000);
  const asked = upload(account, { name: "Fern", video });
  const task = await nextTask(account);
  expect(await inputs(task)).toEqual([video.size]);
  await finish(account, task);
  expect((await asked).status).toBe(200);
  expect(await inputs(task)).toEqual([]);
  expect((await call(`/v1/tasks/${task}`, { key: account.key })).body.data.metadata.timestamps).toBe("0,3");
});

test("a repeat returns the same character, charged once; another video with the same key is refused", async () => {
  const account = await newAccount();
  const video = clip(1.1);
  const key = { "idempotency-key": "order 7" };
  const first = await make(account, { name: "Moss", video }, key);
  const again = await upload(account, { name: "Moss", video }, key);
  expect([again.status, again.body]).toEqual([200, first.body]);
  const other = await upload(account, { name: "Moss", video: clip(1.1) }, key);
  expect([other.status, other.body.error.type, other.headers.get("x-should-retry")]).toEqual([409, "invalid_request_error", "false"]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: price });

  const byItself = { name: "Fern 👨\u200d👩\u200d👧", video: clip(1.2) };
  const known = await taskIds(account);
  const asked = upload(account, byItself, { "x-stainless-retry-count": "0" });
  await finish(account, await nextTask(account, known));
  const made = await asked;
  expect((await upload(account, byItself, { "x-stainless-retry-count": "1" })).body).toEqual(made.body);
  expect([await taskIds(account), await readBalance(account)]).toMatchObject([{ length: 2 }, { used: 2 * price }]);
});

const cases: [string, string, Form][] = [
  ["without a name", "name", { video: clip(2) }],
  ["with a name of two lines", "name", { name: "Mo\nss", video: clip(2) }],
  ["with a name of 81 characters", "name", { name: "m".repeat(81), video: clip(2) }],
  ["without a video", "video", { name: "Moss" }],
  ["with two videos", "video", { name: "Moss", video: [clip(2), clip(2)] }],
  ["with a picture", "video", { name: "Moss", video: new Blob([png(500)]) }],
  ["with a video that breaks off", "video", { name: "Moss", video: clip(2).slice(0, -5) }],
  ["with less than a second", "video", { name: "Moss", video: clip(0.9) }],
  ["with another file", "image", { name: "Moss", video: clip(2), image: clip(2) }],
  ["of a model without characters", "model", { name: "Moss", video: clip(2), model: "vidB-3.1-fast" }],
  ["dearer than max_cost", "max_cost", { name: "Moss", video: clip(2), max_cost: "0.001" }],
];
test.each(cases)("a form %s is refused, and nothing is stored or reserved", async (_, param, fields) => {
  const account = await newAccount();
  const { status, body } = await upload(account, fields);
  expect([status, body.error.param, body.error.type]).toEqual([expect.toBeOneOf([400, 404]), param, "invalid_request_error"]);
  // A message, not the id of one.
  expect(body.error.message).toMatch(/^\w+: .* /);
  expect([await taskIds(account), await uploads()]).toEqual([[], []]);
});

test("a dry run returns the price and stores nothing", async () => {
  const account = await newAccount();
  const sent = await form({ name: "Moss", video: clip(2) });
  const { status, body } = await call(`${characters}?dry_run=true`, { key: account.key, ...sent });
  expect([status, body]).toMatchObject([200, { object: "generation.dry_run", model: "sora-2", kind: "character", price }]);
  expect([await taskIds(account), await uploads(), (await readBalance(account)).reserved]).toEqual([[], [], 0]);
});

test("other bodies, forms above 16 MB, empty balances and unknown keys get OpenAI's errors", async () => {
  const account = await newAccount();
  const json = await call(characters, { key: account.key, body: { name: "Moss" } });
  expect([json.status, json.body.error.type, json.body.error.message]).toEqual([
    415,
    "invalid_request_error",
    expect.stringContaining("multipart form"),
  ]);
  const large = await upload(account, { name: "Moss", video: clip(2, 17 * 1024 * 1024) });
  expect([large.status, large.body.error.type]).toEqual([413, "invalid_request_error"]);
  const poor = await upload(await newAccount(0), { name: "Moss", video: clip(2) });
  expect([poor.status, poor.body.error.code]).toEqual([429, "insufficient_quota"]);
  const stranger = await upload({ ...account, key: "sk-nobody" }, { name: "Moss", video: clip(2) });
  expect([stranger.status, stranger.body.error.code]).toEqual([401, "invalid_api_key"]);
  expect(await uploads()).toEqual([]);
});

test("a video that the provider cannot use costs nothing, and a repeat submits again", async () => {
  const account = await newAccount();
  const fields = { name: "Moss", video: clip(2.25) };
  await script({ match: "0,2.25", polls: [{ failed: "invalid_input" }] });
  const failed = await make(account, fields);
  expect([failed.status, failed.body.error]).toMatchObject([400, { type: "invalid_request_error", code: "invalid_input", param: "video" }]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  const [first] = await taskIds(account);
  expect(await inputs(first!)).toEqual([]);
  const asked = upload(account, fields, { "x-stainless-retry-count": "1" });
  await finish(account, await nextTask(account, [first!]));
  expect([(await asked).status, (await readBalance(account)).used]).toEqual([200, price]);
});

test("characters of a video replace their names in the prompt, or are added at its end", async () => {
  const account = await newAccount();
  const { id } = (await make(account, { name: "Mossy (the 2nd)", video: clip(2) })).body;
  const { username } = (await call("/v1/characters", { key: account.key })).body.data[0];
  const prompts = [
    ["Mossy (the 2nd) sings. mossy (the 2nd)'s hat falls.", `@${username} sings. @${username}'s hat falls.`],
    ["It rains.", `It rains. @${username}`],
    [`@${username} waits.`, `@${username} waits.`],
  ];
  const known: string[] = await taskIds(account);
  for (const [prompt, expected] of prompts) {
    const { status, body } = await call(videos, { key: account.key, body: { model: "sora-2", prompt, characters: [{ id }] } });
    expect([status, body.prompt]).toEqual([200, expected]);
    known.push(body.id);
  }
  const sent = await form({ model: "sora-2", prompt: "It rains.", "characters[][id]": id, input_reference: new Blob([png(70_000)]) });
  const inForm = await call(videos, { key: account.key, ...sent });
  expect([inForm.status, inForm.body.prompt]).toEqual([200, `It rains. @${username}`]);
  for (const task of [...known.slice(1), inForm.body.id as string]) await finish(account, task);

  for (const [given, param] of [
    [[{ id: "ch_unknown" }], "characters[0].id"],
    [[{ id }, {}], "characters[1]"],
    ["Mossy", "characters"],
    [Array.from({ length: 11 }, () => ({ id })), "characters"],
  ] as const) {
    const refused = await call(videos, { key: account.key, body: { model: "sora-2", prompt: "x", characters: given } });
    expect([refused.status, refused.body.error.param]).toEqual([400, param]);
  }
});

test("a character belongs to its account, and is found among more than a hundred others", async () => {
  const account = await newAccount();
  const { id } = (await make(account, { name: "Eldest", video: clip(2) })).body;
  const other = await newAccount();
  const foreign = await call(`${characters}/${id}`, { key: other.key });
  expect([foreign.status, foreign.body.error]).toMatchObject([404, { type: "invalid_request_error", code: "not_found" }]);
  expect((await call(characters, { key: account.key })).status).toBe(404);
  const row = "INSERT INTO character (id, account_id, username, display_name, model, provider, picture_type, picture_digest, created_at)";
  const later = Array.from({ length: 120 }, (_, at) =>
    env.DB.prepare(`${row} VALUES (?1, ?2, ?1, 'Other', 'vidA-2', 'sandbox', 'image/png', '', ?3)`).bind(
      `ch_${account.id}-${at}`,
      account.id,
      9e12 + at,
    ),
  );
  await env.DB.batch(later);
  expect((await call(`${characters}/${id}`, { key: account.key })).body.name).toBe("Eldest");
});

test("only the OpenAI Worker may send a video as a submission", async () => {
  const account = await newAccount();
  const headers = { "content-type": "video/mp4", "x-submission": encodeURIComponent('{"model":"vidA-2","timestamps":"0,2","bytes":4}') };
  for (const path of ["/v1/videos/generations", videos])
    expect((await call(path, { key: account.key, body: new ArrayBuffer(4), headers })).status).toBe(415);
  const named = await call("/v1/videos/generations", {
    key: account.key,
    body: { model: "vidA-2", url: "https://videos.example/a.mp4", timestamps: "0,2", name: "Moss" },
  });
  expect(named.body.metadata).not.toHaveProperty("name");
});

test("a repeat that arrives while the character is being created waits for the same one", async () => {
  const account = await newAccount();
  const fields = { name: "Moss", video: clip(2) };
  const first = upload(account, fields);
  const task = await nextTask(account);
  const again = upload(account, fields, { "x-stainless-retry-count": "1" });
  await finish(account, task);
  expect((await again).body).toEqual((await first).body);
  expect([await taskIds(account), (await readBalance(account)).used]).toEqual([[task], price]);
});
