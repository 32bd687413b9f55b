/** `/v1/files`: uploading, listing, reading and deleting the caller's own files, and naming them in submissions. Contract 15. */

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { bindings, failOnce, openStub } from "../../support/faults.ts";
import worker from "../../../src/worker.ts";
import { expire } from "../../../src/operations/expire.ts";
import { type Account, asAdmin, call, complete, finish, holdTime, newAccount, submit, unique } from "../../support/gateway.ts";

beforeEach(holdTime);
afterEach(() => void vi.useRealTimers());

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const MiB = 1024 * 1024;

/** Bytes that begin like a PNG; different for each `seed`. */
function png(seed: string, bytes = 100): ArrayBuffer {
  const data = new Uint8Array(bytes);
  data.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  data.set(new TextEncoder().encode(seed).slice(0, bytes - 8), 8);
  return data.buffer;
}

const upload = (
  account: Account,
  body: ArrayBuffer | string,
  { query = "", type = "image/png", vars = {} }: { query?: string; type?: string; vars?: Partial<Env> } = {},
) => call(`/v1/files${query}`, { key: account.key, method: "POST", body, headers: { "content-type": type }, vars });

/** Uploads a form with the file between other fields. */
async function uploadForm(account: Account, file: ArrayBuffer, fields: Record<string, string> = {}, name = "C:\\pictures\\crane.png") {
  const form = new FormData();
  form.set("before", "1");
  form.set("file", new File([file], name, { type: "text/plain" }));
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  const request = new Request("https://gateway.example/", { method: "POST", body: form });
  return upload(account, await request.arrayBuffer(), { type: request.headers.get("content-type")! });
}

async function add(account: Account, body: ArrayBuffer | string): Promise<string> {
  const { status, body: file } = await upload(account, body);
  expect(status, JSON.stringify(file)).toBe(201);
  return file.id as string;
}

const keysOf = async (account: Account) => (await env.ASSETS.list({ prefix: `files/${account.id}/` })).objects.map(({ key }) => key);
const spaceOf = (account: Account) =>
  env.DB.prepare("SELECT bytes + padding AS bytes FROM file_space WHERE account_id = ?1").bind(account.id).first<number>("bytes");
const remove = (account: Account, id: string) => call(`/v1/files/${id}`, { key: account.key, method: "DELETE" });
const read = (account: Account, id: string) => call(`/v1/files/${id}/content`, { key: account.key });
const list = async (account: Account, query = ""): Promise<[ids: string[], hasMore: boolean]> => {
  const { status, body } = await call(`/v1/files${query}`, { key: account.key });
  expect(status, JSON.stringify(body)).toBe(200);
  return [(body.data as { id: string }[]).map(({ id }) => id), body.has_more as boolean];
};
const makeVideo = async (account: Account) => {
  const id = await complete(account, videos, { model: "vidA-2", prompt: unique() });
  const { body } = await call(`/v1/tasks/${id}`, { key: account.key });
  return (await call(body.data.result.videos[0].url[0])).body as ArrayBuffer;
};

test("an uploaded image is described by its bytes, listed, and downloaded whole or in ranges", async () => {
  const account = await newAccount();
  const bytes = png(unique());
  const { status, body, headers } = await upload(account, bytes, { type: "text/plain" });
  expect(status, JSON.stringify(body)).toBe(201);
  const now = Math.floor(Date.now() / 1000);
  const sha256 = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
  expect(body).toEqual({ id: body.id, object: "file", type: "image/png", bytes: 100, sha256, created_at: now, expires_at: now + 86_400 });
  expect(headers.get("location")).toBe(`/v1/files/${body.id}`);
  expect((await call(`/v1/files/${body.id}`, { key: account.key })).body).toEqual(body);
  expect((await call("/v1/files", { key: account.key })).body).toEqual({ object: "list", data: [body], has_more: false });
  const whole = await read(account, body.id);
  expect(new Uint8Array(whole.body)).toEqual(new Uint8Array(bytes));
  expect(whole.headers.get("content-type")).toBe("image/png");
  const range = await call(`/v1/files/${body.id}/content`, { key: account.key, headers: { range: "bytes=1-3" } });
  expect([range.status, new TextDecoder().decode(range.body)]).toEqual([206, "PNG"]);
});

test("a form and the bare bytes are the same upload; the form may have the lifetime behind the file", async () => {
  const account = await newAccount();
  const bytes = png(unique(), 300_000);
  const form = await uploadForm(account, bytes, { expires_in: "3600" });
  expect(form.status, JSON.stringify(form.body)).toBe(201);
  expect(form.body.expires_at - form.body.created_at).toBe(3600);
  const bare = await upload(account, bytes, { query: "?expires_in=604800" });
  expect(bare.body.expires_at - bare.body.created_at).toBe(604_800);
  expect(bare.body.sha256).toBe(form.body.sha256);
  expect(new Uint8Array((await read(account, form.body.id)).body)).toEqual(new Uint8Array(bytes));
});

test("a download has the name of the uploaded file, in any letters", async () => {
  const account = await newAccount();
  const download = async (name: string) => {
    const { body } = await uploadForm(account, png(unique()), {}, name);
    return (await read(account, body.id)).headers.get("content-disposition");
  };
  expect(await download("C:\\pictures\\crane.png")).toBe('attachment; filename="crane.png"');
  expect(await download("鶴 (1); a*'b'.png")).toBe("attachment; filename*=UTF-8''%E9%B6%B4%20%281%29%3B%20a%2a%27b%27.png");
  expect((await read(account, await add(account, png(unique())))).headers.get("content-disposition")).toBe("attachment");
});

test("other files with the same bytes keep them if the answer to the insert of an upload is lost", async () => {
  const account = await newAccount();
  const file = png(unique());
  const first = await add(account, file);
  failOnce(bindings.database(), "batch", true);
  expect((await upload(account, file)).status).toBe(500);
  const { status, body } = await read(account, first);
  expect([status, body]).toEqual([200, file]);
});

test("the same bytes are stored once and each file counts; they stay until the last of the files is deleted", async () => {
  const account = await newAccount();
  const bytes = png(unique());
  const [first, second] = [await add(account, bytes), await add(account, bytes)];
  expect(first).not.toBe(second);
  expect(await keysOf(account)).toHaveLength(1);
  expect(await spaceOf(account)).toBe(2 * 65_536);
  expect((await remove(account, first)).status).toBe(204);
  expect((await remove(account, first)).status).toBe(404);
  expect((await read(account, first)).status).toBe(404);
  expect((await read(account, second)).status).toBe(200);
  expect((await remove(account, second)).status).toBe(204);
  expect([await keysOf(account), await spaceOf(account)]).toEqual([[], 0]);
});

test("refused uploads leave nothing: other types, sizes, lifetimes, broken forms and videos", async () => {
  const account = await newAccount();
  const refuse = async (answer: Promise<{ status: number; body: { error: { param: string; message: string } } }>) => {
    const { status, body } = await answer;
    return `${status} ${body.error.param} ${body.error.message}`;
  };
  const video = new Uint8Array(200);
  video.set(new TextEncoder().encode("\0\0\0\x10ftypisom\0\0\0\0\0\0\0\x40moov"));
  expect(await refuse(upload(account, "GIF89a..."))).toMatch(/^400 file .*must be a PNG/);
  expect(await refuse(upload(account, new ArrayBuffer(0)))).toMatch(/^400 file /);
  expect(await refuse(upload(account, png("", 10 * MiB + 1)))).toMatch(/^400 file .*10/);
  expect(await refuse(uploadForm(account, png("", 10 * MiB + 1)))).toMatch(/^400 file .*10/);
  expect(await refuse(upload(account, video.buffer, { type: "video/mp4" }))).toMatch(/^400 file .*whole MP4/);
  expect(await refuse(upload(account, png(""), { query: "?expires_in=3599" }))).toMatch(/^400 expires_in /);
  expect(await refuse(uploadForm(account, png(""), { expires_in: "604801" }))).toMatch(/^400 expires_in /);
  expect(await refuse(upload(account, "no form", { type: "multipart/form-data; boundary=x" }))).toMatch(/^400 file .*form/);
  expect(await refuse(upload(account, "no form", { type: "multipart/form-data" }))).toMatch(/^400 file .*form/);
  expect(
    await refuse(
      upload(account, '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n--x--', { type: "multipart/form-data; boundary=x" }),
    ),
  ).toMatch(/^400 file /);
  const cut = '--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n{"a":1}\r\n--';
  expect(await refuse(upload(account, cut, { type: "multipart/form-data; boundary=x" }))).toMatch(/^400 file .*form/);
  const zipped = await call("/v1/files", { key: account.key, method: "POST", body: png(""), headers: { "content-encoding": "gzip" } });
  expect([zipped.status, zipped.body.error.message]).toEqual([415, expect.stringMatching(/^The request body must not be compressed/)]);
  expect((await call("/v1/files", { key: account.key })).body.data).toEqual([]);
  expect(await keysOf(account)).toEqual([]);
});

test("a caller who disconnects in the middle leaves nothing", async () => {
  const account = await newAccount();
  const parts = async () => (await env.ASSETS.list({ prefix: "inputs/arriving-" })).objects.map(({ key }) => key);
  // Of bodies in other files' tests.
  const others = new Set(await parts());
  for (const type of ["image/png", "multipart/form-data; boundary=x"]) {
    const start = type === "image/png" ? "" : '--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n';
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        controller.enqueue(new TextEncoder().encode(start));
        controller.enqueue(new Uint8Array(png(unique(), 2 * MiB)));
      },
      pull: (controller) => controller.error(new Error("gone")),
    });
    const headers = { authorization: `Bearer ${account.key}`, "content-type": type, "content-length": String(3 * MiB) };
    const answer = await worker.fetch(
      new Request("https://gateway.example/v1/files", { method: "POST", headers, body }),
      env,
      createExecutionContext(),
    );
    expect(answer.status).toBe(400);
  }
  expect(await keysOf(account)).toEqual([]);
  expect((await parts()).filter((key) => !others.has(key))).toEqual([]);
  expect(await spaceOf(account)).toBeNull();
});

test("MAX_FILE_BYTES holds exactly for uploads in parallel; an expired file makes room", async () => {
  const account = await newAccount();
  const vars = { MAX_FILE_BYTES: "450000" };
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => upload(account, png(unique(), 100_000), { vars, query: "?expires_in=3600" })),
  );
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 201, 201, 201, 429, 429, 429, 429]);
  const refused = answers.find(({ status }) => status === 429)!;
  expect(refused.body.error).toMatchObject({ type: "rate_limit_exceeded", code: "too_many_files" });
  expect(await spaceOf(account)).toBe(400_000);
  expect(await keysOf(account)).toHaveLength(4);
  vi.setSystemTime(Date.now() + 3_600_000);
  expect((await upload(account, png(unique()), { vars })).status).toBe(201);
  expect(await keysOf(account)).toHaveLength(1);
});

test("a small file counts as 64 KiB: many of them are refused at the limit of bytes, and deleting one makes room for one", async () => {
  const account = await newAccount();
  const vars = { MAX_FILE_BYTES: String(3 * 65_536 + 65_535) };
  const sizes = [9, 65_536, 100];
  const ids = [];
  for (const size of sizes) ids.push((await upload(account, png(unique(), size), { vars })).body.id as string);
  const refuse = async () => {
    const { status, body } = await upload(account, png(unique(), 9), { vars });
    expect([status, body.error.code]).toEqual([429, "too_many_files"]);
  };
  await refuse();
  // A file of more than 64 KiB counts by its bytes.
  expect((await upload(account, png(unique(), 65_537), { vars: { MAX_FILE_BYTES: String(4 * 65_536) } })).status).toBe(429);
  for (const id of ids) {
    expect((await remove(account, id)).status).toBe(204);
    expect((await upload(account, png(unique(), 9), { vars })).status).toBe(201);
    await refuse();
  }
});

test("expired files are gone at once, and their bytes with the next run of the checks", async () => {
  const account = await newAccount();
  const bytes = png(unique());
  const { body: short } = await upload(account, bytes, { query: "?expires_in=3600" });
  const long = await add(account, bytes);
  vi.setSystemTime(Date.now() + 1); // the order of files of one millisecond is random
  const { body: other } = await upload(account, png(unique()), { query: "?expires_in=3600" });
  vi.setSystemTime(Date.now() + 3_600_000);
  expect(await list(account)).toEqual([[long], false]);
  expect((await read(account, short.id)).status).toBe(404);
  await expire(env, Date.now());
  expect(await list(account, `?after=${other.id}`)).toEqual([[long], false]);
  expect(await keysOf(account)).toHaveLength(1);
  expect(await spaceOf(account)).toBe(65_536);
  expect((await read(account, long)).status).toBe(200);
});

test("a caller who deletes each page of the list reads on after the last file that is gone", async () => {
  const account = await newAccount();
  const ids: string[] = [];
  for (let file = 0; file < 5; file++) {
    ids.unshift(await add(account, png(unique())));
    vi.setSystemTime(Date.now() + 1);
  }
  const seen: string[] = [];
  for (let hasMore = true; hasMore;) {
    const [page, isMore] = await list(account, `?limit=2${seen.length > 0 ? `&after=${seen.at(-1)}` : ""}`);
    for (const id of page) expect((await remove(account, id)).status).toBe(204);
    seen.push(...page);
    hasMore = isMore;
  }
  expect(seen).toEqual(ids);
  // The ids of another account, and ids that were never given, have no place.
  const other = await add(await newAccount(), png(unique()));
  for (const id of [other, `${ids[0]!.slice(0, -1)}${ids[0]!.endsWith("A") ? "B" : "A"}`, "file_x", ""])
    expect(await call(`/v1/files?after=${id}`, { key: account.key })).toMatchObject({ status: 400, body: { error: { param: "after" } } });
});

test("an erased account has no files, and none can be added", async () => {
  const account = await newAccount();
  await add(account, png(unique()));
  expect((await asAdmin(`/accounts/${account.id}`, { method: "DELETE" })).status).toBeLessThan(300);
  expect([await keysOf(account), await spaceOf(account)]).toEqual([[], null]);
  const rows = await env.DB.prepare("SELECT count(*) AS rows FROM file WHERE account_id = ?1").bind(account.id).first("rows");
  expect(rows).toBe(0);
});

test("a task uses a copy of the file: it may be deleted at once, and the copy is deleted with the task's end", async () => {
  const account = await newAccount();
  const bytes = png(unique());
  const file = await add(account, bytes);
  const body = { model: "imgB-4o-image", prompt: unique(), images: [` ${file}`] };
  const answer = await call(images, { key: account.key, body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  expect(answer.body.metadata.images).toEqual([` ${file}`]);
  const { id } = answer.body;
  expect((await remove(account, file)).status).toBe(204);
  const record = (await openStub(id).read(account.id))!;
  const [input] = record.submission.inputs;
  expect(input).toEqual({ role: "reference", key: `inputs/${id}/file-0` });
  expect(new Uint8Array(await (await env.ASSETS.get(input!.key!))!.arrayBuffer())).toEqual(new Uint8Array(bytes));
  expect((await finish(account, id)).body.data.status).toBe("completed");
  expect((await env.ASSETS.list({ prefix: `inputs/${id}/` })).objects).toEqual([]);
});

test("every field with the URL of an image or video takes a file", async () => {
  const account = await newAccount();
  const file = await add(account, png(unique()));
  const bodies = [
    { model: "vidA-2", prompt: "p", images: [file] },
    { model: "vidB-3.1-fast", prompt: "p", image_with_roles: [{ url: file, role: "first_frame" }] },
    { model: "vidC-1-0-pro-fast", prompt: "p", image_with_roles: [{ url: file, role: "reference" }] },
    { model: "vidD-02", prompt: "p", metadata: { first_frame_image: file, last_frame_image: file } },
  ];
  for (const body of bodies) {
    const { inputs } = (await openStub(await submit(account, videos, body)).read(account.id))!.submission;
    expect(inputs.every(({ key }) => key !== undefined) && inputs.length > 0, body.model).toBe(true);
  }
  const video = await add(account, await makeVideo(account));
  const task = await submit(account, videos, { model: "vidA-2", url: video, timestamps: "0,1" });
  expect((await remove(account, video)).status).toBe(204);
  const { body } = await finish(account, task);
  expect(body.data, JSON.stringify(body)).toMatchObject({ status: "completed", result: { type: "character" } });
  expect((await env.ASSETS.list({ prefix: `inputs/${task}/` })).objects).toEqual([]);
});

test("an unknown, foreign, expired or deleted file is the same 400 at its field; one of another type says so. Nothing is stored", async () => {
  const [account, stranger] = [await newAccount(), await newAccount()];
  const { body: expired } = await upload(account, png(unique()), { query: "?expires_in=3600" });
  vi.setSystemTime(Date.now() + 3_600_000);
  const deleted = await add(account, png(unique()));
  await remove(account, deleted);
  const foreign = await add(stranger, png(unique()));
  const ask = async (
    id: string,
    body: object = { model: "imgB-4o-image", prompt: "p", images: ["https://pictures.example/1", id] },
    path = images,
  ) => (await call(path, { key: account.key, body })).body.error;
  const answers = [];
  for (const id of ["file_", "file_1", expired.id, deleted, foreign]) answers.push(await ask(id));
  expect(answers[0]).toMatchObject({ code: "invalid_request", param: "images[1]" });
  for (const one of answers) expect(one).toEqual(answers[0]);
  const lines = await add(account, `{"a":${JSON.stringify(unique())}}`);
  expect(await ask(lines)).toMatchObject({ param: "images[1]", message: expect.stringContaining("not an image") });
  const image = await add(account, png(unique()));
  expect(await ask("", { model: "vidA-2", url: image, timestamps: "0,1" }, videos)).toMatchObject({
    param: "url",
    message: expect.stringContaining("not a video"),
  });
  expect(await ask("", { model: "vidD-02", prompt: "p", metadata: { last_frame_image: "file_x" } }, videos)).toMatchObject({
    param: "metadata.last_frame_image",
  });
  expect((await call("/v1/tasks", { key: account.key })).body.data).toEqual([]);
});

test("a dry run checks files and copies nothing", async () => {
  const account = await newAccount();
  const file = await add(account, png(unique()));
  const before = (await env.ASSETS.list()).objects.length;
  const ask = (id: string) =>
    call(`${images}?dry_run=true`, { key: account.key, body: { model: "imgB-4o-image", prompt: "p", images: [id] } });
  expect((await ask(file)).status).toBe(200);
  expect((await ask("file_x")).status).toBe(400);
  expect((await env.ASSETS.list()).objects).toHaveLength(before);
});

test("an idempotency key compares files by their bytes, inline or uploaded, also after they expired", async () => {
  const account = await newAccount();
  const bytes = png(unique());
  const prompt = unique();
  const send = (image: string) =>
    call(images, { key: account.key, headers: { "idempotency-key": "k" }, body: { model: "imgB-4o-image", prompt, images: [image] } });
  const [first, second, other] = [await add(account, bytes), await add(account, bytes), await add(account, png(unique()))];
  const { body } = await send(first);
  for (const image of [first, second, `data:image/png;base64,${new Uint8Array(bytes).toBase64()}`]) {
    const again = await send(image);
    expect([again.body.id, again.headers.get("idempotent-replayed")]).toEqual([body.id, "true"]);
  }
  expect((await send(other)).status).toBe(409);
  await remove(account, first);
  expect((await send(first)).body.id).toBe(body.id);
});

test("a client token names only the files that its key fixed, and does not reach /v1/files", async () => {
  const account = await newAccount();
  const [mine, secret] = [await add(account, png(unique())), await add(account, png(unique()))];
  const make = (files: string[]) => call("/v1/tokens", { key: account.key, body: { tasks: 2, max_cost: 1, expires_in: 600, files } });
  expect((await make(["file_x"])).body.error).toMatchObject({ param: "files[0]" });
  const { token } = (await make([mine])).body;
  const send = (image: string) => call(images, { key: token, body: { model: "imgB-4o-image", prompt: unique(), images: [image] } });
  expect((await send(secret)).body.error).toMatchObject({ code: "invalid_request", param: "images[0]" });
  expect((await send(mine)).status).toBe(200);
  expect((await call("/v1/files", { key: token })).status).toBe(403);
  expect((await read({ ...account, key: token }, mine)).status).toBe(403);
});

test("a submission that fails after its files were copied leaves no copies", async () => {
  const account = await newAccount(0);
  const file = await add(account, png(unique()));
  const before = (await env.ASSETS.list({ prefix: "inputs/" })).objects.length;
  const { status } = await call(images, { key: account.key, body: { model: "imgB-4o-image", prompt: "p", images: [file] } });
  expect(status).toBe(402);
  expect((await env.ASSETS.list({ prefix: "inputs/" })).objects).toHaveLength(before);
  // Deleted between the check and the copy.
  const rich = await newAccount();
  const gone = await add(rich, png(unique()));
  for (const key of await keysOf(rich)) await env.ASSETS.delete(key);
  const answer = await call(images, { key: rich.key, body: { model: "imgB-4o-image", prompt: "p", images: [gone] } });
  expect(answer).toMatchObject({ status: 400, body: { error: { param: "images[0]" } } });
});
