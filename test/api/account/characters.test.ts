/** Characters: listed, mentioned in prompts, deleted. Interface 2.4 and 4.7; contract 1 and 2. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { bindings, failOnce, failWalletOnce, openStub } from "../../support/faults.ts";
import { type Account, call, complete, finish, holdTime, newAccount, pass, readBalance, submit, unique } from "../../support/gateway.ts";

holdTime();

const videos = "/v1/videos/generations";
const list = async (account: Account, query = "") => call(`/v1/characters${query}`, { key: account.key });
const tick = () => vi.setSystemTime(Date.now() + 1_000);

const makeVideo = (account: Account) => complete(account, videos, { model: "vidA-2", prompt: unique() });

/** Creates a character: the ids of its task and of the character. */
async function character(account: Account, source?: string): Promise<{ task: string; id: string }> {
  tick();
  const task = await submit(account, videos, { model: "vidA-2", from_task: source ?? (await makeVideo(account)), timestamps: "0,1" });
  const { body } = await finish(account, task);
  return { task, id: body.data.result.data.characters[0].id };
}

/** The characters that the task's prompt mentions. */
const namedIn = async (account: Account, prompt: string) =>
  (await openStub(await submit(account, videos, { model: "vidA-2", prompt })).read(account.id))!.submission.characters.map(({ id }) => id);

test("the list has the account's characters, newest first, in pages, with image URLs that load", async () => {
  const account = await newAccount();
  const source = await makeVideo(account);
  const made = [];
  for (let count = 0; count < 3; count++) made.unshift((await character(account, source)).id);
  const whole = (await list(account)).body;
  expect(whole).toMatchObject({ object: "list", has_more: false });
  expect(whole.data.map(({ id }: { id: string }) => id)).toEqual(made);
  expect(whole.data[0]).toMatchObject({ username: "amber.fox", display_name: "Amber Fox", profile_picture_url: expect.any(String) });
  const first = (await list(account, "?limit=2")).body;
  expect([first.data.map(({ id }: { id: string }) => id), first.has_more]).toEqual([made.slice(0, 2), true]);
  const second = (await list(account, `?limit=2&after=${made[1]}`)).body;
  expect([second.data.map(({ id }: { id: string }) => id), second.has_more]).toEqual([made.slice(2), false]);
  expect((await list(await newAccount())).body.data).toEqual([]);
  // A caller who deletes each page reads on after its last, deleted row.
  expect((await call(`/v1/characters/${made[1]}`, { key: account.key, method: "DELETE" })).status).toBe(204);
  expect((await list(account, `?after=${made[1]}`)).body.data).toEqual(second.data);
  // Days later the task's assets are deleted, and the character's image still loads under a new URL.
  vi.setSystemTime(Date.now() + 3 * 86_400_000);
  const [later] = (await list(account)).body.data;
  expect((await call(whole.data[0].profile_picture_url)).status).toBe(410);
  const image = await call(later.profile_picture_url);
  expect(image.status).toBe(200);
  expect(image.headers.get("content-type")).toBe("image/png");
});

test("a deleted character is gone: 204, then 404; its image is deleted and its name is unknown", async () => {
  const account = await newAccount();
  const { id } = await character(account);
  const [{ profile_picture_url: image }] = (await list(account)).body.data;
  const stranger = await newAccount();
  expect((await call(`/v1/characters/${id}`, { key: stranger.key, method: "DELETE" })).status).toBe(404);
  const gone = await call(`/v1/characters/${id}`, { key: account.key, method: "DELETE" });
  expect([gone.status, gone.body.byteLength]).toEqual([204, 0]);
  expect((await call(`/v1/characters/${id}`, { key: account.key, method: "DELETE" })).status).toBe(404);
  expect((await list(account)).body.data).toEqual([]);
  expect((await call(image)).status).toBe(410);
  expect(await env.ASSETS.head(`characters/${id}`)).toBeNull();
  for (const prompt of ["@amber.fox runs", "@character runs"]) {
    const answer = await call(videos, { key: account.key, body: { model: "vidA-2", prompt } });
    expect(answer).toMatchObject({ status: 400, body: { error: { type: "invalid_request", code: "invalid_request", param: "prompt" } } });
  }
});

test("a deletion that fails in storage is retried until the image is deleted", async () => {
  const account = await newAccount();
  const { id } = await character(account);
  failOnce(bindings.bucket(), "delete");
  const remove = () => call(`/v1/characters/${id}`, { key: account.key, method: "DELETE" });
  if ((await remove()).status !== 204) expect((await remove()).status).toBe(204);
  expect(await env.ASSETS.head(`characters/${id}`)).toBeNull();
});

test("a character that is deleted before its task is settled does not come back with the settlement", async () => {
  const account = await newAccount();
  const source = await makeVideo(account);
  failWalletOnce(account, "settle");
  const { task, id } = await character(account, source);
  expect((await readBalance(account)).reserved).toBeGreaterThan(0);
  expect((await call(`/v1/characters/${id}`, { key: account.key, method: "DELETE" })).status).toBe(204);
  await pass(task, 2);
  expect(await readBalance(account)).toMatchObject({ reserved: 0 });
  expect((await list(account)).body.data).toEqual([]);
  expect(await env.ASSETS.head(`characters/${id}`)).toBeNull();
});

test("a prompt mentions a character by its username, or the newest one by @character", async () => {
  const account = await newAccount();
  const source = await makeVideo(account);
  const older = await character(account, source);
  const newer = await character(account, source);
  for (const prompt of ["@amber.fox waves", "Look: @AMBER.FOX!", "@character waves", "(@amber.fox), twice @amber.fox."])
    expect(await namedIn(account, prompt)).toEqual([newer.id]);
  expect(await namedIn(account, "write to amber@amber.fox, or a@b.c")).toEqual([]);
  await call(`/v1/characters/${newer.id}`, { key: account.key, method: "DELETE" });
  for (const prompt of ["@character", "@amber.fox"]) expect(await namedIn(account, prompt)).toEqual([older.id]);
});

test("unknown names in a prompt are refused, and each one is listed", async () => {
  const account = await newAccount();
  await character(await newAccount());
  const body = { model: "vidA-2", prompt: "@amber.fox meets @nobody and @character" };
  const answer = await call(videos, { key: account.key, body });
  expect(answer.status).toBe(400);
  expect(answer.body.error.details).toHaveLength(3);
  expect(answer.body.error.message).toContain("@amber.fox");
});
