/** Remix bodies and their source at both sides of every limit: 4.4 and 8 of the interface, section 1 of the contract. */

import { expect, test, vi } from "vitest";
import { neverIssued, type Row } from "../../support/bodies.ts";
import { type Account, readBalance, call, complete, finish, holdTime, newAccount, script, submit, unique } from "../../support/gateway.ts";
import { expectNothingPaid, expectRefusedFor } from "../../support/refusal.ts";

holdTime();

const videos = "/v1/videos/generations";
const models = [
  { model: "vidA-2", second: 0.1, durations: [10, 15], fallback: 10, others: [9, 11, 14, 16, 25] },
  { model: "vidA-2-pro", second: 0.3, durations: [15, 25], fallback: 15, others: [10, 14, 16, 24, 26] },
];
const prompt = "the same at dawn";
const getRemix = (id: string) => `/v1/videos/${id}/remix`;

/** A completed task of the account. */
const done = (account: Account, body: object = {}, at = videos) => complete(account, at, { model: "vidA-2", prompt: unique(), ...body });

/** Each body is accepted: its parameters are echoed with all defaults, and their price is reserved. */
async function accepts(rows: Row[]): Promise<void> {
  const account = await newAccount();
  const source = await done(account);
  let held = 0;
  for (const [body, told, reserved] of rows) {
    const answer = await call(getRemix(source), { key: account.key, body });
    expect(answer.status, JSON.stringify([body, answer.body])).toBe(200);
    expect(answer.body.metadata).toEqual({ kind: "remix", ...told, source_task: source, reserved: expect.closeTo(reserved, 9) });
    held += reserved;
  }
  expect((await readBalance(account)).reserved).toBeCloseTo(held, 6);
}

/** Each body is refused because of this one field, with a valid source, and leaves no trace. */
async function refuses(param: string, bodies: object[], code = "invalid_request"): Promise<void> {
  const account = await newAccount();
  const source = await done(account);
  for (const body of bodies) {
    const answer = await call(getRemix(source), { key: account.key, body });
    expectRefusedFor(param, answer, body, code);
  }
  expect(await readBalance(account)).toEqual({ quota: 100, reserved: 0, used: 1, remaining: 99 });
  expect((await call("/v1/tasks", { key: account.key })).body.data).toHaveLength(1);
}

/** The task is refused as the source: 400, and nothing more is reserved. */
async function refusesSource(account: Account, source: string): Promise<void> {
  const before = await readBalance(account);
  const answer = await call(getRemix(source), { key: account.key, body: { model: "vidA-2", prompt } });
  expect(answer).toMatchObject({ status: 400, body: { error: { type: "invalid_request", param: "video_id" } } });
  expect(await readBalance(account)).toEqual(before);
}

/** The body for both models, or for those given; `body` is also the expected change of the defaults. */
const rows = (body: object, of = models) =>
  of.map(({ model, second, fallback }): Row => {
    const told = { prompt, size: "16:9", duration: fallback, ...body };
    return [{ model, prompt, ...body }, told, told.duration * second];
  });
const refused = (param: string, values: unknown[], of = models) =>
  refuses(
    param,
    of.flatMap(({ model }) => values.map((value) => ({ model, prompt, [param]: value }))),
  );

test("the defaults are vidA-2 10 seconds, vidA-2-pro 15, both 16:9", () => accepts(rows({})));
for (const one of models) {
  const { model, durations, others } = one;
  test(`${model}: ${durations.join(" and ")} seconds are accepted, priced per second`, () =>
    accepts(durations.flatMap((duration) => rows({ duration }, [one]))));
  test(`${model}: other durations are refused`, () => refused("duration", [...others, 0, -15, 15.5, "15", true], [one]));
}
test("the three ratios are accepted", () => accepts(["16:9", "9:16", "1:1"].flatMap((size) => rows({ size }))));
test("other sizes are refused", () => refused("size", ["4:3", "21:9", "", 1]));
test("a prompt of 4000 code points is accepted", () =>
  accepts(["x", "x".repeat(4000), "🦊".repeat(4000)].flatMap((text) => rows({ prompt: text }))));
test("a prompt of 4001 code points is refused", () => refused("prompt", ["x".repeat(4001), "🦊".repeat(4001)]));
test("a prompt of white space only, or a missing one, is refused", () => refused("prompt", ["", " \n\u3000", null, undefined, 5]));

test("null counts as absent and unknown fields are ignored", () =>
  accepts([
    [
      { model: "vidA-2", prompt, duration: null, size: null, images: 5, metadata: "none", url: 5, timestamps: 5 },
      { prompt, size: "16:9", duration: 10 },
      1,
    ],
  ]));
test("a model that cannot remix is refused", () =>
  refuses(
    "model",
    ["vidB-3.1-fast", "vidC-1-0-pro-fast", "vidD-02", "imgA-4", "textA-1", "vidA-3"].map((model) => ({ model, prompt })),
    "model_not_found",
  ));
test("a remix without model is refused", () => refuses("model", [{ prompt }, { prompt, model: null }, { prompt, model: 2 }]));

test("a task that was never issued or belongs to another account is 404 task_not_found", async () => {
  const foreign = await done(await newAccount());
  const account = await newAccount();
  for (const source of [foreign, neverIssued, "task_short", "video"])
    expect(await call(getRemix(source), { key: account.key, body: { model: "vidA-2", prompt } }), source).toMatchObject({
      status: 404,
      body: { error: { message: expect.any(String), type: "task_not_found", code: "task_not_found", param: "video_id" } },
    });
  await expectNothingPaid(account);
  expect((await call("/v1/tasks", { key: account.key })).body.data).toEqual([]);
});
test("a remix and a video of another model can be remixed", async () => {
  const account = await newAccount();
  const video = await done(account, { model: "vidD-02" });
  const remix = await done(account, { prompt }, getRemix(video));
  const answer = await call(getRemix(remix), { key: account.key, body: { model: "vidA-2-pro", prompt } });
  expect(answer).toMatchObject({ status: 200, body: { model: "vidA-2-pro", metadata: { source_task: remix, reserved: 4.5 } } });
});
test("a video with private: true cannot be remixed, one with private: false can", async () => {
  const account = await newAccount();
  await refusesSource(account, await done(account, { metadata: { private: true } }));
  const open = await done(account, { metadata: { private: false } });
  expect((await call(getRemix(open), { key: account.key, body: { model: "vidA-2", prompt } })).status).toBe(200);
});
test("a video that is not completed cannot be remixed", async () => {
  const account = await newAccount();
  await refusesSource(account, await submit(account, videos, { model: "vidA-2", prompt: unique() }));
});
test("a video that failed or was cancelled cannot be remixed", async () => {
  const account = await newAccount();
  const text = unique();
  await script({ match: text, polls: [{ failed: "provider_error" }] });
  const failed = await submit(account, videos, { model: "vidA-2", prompt: text });
  expect((await finish(account, failed)).body.data.status).toBe("failed");
  await refusesSource(account, failed);
  const cancelled = await submit(account, videos, { model: "vidA-2", prompt: unique() });
  expect((await call(`/v1/tasks/${cancelled}/cancel`, { key: account.key, method: "POST" })).status).toBe(200);
  await refusesSource(account, cancelled);
});
test("an image and a character cannot be remixed", async () => {
  const account = await newAccount();
  await refusesSource(account, await done(account, { model: "imgA-4" }, "/v1/images/generations"));
  await refusesSource(account, await done(account, { from_task: await done(account), timestamps: "0,2" }));
});
test("a video can be remixed until it expires after 24 hours", async () => {
  const account = await newAccount();
  const video = await done(account);
  const { data } = (await call(`/v1/tasks/${video}`, { key: account.key })).body;
  vi.setSystemTime(1000 * (data.expires_at - 1));
  expect((await call(getRemix(video), { key: account.key, body: { model: "vidA-2", prompt } })).status).toBe(200);
  vi.setSystemTime(1000 * (data.expires_at + 1));
  await refusesSource(account, video);
});
