/** Thousands of ids that were never issued: each is answered like another account's task, and leaves no trace. Contract 2. */

import "../../support/alone.ts";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { toObjectId, toTaskId } from "../../../src/base/ids.ts";
import { bindings, nothingStored, openStorage } from "../../support/faults.ts";
import { type Account, call, holdTime, newAccount, submit, unique } from "../../support/gateway.ts";
import { traces } from "../../support/traces.ts";

holdTime();

const images = "/v1/images/generations";
const base64url = { alphabet: "base64url", omitPadding: true } as const;
const newTask = (account: Account, headers = {}) => submit(account, images, { model: "imgA-4", prompt: unique() }, headers);

/** Every way to query a task by its id. */
const ways: ((id: string, key: string) => ReturnType<typeof call>)[] = [
  (id, key) => call(`/v1/tasks/${id}`, { key }),
  (id, key) => call(`/v1/videos/generations/${id}`, { key }),
  (id, key) => call(`/v1/characters_tasks/${id}`, { key }),
  (id, key) => call(`/v1/tasks/${id}/cancel`, { key, method: "POST" }),
];

const random = () => `task_${crypto.getRandomValues(new Uint8Array(32)).toBase64(base64url)}`;

/** Variants of an id of the caller's own: a lenient parser would find the task. */
function near(id: string): string[] {
  const bytes = Uint8Array.fromBase64(id.slice(5), base64url);
  const flipped = Array.from({ length: 256 }, (_, bit) => {
    const other = bytes.slice();
    other[bit >> 3]! ^= 1 << (bit & 7);
    return `task_${other.toBase64(base64url)}`;
  });
  const truncated = Array.from({ length: id.length - 1 }, (_, at) => id.slice(0, at + 1));
  const swapped = Array.from(id, (letter) => (letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()));
  const oneCase = swapped.map((letter, at) => id.slice(0, at) + letter + id.slice(at + 1)).filter((text) => text !== id);
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const last = alphabet.indexOf(id.at(-1)!);
  // The last character's two low bits are unused: three other spellings decode to the same bytes.
  const unusual = [1, 2, 3].map((bits) => id.slice(0, -1) + alphabet[last + bits]!);
  const longer = ["A", "AA", "=", "%3D", "%00", "%20", "%0A", ".", id, "A".repeat(8_000)].map((more) => id + more);
  const renamed = [id.slice(5), `task-${id.slice(5)}`, `tasks_${id.slice(5)}`, ` ${id}`, `%20${id}`, `*${id}`];
  return [
    ...flipped,
    ...truncated,
    swapped.join(""),
    ...oneCase,
    ...unusual,
    ...longer,
    ...renamed,
    `task_${bytes.toHex()}`,
    bytes.toHex(),
  ];
}

/** Ids that the platform signed for objects other than tasks, such as the caller's idempotency keys, client tokens and wallets. */
const ofOtherObjects = () =>
  Array.from({ length: 100 }, (_, at) =>
    [env.CLAIMS.newUniqueId(), env.TOKENS.newUniqueId(), env.CLAIMS.idFromName(`${at}`), env.WALLETS.idFromName(`${at}`)].map(toTaskId),
  ).flat();

test("ten thousand forged ids are 404 like another account's task, start no object and leave no trace", { timeout: 60_000 }, async () => {
  const caller = await newAccount();
  const stranger = await newAccount();
  const own = [await newTask(caller), await newTask(caller, { "idempotency-key": "one" })];
  const theirs = await newTask(stranger);
  const expected = await Promise.all(ways.map(async (ask) => (await ask(theirs, caller.key)).body));
  expect(expected[0]).toEqual({
    code: 404,
    message: "The task does not exist.",
    error: { message: "The task does not exist.", type: "task_not_found", code: "task_not_found", param: null },
  });
  const before = await traces();
  const woken = vi.spyOn(bindings.namespace(), "get");

  const forged = [...own.flatMap(near), ...ofOtherObjects()];
  forged.push(...Array.from({ length: 2_500 - forged.length }, random));
  for (let at = 0; at < forged.length; at += 100) {
    const batch = forged.slice(at, at + 100);
    const answers = await Promise.all(batch.flatMap((id) => ways.map((ask) => ask(id, caller.key))));
    const wrong = answers.filter(({ status, body }, n) => status !== 404 || JSON.stringify(body) !== JSON.stringify(expected[n % 4]));
    expect(wrong.map(({ status, body }) => ({ status, body }))).toEqual([]);
  }

  expect(woken).not.toHaveBeenCalled();
  expect(await traces()).toEqual(before);
  for (const id of own) expect((await call(`/v1/tasks/${id}`, { key: caller.key })).status).toBe(200);
});

test("an id that the platform signed without a task is 404 too, and its object stores nothing", async () => {
  const { key } = await newAccount();
  const before = (await traces()).rows;
  for (const id of Array.from({ length: 5 }, () => toTaskId(env.TASKS.newUniqueId()))) {
    for (const ask of ways) expect(await ask(id, key)).toMatchObject({ status: 404, body: { error: { code: "task_not_found" } } });
    expect(await openStorage(env.TASKS.get(toObjectId(env.TASKS, id)!))).toEqual(nothingStored);
  }
  expect((await traces()).rows).toEqual(before);
});

test("a forged id is not accepted as a source, neither of a remix nor of a character", async () => {
  const caller = await newAccount();
  const id = await newTask(caller);
  const before = await traces();
  const forged = [...near(id).slice(250, 320), random(), ...ofOtherObjects().slice(0, 8)];
  for (const other of forged) {
    const remix = await call(`/v1/videos/${other}/remix`, { key: caller.key, body: { model: "vidA-2", prompt: "again" } });
    expect(remix, other).toMatchObject({ status: 404, body: { error: { code: "task_not_found", param: "video_id" } } });
    const character = await call("/v1/videos/generations", {
      key: caller.key,
      body: { model: "vidA-2", from_task: other, timestamps: "0,1" },
    });
    expect(character, other).toMatchObject({ status: 404, body: { error: { code: "task_not_found", param: "from_task" } } });
  }
  expect(await traces()).toEqual(before);
});
