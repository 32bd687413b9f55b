/** The options of every submission, `max_cost` and `reference`; and the cost, Location and Retry-After of answers. Contract 1 and 2. */

import { expect, test, vi } from "vitest";
import { bindings, spyOn } from "../../support/faults.ts";
import {
  type Account,
  readBalance,
  call,
  complete,
  finish,
  holdTime,
  newAccount,
  script,
  submit,
  unique,
  image,
} from "../../support/gateway.ts";
import { expectNoTrace, expectRefusedFor } from "../../support/refusal.ts";

holdTime();

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const chats = "/v1/chat/completions";
const chat = (more: object = {}) => ({ model: "textA-1", messages: [{ role: "user", content: "Hi" }], ...more });
const readIds = async (account: Account, query: string) =>
  (await call(`/v1/tasks?${query}`, { key: account.key })).body.data.map(({ id }: { id: string }) => id);

test("a price above max_cost is refused, the error states the price, and nothing is reserved", async () => {
  const account = await newAccount();
  const rows: [string, object, number][] = [
    [images, image({ n: 2, max_cost: 0.059 }), 0.06],
    [videos, { model: "vidB-3.1-fast", prompt: unique(), max_cost: 1 }, 1.2],
    [chats, chat({ max_tokens: 1000, max_cost: 0.001 }), expect.any(Number)],
  ];
  for (const [path, body, price] of rows) {
    const { status, body: told } = await call(path, { key: account.key, body });
    expect(status).toBe(400);
    expect(told.error).toMatchObject({ type: "invalid_request", code: "cost_limit_exceeded", param: "max_cost" });
    expect(told.error.details).toEqual([{ param: "max_cost", message: expect.any(String), allowed: price }]);
  }
  await expectNoTrace(account);
});

test("a price equal to max_cost is accepted", async () => {
  const account = await newAccount();
  expect((await call(images, { key: account.key, body: image({ n: 2, max_cost: 0.06 }) })).status).toBe(200);
  expect((await call(chats, { key: account.key, body: chat({ max_cost: 1 }) })).status).toBe(200);
});

test("fields that have no effect are named in a header, also of a dry run and an estimate; options and nulls are none", async () => {
  const account = await newAccount();
  const prompt = unique();
  const options = { reference: "x", max_cost: 5, store: true, callback_url: "https://hooks.example.com/", deliver_to: null };
  const rows: [path: string, body: object, names: string | null][] = [
    [images, image({ ...options, n: 2, quality: "standard", size: null, images: [] }), null],
    [images, image({ duration: 5, seed: 1, metadata: { style: "news" }, "a field\n": 1 }), "duration, seed, metadata"],
    [videos, { model: "vidD-02", prompt, images: ["x"], metadata: { resolution: "768p", style: "news" } }, "images, metadata.style"],
    [videos, { model: "vidA-2", url: "https://films.example/a.mp4", timestamps: "0,1", prompt }, "prompt"],
    ["/v1/tasks", { model: "vidB-3.1-fast", prompt, n: 2, constructor: 1 }, "n, constructor"],
  ];
  for (const [path, body, names] of rows)
    // Twice to the path: the second answer is that of a replay.
    for (const to of [`${path}?dry_run=true`, "/v1/estimates", path, path]) {
      const { status, headers, body: told } = await call(to, { key: account.key, body, headers: { "idempotency-key": path + names } });
      expect(status, JSON.stringify(told)).toBe(200);
      expect(headers.get("x-dropped-params"), to).toBe(names);
    }
  // Outside an estimate the video of a remix stands in the path: a body that names it makes another video.
  const remix = { model: "vidA-2", prompt, video_id: "task_1" };
  for (const to of [videos, "/v1/tasks", `${videos}?dry_run=true`])
    expect((await call(to, { key: account.key, body: remix })).headers.get("x-dropped-params"), to).toBe("video_id");
  const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`${"x".repeat(56)}${at}`, 1]));
  const short = await call(images, { key: account.key, body: image(many) });
  expect([short.status, short.headers.get("x-dropped-params")?.split(", ").length]).toEqual([200, 20]);
  const refused = await call(images, { key: account.key, body: image({ seed: 1, n: 9 }) });
  expect([refused.status, refused.headers.get("x-dropped-params")]).toEqual([400, null]);
});

test("max_cost is a number from 0, reference 1 to 128 printable characters", async () => {
  const account = await newAccount();
  for (const max_cost of ["1", -1, true, [1]]) {
    expectRefusedFor("max_cost", await call(images, { key: account.key, body: image({ max_cost }) }), { max_cost });
    expectRefusedFor("max_cost", await call(chats, { key: account.key, body: chat({ max_cost }) }), { max_cost });
  }
  for (const reference of ["", "x".repeat(129), "a\nb", "a\u0000", "\u2028", "\u202eb", "\u200d", "\u200ca", "\ud800", 7, {}])
    expectRefusedFor("reference", await call(images, { key: account.key, body: image({ reference }) }), { reference });
  await expectNoTrace(account);
  for (const reference of ["x", "😀".repeat(128), "Bestellung Nr. 7 – 一", "👨\u200d👩\u200d👧", "می\u200cخواهم"])
    expect((await call(images, { key: account.key, body: image({ reference }) })).body.metadata.reference).toBe(reference);
  expect((await call(images, { key: account.key, body: image({ reference: null, max_cost: null }) })).body.metadata).not.toHaveProperty(
    "reference",
  );
});

test("a reference is echoed, and the list finds its tasks by page, status, kind and model", async () => {
  const account = await newAccount();
  const stranger = await newAccount();
  const reference = "order 7";
  await submit(stranger, images, image({ reference }));
  await submit(account, images, image());
  await submit(account, images, image({ reference: "order 70" }));
  const ids: string[] = [];
  for (let count = 0; count < 5; count++) {
    vi.setSystemTime(Date.now() + 1_000);
    ids.unshift(
      await submit(
        account,
        count === 2 ? videos : images,
        count === 2 ? { model: "vidA-2", prompt: unique(), reference } : image({ reference }),
      ),
    );
  }
  const query = `reference=${encodeURIComponent(reference)}`;
  expect(await readIds(account, query)).toEqual(ids);
  const first = await call(`/v1/tasks?${query}&limit=2`, { key: account.key });
  expect(first.body).toMatchObject({ has_more: true, data: [{ id: ids[0], reference, metadata: { reference } }, { id: ids[1] }] });
  expect(await readIds(account, `${query}&limit=2&after=${ids[1]}`)).toEqual([ids[2], ids[3]]);
  expect((await call(`/v1/tasks?${query}&limit=2&after=${ids[3]}`, { key: account.key })).body).toMatchObject({
    has_more: false,
    data: [{ id: ids[4] }],
  });
  await finish(account, ids[0]!);
  expect(await readIds(account, `${query}&status=completed`)).toEqual([ids[0]]);
  expect(await readIds(account, `${query}&status=queued&kind=image`)).toEqual([ids[1], ids[3], ids[4]]);
  expect(await readIds(account, `${query}&model=vidA-2`)).toEqual([ids[2]]);
  expect(await readIds(account, "reference=never")).toEqual([]);
  expect(await call(`/v1/tasks?${query}&after=task_x`, { key: account.key })).toMatchObject({
    status: 400,
    body: { error: { param: "after" } },
  });
  expect(await call("/v1/tasks?reference=", { key: account.key })).toMatchObject({ status: 400, body: { error: { param: "reference" } } });
});

test("if the reference cannot be written, no task and no hold exist", async () => {
  const account = await newAccount();
  await submit(account, images, image()); // reads the values that an isolate caches
  const prepare = bindings.database()["prepare"]!;
  const faults = spyOn(bindings.database(), "prepare").mockImplementation(function (this: unknown, ...values: unknown[]) {
    if (String(values[0]).startsWith("INSERT INTO task_reference")) throw new Error("scripted fault");
    return prepare.apply(this, values);
  });
  expect((await call(images, { key: account.key, body: image({ reference: "order" }) })).status).toBe(503);
  faults.mockRestore();
  expect(await readBalance(account)).toMatchObject({ reserved: 0.03, used: 0 });
  expect(await readIds(account, "reference=order")).toEqual([]);
});

test("an idempotent replay shows the reference too", async () => {
  const account = await newAccount();
  const headers = { "idempotency-key": unique() };
  const body = image({ reference: "order 8" });
  const first = await call(images, { key: account.key, body, headers });
  const again = await call(images, { key: account.key, body, headers });
  expect(again.body).toEqual(first.body);
  expect(again.headers.get("location")).toBe(`/v1/tasks/${first.body.id}`);
  expect(await readIds(account, "reference=order%208")).toEqual([first.body.id]);
});

test("a submission has Location and Retry-After", async () => {
  const account = await newAccount();
  const video = await complete(account, videos, { model: "vidA-2", prompt: unique() });
  const rows: [string, object, string][] = [
    [images, image(), "2"],
    [videos, { model: "vidA-2", prompt: unique() }, "5"],
    [videos, { model: "vidA-2", from_task: video, timestamps: "0,2" }, "5"],
    [`/v1/videos/${video}/remix`, { model: "vidA-2", prompt: unique() }, "5"],
  ];
  for (const [path, body, seconds] of rows) {
    const { headers, body: told } = await call(path, { key: account.key, body });
    expect(headers.get("retry-after")).toBe(seconds);
    expect(headers.get("location")).toBe(`/v1/tasks/${told.id}`);
    expect((await call(headers.get("location")!, { key: account.key })).body.data.id).toBe(told.id);
  }
});

test("a task shows what is reserved, and once it is final what was charged and returned", async () => {
  const account = await newAccount();
  const computeCost = async (id: string) => (await call(`/v1/tasks/${id}`, { key: account.key })).body.data.cost;
  const id = await submit(account, images, image({ n: 2 }));
  expect(await computeCost(id)).toEqual({ reserved: 0.06 });
  await finish(account, id);
  expect(await computeCost(id)).toEqual({ reserved: 0.06, charged: 0.06, returned: 0 });
  const prompt = unique();
  await script({ match: prompt, polls: [{ failed: "provider_error" }] });
  const failed = await submit(account, images, { model: "imgA-4", prompt });
  await finish(account, failed);
  expect(await computeCost(failed)).toEqual({ reserved: 0.03, charged: 0, returned: 0.03 });
  const cancelled = await submit(account, images, image());
  const { body } = await call(`/v1/tasks/${cancelled}/cancel`, { key: account.key, method: "POST" });
  expect(body.data.cost).toEqual({ reserved: 0.03, charged: 0, returned: 0.03 });
});
