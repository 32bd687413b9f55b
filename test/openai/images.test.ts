/** Images on OpenAI's paths: requests wait for the result, are charged once, and have OpenAI's answers. Contract, section 12. */

import { listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { AttemptObject } from "../../src/facades/openai/attempt-object.ts";
import { failOnce, restartAt } from "../support/faults.ts";
import { readBalance, call, finish, holdTime, newAccount, script, unique, shortenPauses } from "../support/gateway.ts";
import { form, nextTask, png, taskIds, v1, whileMade } from "./support.ts";

holdTime();
shortenPauses();

const generations = `${v1}/images/generations`;
const usage = { total_tokens: 0, input_tokens: 0, output_tokens: 0, input_tokens_details: { text_tokens: 0, image_tokens: 0 } };

test("a request waits for the image, and is answered with its URL and the caller's reference", async () => {
  const account = await newAccount();
  const body = { model: "dall-e-3", prompt: unique(), size: "1792x1024", quality: "high" };
  const headers = { "x-client-request-id": "order 7" };
  const answer = await whileMade(account, call(generations, { key: account.key, body, headers }));
  expect([answer.status, answer.body]).toEqual([
    200,
    { created: expect.any(Number), data: [{ url: expect.stringContaining("/assets/task_") }], usage },
  ]);
  const [listed] = (await call("/v1/tasks?reference=order%207", { key: account.key })).body.data;
  expect(listed.metadata).toMatchObject({ size: "16:9", quality: "hd", requested_model: "dall-e-3", reference: "order 7" });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.08 });
});

test("a size is a ratio or its pixels; a refused value says what is allowed", async () => {
  const { key } = await newAccount();
  const dryRun = (more: object) =>
    call(`${generations}?dry_run=true`, {
      key,
      body: { model: "dall-e-3", prompt: "x", output_format: "png", background: "opaque", ...more },
    });
  for (const [size, ratio] of [
    ["16:9", "16:9"],
    ["1792x1024", "16:9"],
    ["2:3", "2:3"],
  ] as const)
    expect((await dryRun({ size })).body.metadata.size).toBe(ratio);
  const refused = async (more: object) => {
    const { status, body } = await dryRun(more);
    return [status, body.error.param, body.error.message];
  };
  expect(await refused({ size: "21:9" })).toEqual([400, "size", expect.stringMatching(/1024x1024, 1:1, .*auto/)]);
  expect(await refused({ output_format: "gif" })).toEqual([400, "output_format", "output_format: must be one of png, jpeg, webp"]);
  expect(await refused({ background: "blue" })).toEqual([400, "background", "background: must be one of auto, opaque, transparent"]);
  expect(await refused({ stream: true })).toEqual([400, "stream", "stream: must be false"]);
});

test("a file format or background is refused at its field if no route has it, and a route that has it is chosen", async () => {
  const account = await newAccount();
  const ROUTES = { "imgB-4o-image": [{ provider: "openai", model: "gpt-image-2" }] };
  const vars = { OPENAI_API_KEY: "key", ROUTES } as unknown as Partial<Env>;
  const images = [{ image_url: `data:image/png;base64,${png(64).toBase64()}` }];
  for (const [path, more] of [
    [generations, {}],
    [`${v1}/images/edits`, { images }],
  ] as const)
    for (const [param, value] of [
      ["output_format", "webp"],
      ["background", "transparent"],
    ] as const) {
      const send = (changed?: Partial<Env>) => {
        const body = { model: "gpt-image-1", prompt: "x", [param]: value, ...more };
        return call(`${path}?dry_run=true`, { key: account.key, body, ...(changed && { vars: changed }) });
      };
      const refused = await send();
      expect([refused.status, refused.body.error.code, refused.body.error.param]).toEqual([400, "unsupported_parameter", param]);
      expect((await send(vars)).body.metadata).toMatchObject({ [param]: value });
    }
  const form_ = await form({ image: new Blob([png(1000)]), prompt: "x", output_format: "webp" });
  expect((await call(`${v1}/images/edits?dry_run=true`, { key: account.key, ...form_ })).body.error.param).toBe("output_format");
});

test("with the names of OpenAI's image models the bytes of each of n images are returned", async () => {
  const account = await newAccount();
  const body = { model: "gpt-image-1", prompt: unique(), n: 2 };
  const answer = await whileMade(account, call(generations, { key: account.key, body }));
  const files = (answer.body.data as { b64_json: string }[]).map((one) => Uint8Array.fromBase64(one.b64_json));
  expect(files.map((bytes) => new TextDecoder().decode(bytes.slice(1, 4)))).toEqual(["PNG", "PNG"]);
  expect(answer.body.usage).toEqual(usage);
});

test("a client that times out and repeats its request gets the same image, and is charged once", async () => {
  const account = await newAccount();
  const body = { model: "dall-e-3", prompt: unique() };
  const first = call(generations, { key: account.key, body, headers: { "x-stainless-retry-count": "0" } });
  const id = await nextTask(account);
  const second = call(generations, { key: account.key, body, headers: { "x-stainless-retry-count": "1" } });
  await finish(account, id);
  expect((await first).body).toEqual((await second).body);
  // The second answer was lost too.
  const third = await call(generations, { key: account.key, body, headers: { "x-stainless-retry-count": "2" } });
  expect(third.body.data).toEqual((await first).body.data);
  expect([await taskIds(account), (await readBalance(account)).used]).toEqual([[id], 0.04]);
});

test("two requests that are not marked as a retry make two images", async () => {
  const account = await newAccount();
  const body = { model: "dall-e-3", prompt: unique() };
  await whileMade(account, call(generations, { key: account.key, body }));
  const known = await taskIds(account);
  const again = call(generations, { key: account.key, body });
  await finish(account, await nextTask(account, known));
  expect((await again).status).toBe(200);
  expect((await readBalance(account)).used).toBe(0.08);
});

/** The states of the attempts of the requests that were sent last. */
async function attemptStates(): Promise<string[]> {
  const { ATTEMPTS } = env as unknown as OpenAiBindings;
  const all = await Promise.all(
    (await listDurableObjectIds(ATTEMPTS)).map((id) =>
      runInDurableObject(ATTEMPTS.get(id), (_, ctx) => ctx.storage.kv.get<{ at: number; state: string }[]>("attempts") ?? []),
    ),
  );
  const [newest = []] = all.sort((one, other) => (other[0]?.at ?? 0) - (one[0]?.at ?? 0));
  return newest.map(({ state }) => state);
}

test("a repeat that is not marked as one, after the connection is gone, gets the same image and is charged once", async () => {
  const account = await newAccount();
  const body = { model: "dall-e-3", prompt: unique() };
  const caller = new AbortController();
  const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
  const request = new Request(`https://gateway.example${generations}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
    signal: caller.signal,
  });
  const lost = exports.default.fetch(request).catch(() => undefined);
  const id = await nextTask(account);
  // As long as the first is open, another request is another image.
  const other = call(generations, { key: account.key, body });
  const second = await nextTask(account, [id]);
  caller.abort();
  await lost;
  await expect.poll(attemptStates, { timeout: 10_000 }).toEqual(["left", "open"]);
  const repeat = call(generations, { key: account.key, body });
  await finish(account, id);
  await finish(account, second);
  expect((await repeat).body.data[0].url).toContain(id);
  expect((await other).body.data[0].url).toContain(second);
  expect([(await taskIds(account)).length, (await readBalance(account)).used]).toEqual([2, 0.08]);
});

test.each([
  ["begin", false],
  ["begin", true],
  ["end", false],
] as const)(
  "an object that restarts at the %s of an attempt: the image is answered, and one attempt is noted (taken %s)",
  async (method, isDone) => {
    const account = await newAccount();
    restartAt(AttemptObject, method, isDone);
    const answer = await whileMade(account, call(generations, { key: account.key, body: { model: "dall-e-3", prompt: unique() } }));
    expect(answer.status).toBe(200);
    expect(await attemptStates()).toEqual(["answered"]);
  },
);

test("an attempt whose end cannot be noted is answered", async () => {
  const account = await newAccount();
  failOnce(AttemptObject.prototype as never, "end");
  const answer = await whileMade(account, call(generations, { key: account.key, body: { model: "dall-e-3", prompt: unique() } }));
  expect(answer.status).toBe(200);
});

test("the caller's own idempotency key finds the same task; with another body it is 409, which clients do not retry", async () => {
  const account = await newAccount();
  const headers = { "idempotency-key": unique() };
  const body = { model: "dall-e-3", prompt: unique() };
  const first = await whileMade(account, call(generations, { key: account.key, body, headers }));
  const again = await call(generations, { key: account.key, body, headers });
  expect([again.body, again.headers.get("idempotent-replayed")]).toEqual([first.body, "true"]);
  const other = await call(generations, { key: account.key, body: { ...body, n: 2 }, headers });
  expect([other.status, other.body.error.code, other.headers.get("x-should-retry")]).toEqual([409, "idempotency_conflict", "false"]);
  expect((await readBalance(account)).used).toBe(0.04);
});

test("an image that is not ready after 115 seconds is 504 with its id; a repeat waits for it, and it is charged once", async () => {
  const account = await newAccount();
  const body = { model: "dall-e-3", prompt: unique() };
  const late = call(generations, { key: account.key, body });
  const id = await nextTask(account);
  vi.setSystemTime(Date.now() + 115_500);
  const answer = await late;
  expect([answer.status, answer.body.error.code]).toEqual([504, "task_not_final"]);
  expect(answer.body.error.message).toContain(id);
  expect(answer.headers.get("location")).toBe(`/v1/tasks/${id}`);
  const again = call(generations, { key: account.key, body });
  await finish(account, id);
  expect([(await again).status, await taskIds(account)]).toEqual([200, [id]]);
  expect((await readBalance(account)).used).toBe(0.04);
});

test("a failed image is an error, costs nothing, and a repeat submits again", async () => {
  const account = await newAccount();
  const prompt = unique();
  await script({ match: prompt, polls: [{ failed: "content_policy_violation" }] });
  const body = { model: "dall-e-3", prompt };
  const refused = await whileMade(account, call(generations, { key: account.key, body }));
  expect([refused.status, refused.body.error]).toEqual([
    400,
    { message: expect.any(String), type: "invalid_request_error", param: null, code: "content_policy_violation" },
  ]);
  const [failed = ""] = await taskIds(account);
  const again = call(generations, { key: account.key, body, headers: { "x-stainless-retry-count": "1" } });
  await finish(account, await nextTask(account, [failed]));
  expect((await again).status).toBe(200);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.04 });
});

test("an empty balance is OpenAI's error for an exhausted quota, which clients do not retry, and without a time to wait", async () => {
  const account = await newAccount(0.01);
  const answer = await call(generations, { key: account.key, body: { model: "dall-e-3", prompt: "x" } });
  expect(answer.headers.get("retry-after")).toBeNull();
  expect([answer.status, answer.body.error, answer.headers.get("x-should-retry")]).toEqual([
    429,
    { message: expect.any(String), type: "insufficient_quota", param: null, code: "insufficient_quota" },
    "false",
  ]);
  expect(await taskIds(account)).toEqual([]);
});

test.each([
  ["size", { size: "999x999" }],
  ["size", { size: "5:4" }],
  ["quality", { quality: "best" }],
  ["response_format", { response_format: "png" }],
  ["background", { background: "transparent" }],
  ["output_format", { output_format: "webp" }],
  ["stream", { stream: true }],
  ["n", { n: 5 }],
  ["prompt", { prompt: "" }],
  ["model", { model: "sora-2" }],
  ["reference", { reference: "x".repeat(200) }],
  ["X-Client-Request-Id", {}, { "x-client-request-id": "x".repeat(200) }],
])("an invalid %s is refused and nothing is reserved", async (param, fields, headers: Record<string, string> = {}) => {
  const account = await newAccount();
  const body = { model: "gpt-image-1", prompt: "x", ...fields };
  const { status, body: answer } = await call(generations, { key: account.key, body, headers });
  expect([status, answer.error.param]).toEqual([param === "model" ? 404 : 400, param]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("edits accept images as JSON and as a form, and are generations with these input images", async () => {
  const account = await newAccount();
  const edits = `${v1}/images/edits`;
  const dataUri = `data:image/png;base64,${png(64).toBase64()}`;
  const json = { model: "gpt-image-1", prompt: unique(), images: [{ image_url: dataUri }], response_format: "url", user: "someone" };
  const answer = await whileMade(account, call(edits, { key: account.key, body: json }));
  expect([answer.status, answer.body.data.length, answer.headers.get("x-dropped-params")]).toEqual([200, 1, "user"]);

  const known = await taskIds(account);
  const pictures = [new Blob([png(70_000)]), new Blob([png(300_000)])];
  const { body, headers } = await form({ "image[]": pictures, prompt: unique(), model: "gpt-image-1", n: "2", response_format: "url" });
  const asked = call(edits, { key: account.key, body, headers });
  const id = await nextTask(account, known);
  await finish(account, id);
  expect([(await asked).status, (await asked).body.data.length]).toEqual([200, 2]);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.metadata).toMatchObject({ kind: "image", n: 2 });
});

test("large images in JSON keep their order among URLs, and an invalid one is refused", async () => {
  const account = await newAccount();
  const picture = (bytes: number) => `data:image/png;base64,${png(bytes).toBase64()}`;
  const body = { model: "dall-e-3", prompt: "x", images: [{ image_url: picture(100_000) }, "https://a.example/b.png", picture(300_001)] };
  const asked = call(`${v1}/images/edits`, { key: account.key, body });
  const task = await nextTask(account);
  const stored = (await env.ASSETS.list({ prefix: `inputs/${task}/` })).objects.map(({ size }) => size);
  expect(stored).toEqual([100_000, 300_001]);
  const images = (await call(`/v1/tasks/${task}`, { key: account.key })).body.data.metadata.images;
  expect(images).toEqual(["inline", "https://a.example/b.png", "inline"]);
  await call(`/v1/tasks/${task}/cancel`, { key: account.key, method: "POST" });
  await asked;
  const refused = (fields: object) => call(`${v1}/images/edits`, { key: account.key, body: { ...body, ...fields } });
  const text = await refused({ images: [`data:image/png;base64,${"A".repeat(100_000)}`] });
  expect([text.status, text.body.error.message]).toEqual([400, "images: must be a PNG, JPEG or WebP image"]);
  expect((await refused({ n: "2" })).body.error.param).toBe("n");
  expect((await refused({ prompt: "x".repeat(2_000_000) })).status).toBe(413);
  const reference = { model: "sora-2", prompt: "x", input_reference: { image_url: picture(200_000) } };
  const video = await call(`${v1}/videos`, { key: account.key, body: reference });
  expect((await env.ASSETS.list({ prefix: `inputs/${video.body.id}/` })).objects.map(({ size }) => size)).toEqual([200_000]);
});

test.each(["form", "large JSON"])(
  "another %s of the same length, after one that got no answer, is another image instead of a conflict",
  async (how) => {
    const account = await newAccount();
    const send = async (fill: number, prompt = "a quay") => {
      const picture = png(200_000);
      picture[199_999] = fill;
      const fields = { model: "gpt-image-1", prompt };
      const sent =
        how === "form"
          ? await form({ ...fields, image: new Blob([picture]) })
          : { body: { ...fields, images: [{ image_url: `data:image/png;base64,${picture.toBase64()}` }] } };
      return call(`${v1}/images/edits`, { key: account.key, ...sent });
    };
    const lost = send(1);
    const id = await nextTask(account);
    vi.setSystemTime(Date.now() + 115_500);
    expect((await lost).status).toBe(504);
    await finish(account, id);
    const others = [send(2), send(1, "a pier")];
    const known = [id];
    for (let count = 0; count < 2; count++) known.push(await nextTask(account, known));
    for (const one of known.slice(1)) await finish(account, one);
    for (const { status, body } of await Promise.all(others)) expect([status, body.error]).toEqual([200, undefined]);
    expect((await send(1)).status).toBe(200);
    expect(await taskIds(account)).toHaveLength(3);
  },
);

test("a dry run is no attempt: nothing is stored for it", async () => {
  const { key } = await newAccount();
  const { ATTEMPTS } = env as unknown as OpenAiBindings;
  const before = await listDurableObjectIds(ATTEMPTS);
  const dry = `${generations}?dry_run=true`;
  expect((await call(dry, { key, body: { model: "dall-e-3", prompt: unique() } })).status).toBe(200);
  expect(await listDurableObjectIds(ATTEMPTS)).toEqual(before);
});

test("a form that is too large, broken, without an image, or with another field is refused and nothing stays stored", async () => {
  const account = await newAccount();
  const send = async (fields: Record<string, string | Blob | Blob[]>, change: (body: ArrayBuffer) => ArrayBuffer = (body) => body) => {
    const { body, headers } = await form({ prompt: "x", model: "gpt-image-1", ...fields });
    const answer = await call(`${v1}/images/edits`, {
      key: account.key,
      body: change(body),
      headers: { ...headers, "content-length": "" },
    });
    return [answer.status, answer.body.error.param];
  };
  const picture = (bytes: number) => new Blob([png(bytes)]);
  expect(await send({ image: picture(11 * 1024 * 1024) })).toEqual([413, null]);
  expect(await send({ "image[]": [picture(9 * 1024 * 1024), picture(9 * 1024 * 1024)] })).toEqual([413, null]);
  expect(await send({ image: picture(1000) }, (body) => body.slice(0, -20))).toEqual([400, null]);
  // Each "~" becomes a byte of another encoding than UTF-8.
  const encoded = (body: ArrayBuffer) => new Uint8Array(body).map((byte) => (byte === 0x7e ? 0xb5 : byte)).buffer;
  expect(await send({ prompt: "~~", image: picture(1000) }, encoded)).toEqual([400, null]);
  expect(await send({ image: new File([png(1000)], "~.png") }, encoded)).toEqual([400, null]);
  expect(await send({ image: new Blob(["not a picture at all"]) })).toEqual([400, "image"]);
  const sentence = await call(`${v1}/images/edits`, {
    key: account.key,
    ...(await form({ prompt: "x", image: new Blob(["no picture"]) })),
  });
  expect(sentence.body.error.message).toBe("image: must be a PNG, JPEG or WebP image");
  expect(await send({ image: picture(1000), mask: picture(1000) })).toEqual([400, "mask"]);
  expect(await send({})).toEqual([400, "image"]);
  expect(await send({ image: picture(1000), size: "1x1" })).toEqual([400, "size"]);
  expect([await taskIds(account), await readBalance(account)]).toEqual([[], expect.objectContaining({ reserved: 0, used: 0 })]);
});
