/** Bodies that create a character, at both sides of every limit: mode B of 4.3 and part 8 of the interface, section 1 of the contract. */

import { expect, test, vi } from "vitest";
import { neverIssued, refusing } from "../../support/bodies.ts";
import { type Account, readBalance, call, complete, finish, holdTime, newAccount, submit, unique, newTask } from "../../support/gateway.ts";
import { expectNothingPaid } from "../../support/refusal.ts";

holdTime();

const path = "/v1/videos/generations";
const model = "vidA-2";
const url = "https://films.example/amber.mp4";
const timestamps = "0,2";

/** Each body creates a character: its parameters are echoed, and the price is reserved. */
async function accepts(rows: [body: object, told: object][]): Promise<void> {
  const account = await newAccount();
  for (const [body, told] of rows) {
    const answer = await call(path, { key: account.key, body });
    expect(answer.status, JSON.stringify([body, answer.body])).toBe(200);
    expect(answer.body.metadata).toEqual({ kind: "character", ...told, reserved: 0.05 });
  }
  expect((await readBalance(account)).reserved).toBeCloseTo(0.05 * rows.length, 6);
}

const refuses = refusing(path);

/** A completed task of the account. */
const done = (account: Account, body: object, at = path) => complete(account, at, { model, prompt: unique(), ...body });

/** `from_task` is refused with 400, and nothing more is reserved. */
async function refusesTask(account: Account, from_task: string): Promise<void> {
  const before = await readBalance(account);
  const answer = await call(path, { key: account.key, body: { model, from_task, timestamps } });
  expect(answer).toMatchObject({ status: 400, body: { error: { type: "invalid_request", param: "from_task" } } });
  expect(await readBalance(account)).toEqual(before);
}

for (const name of ["vidA-2", "vidA-2-pro"]) {
  test(`${name}: url and timestamps create a character at 0.05`, () =>
    accepts([
      [
        { model: name, url, timestamps },
        { url, timestamps },
      ],
    ]));
  test(`${name}: one of url and from_task is required`, () =>
    refuses("url", [
      { model: name, timestamps },
      { model: name, url: null, timestamps },
    ]));
  test(`${name}: url together with from_task is refused`, () =>
    refuses("from_task", [{ model: name, url, from_task: neverIssued, timestamps }]));
  test(`${name}: timestamps are required`, () =>
    refuses("timestamps", [
      { model: name, url },
      { model: name, from_task: neverIssued, timestamps: null },
    ]));
}

test("a range of 1 to 3 seconds from 0 on is accepted", () =>
  accepts(
    ["0,1", "0,3", "1.5,2.5", "1.5,4.5", "10,12.25", "0.1,1.1", "0.2,1.2", "1.1,4.1", "0.7,3.7", "3599,3600"].map((range) => [
      { model, url, timestamps: range },
      { url, timestamps: range },
    ]),
  ));
test("a range shorter than 1 second is refused", () =>
  refuses(
    "timestamps",
    ["0,0.999", "0,0.999999", "5,5", "0,0"].map((range) => ({ model, url, timestamps: range })),
  ));
test("a range longer than 3 seconds is refused", () =>
  refuses(
    "timestamps",
    ["0,3.001", "0,3.000001", "1,4.5", "0,60"].map((range) => ({ model, url, timestamps: range })),
  ));
test("a range that runs backwards or starts before 0 is refused", () =>
  refuses(
    "timestamps",
    ["3,1", "2,0", "-1,1", "-0.5,1", "-3,-1"].map((range) => ({ model, url, timestamps: range })),
  ));
test("timestamps of another form are refused", () =>
  refuses(
    "timestamps",
    ["", ",", "1", "1,", ",2", "1,2,3", "1;3", "1-3", "a,b", "0:00,0:02", "NaN,2", "0,Infinity", "0x0,0x2", "0,2e0", "0,2s"].map(
      (range) => ({
        model,
        url,
        timestamps: range,
      }),
    ),
  ));
test("white space around the numbers is accepted up to a limit", async () => {
  await accepts([
    [
      { model, url, timestamps: " 0 , 2\n" },
      { url, timestamps: " 0 , 2\n" },
    ],
  ]);
  const long = " ".repeat(3_000_000);
  await refuses(
    "timestamps",
    [`${long}0,2`, `0${long},2`, `0,${long}2`, `0,2${long}`].map((range) => ({ model, url, timestamps: range })),
  );
});
test("timestamps that are not a string are refused", () =>
  refuses(
    "timestamps",
    [2, true, [0, 2], { start: 0, end: 2 }].map((range) => ({ model, url, timestamps: range })),
  ));

test("a url must be a complete http(s) URL without userinfo", () =>
  refuses(
    "url",
    [
      "ftp://films.example/a.mp4",
      "https://u:p@films.example/a.mp4",
      "data:video/mp4;base64,AAAA",
      "films.example/a.mp4",
      "https://",
      "",
    ].map((bad) => ({ model, url: bad, timestamps })),
  ));
test("white space around a url counts as part of its length", async () => {
  await accepts([
    [
      { model, url: ` ${url}\n`, timestamps },
      { url: ` ${url}\n`, timestamps },
    ],
  ]);
  const long = " ".repeat(3_000_000);
  await refuses(
    "url",
    [long + url, url + long].map((padded) => ({ model, url: padded, timestamps })),
  );
});
test("a url must be a string", () =>
  refuses(
    "url",
    [5, true, [url]].map((bad) => ({ model, url: bad, timestamps })),
  ));
test("a from_task must be a string", () =>
  refuses(
    "from_task",
    [5, true, [neverIssued]].map((bad) => ({ model, from_task: bad, timestamps })),
  ));
test("the fields of a video are not required and not echoed", () =>
  accepts([
    [
      { model, url, timestamps, prompt: "unused", duration: 10, size: "16:9", images: null },
      { url, timestamps },
    ],
  ]));
test("all violations are reported at once", async () => {
  const account = await newAccount();
  const { status, body } = await call(path, {
    key: account.key,
    body: { url: "ftp://a.example/b", from_task: neverIssued, timestamps: "9" },
  });
  expect(status).toBe(400);
  expect(body.error.details.map(({ param }: { param: string }) => param).sort()).toEqual(["from_task", "model", "timestamps", "url"]);
  expect(body.error.param).toBe(body.error.details[0].param);
});

test("a completed video of the account is accepted as the source", async () => {
  const account = await newAccount();
  const from_task = await done(account, {});
  const answer = await call(path, { key: account.key, body: { model, from_task, timestamps } });
  expect(answer.body.metadata).toEqual({ kind: "character", from_task, timestamps, reserved: 0.05 });
});
test("a range that ends after the source is 400 with its length, also for a dry run", async () => {
  const account = await newAccount();
  const from_task = await done(account, {});
  const { duration } = (await call(`${path}/${from_task}`, { key: account.key })).body;
  const before = await readBalance(account);
  for (const query of ["", "?dry_run=true"])
    expect(await call(path + query, { key: account.key, body: { model, from_task, timestamps: `0.5,${duration + 0.001}` } })).toMatchObject(
      {
        status: 400,
        body: {
          error: { message: `timestamps: must be at most ${duration}`, details: [{ param: "timestamps", allowed: { maximum: duration } }] },
        },
      },
    );
  expect(await readBalance(account)).toEqual(before);
  const last = { model, from_task, timestamps: `${duration - 1},${duration}` };
  expect((await call(path, { key: account.key, body: last })).status).toBe(200);
});
test("a remix, a video of another model and a private video are accepted as the source", async () => {
  const account = await newAccount();
  const video = await done(account, { model: "vidB-3.1-fast" });
  const remix = await done(account, { size: "1:1" }, `/v1/videos/${video}/remix`);
  const hidden = await done(account, { metadata: { private: true } });
  for (const from_task of [video, remix, hidden])
    expect((await call(path, { key: account.key, body: { model, from_task, timestamps } })).status).toBe(200);
});
test("a task that was never issued or belongs to another account is 404 task_not_found", async () => {
  const foreign = await done(await newAccount(), {});
  const account = await newAccount();
  for (const from_task of [foreign, neverIssued, "task_short", "no task", ""])
    expect(await call(path, { key: account.key, body: { model, from_task, timestamps } }), from_task).toMatchObject({
      status: 404,
      body: { error: { message: expect.any(String), type: "task_not_found", code: "task_not_found", param: "from_task" } },
    });
  await expectNothingPaid(account);
});
test("a video that is not completed is refused as the source", async () => {
  const account = await newAccount();
  await refusesTask(account, await submit(account, path, { model, prompt: unique() }));
});
test("a video that failed is refused as the source", async () => {
  const { account, id } = await newTask({ polls: [{ failed: "content_policy_violation" }] }, { model });
  expect((await finish(account, id)).body.data.status).toBe("failed");
  await refusesTask(account, id);
});
test("an image and a character are refused as the source", async () => {
  const account = await newAccount();
  const image = await done(account, { model: "imgA-4" }, "/v1/images/generations");
  await refusesTask(account, image);
  const from_task = await done(account, {});
  await refusesTask(account, await done(account, { from_task, timestamps }));
});
test("a video is accepted as the source until it expires after 24 hours", async () => {
  const account = await newAccount();
  const from_task = await done(account, {});
  const { data } = (await call(`/v1/tasks/${from_task}`, { key: account.key })).body;
  vi.setSystemTime(1000 * (data.expires_at - 1));
  expect((await call(path, { key: account.key, body: { model, from_task, timestamps } })).status).toBe(200);
  vi.setSystemTime(1000 * (data.expires_at + 1));
  await refusesTask(account, from_task);
});
