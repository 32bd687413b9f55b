/**
 * `DELETE /admin/accounts/{id}`: no personal data remains, the ledger keeps its amounts, and after a crash at any step the next run
 * completes the erasure.
 */

import "../support/alone.ts";
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { toTaskId } from "../../src/base/ids.ts";
import { Objects } from "../../src/rpc/objects.ts";
import { continueErasures, erase } from "../../src/operations/erase.ts";
import { bindings, openStub } from "../support/faults.ts";
import { type Account, asAdmin, call, complete, finish, holdTime, newAccount, submit, unique, wakeWallet } from "../support/gateway.ts";
import { submission } from "../tasks/submission.ts";

beforeEach(holdTime);
afterEach(() => void vi.useRealTimers());

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const later = (seconds: number) => vi.setSystemTime(Date.now() + 1000 * seconds);
const eraseAccount = ({ id }: Account) => asAdmin(`/accounts/${id}`, { method: "DELETE" });

interface Person extends Account {
  /** A word that all data of this user contains. */
  word: string;
  tasks: string[];
  character: string;
}

/** A character that the account's task created from another account's video. */
async function findCharacter(account: Account, word: string): Promise<{ id: string; tasks: string[] }> {
  const video = await complete(account, videos, { model: "vidA-2", prompt: word });
  const task = await submit(account, videos, { model: "vidA-2", from_task: video, timestamps: "0,1" });
  const { body } = await finish(account, task);
  return { id: body.data.result.data.characters[0].id as string, tasks: [video, task] };
}

/** A user with a sign-in, keys, tasks in every state, a character and references: all contain one word. */
async function person(isWhole = false): Promise<Person> {
  const account = await newAccount(100);
  const word = unique();
  const user = `user-${word}`;
  await env.DB.batch([
    env.DB.prepare("UPDATE account SET email = ?2, name = ?3 WHERE id = ?1").bind(account.id, `${word}@example.com`, `Mara ${word}`),
    env.DB.prepare("INSERT INTO auth_user VALUES (?1, ?2, ?3, 1, NULL, '', '')").bind(user, `Mara ${word}`, `Mara.${word}@Example.com`),
    env.DB.prepare("INSERT INTO auth_session VALUES (?1, ?2, ?1, '', '192.0.2.7', 'Firefox', '', '')").bind(`session-${word}`, user),
    env.DB.prepare("INSERT INTO auth_verification VALUES (?1, ?2, ?3, '', '', '')").bind(`v-${user}`, "reset-password:t", user),
    env.DB.prepare("INSERT INTO auth_verification VALUES (?1, ?2, 'x', '', '', '')").bind(`e-${user}`, `${word}@example.com`),
    ...[`reset ${word}@example.com`, `guess mara.${word}@example.com`, `failed sign-in ${user}`].map((key) =>
      env.DB.prepare("INSERT INTO auth_rate_limit VALUES (?1, ?1, 1, 1)").bind(key),
    ),
    env.DB.prepare("INSERT INTO member (user_id, account_id, created_at) VALUES (?1, ?2, 1)").bind(user, account.id),
    env.DB.prepare("UPDATE member SET key_id = ?2 WHERE account_id = ?1").bind(account.id, account.keyId),
    env.DB.prepare("INSERT INTO invitation VALUES (?1, ?2, 1)").bind(`invitation-${word}`, account.id),
    env.DB.prepare("INSERT INTO conversation VALUES (?1, ?1, 'user', ?2, 1, '[]')").bind(account.id, word),
    env.DB.prepare("INSERT INTO request_page VALUES (?1, 1, 1, 0, ?2)").bind(account.id, JSON.stringify({ path: `GET /${word}` })),
    env.DB.prepare("UPDATE api_key SET name = ?2 WHERE account_id = ?1").bind(account.id, `key of ${word}`),
    env.DB.prepare("INSERT INTO quota_change (account_id, at, before, after, reason) VALUES (?1, 1, 1, 2, ?2)").bind(account.id, word),
    env.DB.prepare("INSERT INTO credit VALUES ('code:' || ?1, ?1, 'code', 1, 1, ?2)").bind(account.id, word),
  ]);
  await call("/v1/webhook", { key: account.key, method: "PUT", body: { url: `https://${word}.example/hook` } });
  const bucket = { kind: "s3", endpoint: `https://${word}.example`, bucket: "media", region: "auto" };
  const set = await call(`/v1/destinations/${word}`, {
    key: account.key,
    method: "PUT",
    body: { ...bucket, access_key_id: "a", secret_access_key: "b" },
  });
  expect(set.status, JSON.stringify(set.body)).toBe(200);
  const own = await (isWhole ? findCharacter(account, word) : { id: `ch_${crypto.randomUUID()}`, tasks: [] });
  if (!isWhole) {
    await env.ASSETS.put(`characters/${own.id}`, "an image");
    await env.DB.prepare(
      "INSERT INTO character (id, account_id, username, display_name, model, provider, picture_type, picture_digest, created_at) VALUES (?1, ?2, ?3, ?3, 'vidA-2', 'sandbox', 'image/png', 'x', 1)",
    )
      .bind(own.id, account.id, `amber-${account.id}`)
      .run();
  }
  await wakeWallet(account);
  const written = await complete(account, images, { model: "imgA-4", prompt: word, reference: word });
  expect((await call(`/v1/tasks/${written}/receipt`, { key: account.key })).body.receipt.reference).toBe(word);
  const open = await submit(account, images, { model: "imgA-4", prompt: word, reference: word, deliver_to: { destination: word } });
  return { ...account, word, tasks: [...own.tasks, written, open], character: own.id };
}

/** Every row of the database and every file that contains the user's word. */
async function readTraces({ id, word, tasks, character }: Person): Promise<string[]> {
  const { results } = await env.DB.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite%'",
  ).run<{ name: string }>();
  const found: string[] = [];
  for (const { name } of results) {
    const rows = (await env.DB.prepare(`SELECT * FROM ${name}`).run()).results.map((row) => JSON.stringify(row));
    found.push(
      ...rows.filter((row) => row.includes(word) || (row.includes(id) && /amber|webhook|whsec_/i.test(row))).map((row) => `${name} ${row}`),
    );
  }
  for (const prefix of [...tasks.flatMap((task) => [`assets/${task}/`, `inputs/${task}/`]), `characters/${character}`])
    found.push(...(await env.ASSETS.list({ prefix })).objects.map(({ key }) => key));
  for (const task of tasks) {
    const record = await runInDurableObject(openStub(task), (_, { storage }) => JSON.stringify([...storage.kv.list()]));
    if (record.includes(word)) found.push(`record of ${task}`);
  }
  return found;
}

async function expectErased(erased: Person): Promise<void> {
  later(10); // the time until which isolates accept its keys
  expect(await readTraces(erased)).toEqual([]);
  expect((await asAdmin(`/accounts/${erased.id}`)).status).toBe(404);
  expect((await call("/v1/tasks", { key: erased.key })).status).toBe(401);
  const { body } = await asAdmin(`/audit?account=${erased.id}`);
  expect(body).toMatchObject({ accounts: 1, tasks_open: 0, reserved: 0, drift: [] });
}

const charged = async ({ id }: Account) =>
  (await env.DB.prepare("SELECT sum(charged) AS charged, count(*) AS entries FROM entry WHERE account_id = ?1").bind(id).first()) as {
    charged: number;
    entries: number;
  };

test("a user with every kind of stored data: only amounts remain", async () => {
  const [mara, other] = [await person(true), await person()];
  expect((await readTraces(mara)).length).toBeGreaterThan(10);
  const answer = await eraseAccount(mara);
  expect([answer.status, answer.body.byteLength]).toEqual([204, 0]);
  await expectErased(mara);
  expect(await charged(mara)).toEqual({ charged: expect.any(Number), entries: 4 });
  expect((await charged(mara)).charged).toBeGreaterThan(0);
  expect((await asAdmin(`/accounts?email=${mara.word}@example.com`)).body.data).toEqual([]);
  // The other account is unchanged.
  expect((await call(`/v1/tasks/${other.tasks[0]}`, { key: other.key })).body.data.status).toBe("completed");
  expect((await call("/v1/characters", { key: other.key })).body.data).toHaveLength(1);
  // The e-mail address can be used again.
  expect((await asAdmin("/accounts", { body: { email: `${mara.word}@example.com`, quota: 1 } })).status).toBe(201);
});

test("requests that were running are erased a minute later, then the erasure is complete", async () => {
  const mara = await person();
  expect((await eraseAccount(mara)).status).toBe(204);
  expect((await eraseAccount(mara)).status).toBe(204);
  // A submission that another machine accepted with a key that it still cached.
  const id = env.TASKS.newUniqueId();
  const late = toTaskId(id);
  const { id: accountId, keyId, word } = mara;
  const routes = [{ provider: "sandbox", model: "imgA-4" }];
  await env.TASKS.get(id).create({ ...submission, accountId, keyId, routes, parameters: { prompt: word } });
  expect((await readTraces({ ...mara, tasks: [late] })).length).toBe(1);
  later(61);
  await continueErasures(env, new Objects(env));
  await expectErased({ ...mara, tasks: [...mara.tasks, late] });
  expect((await env.DB.prepare("SELECT * FROM erasure WHERE account_id = ?1").bind(mara.id).run()).results).toEqual([]);
  expect((await eraseAccount(mara)).status).toBe(404);
});

/** The objects and the bucket that erasing uses, with a fault in the `count`-th call. */
function failing(count: number): { run: (id: string) => Promise<unknown>; calls: () => number } {
  let calls = 0;
  const watched = <T extends object>(target: T): T =>
    new Proxy(target, {
      get: (of, name) => {
        const value = Reflect.get(of, name) as unknown;
        if (typeof value !== "function") return value;
        return async (...values: unknown[]) => {
          if (++calls === count) throw new Error("scripted fault");
          return Reflect.apply(value, of, values) as unknown;
        };
      },
    });
  const ASSETS = watched(env.ASSETS);
  const objects = watched(new Objects(env));
  return { run: (id) => erase({ DB: env.DB, ASSETS }, objects, id), calls: () => calls };
}

test("a crash at each call to objects and bucket: the next run erases the rest", async () => {
  const errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
  for (let count = 1; ; count++) {
    const mara = await person();
    const { run, calls } = failing(count);
    const crashed = await run(mara.id).then(
      () => false,
      () => true,
    );
    if (!crashed) {
      expect(calls()).toBeLessThan(count);
      expect(count).toBeGreaterThan(4);
      break;
    }
    // The user is signed out and the keys are refused even if other steps of the erasure failed.
    expect((await asAdmin(`/accounts/${mara.id}`)).status).toBe(404);
    await continueErasures(env, new Objects(env));
    await expectErased(mara);
    // A run continues five: this one makes room.
    await env.DB.prepare("DELETE FROM erasure WHERE account_id = ?1").bind(mara.id).run();
  }
  errors.mockRestore();
});

test("erasures that cannot go on do not hold up that of another account", async () => {
  const errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const stuck = Array.from({ length: 6 }, (_, at) => `acc_stuck${at}`);
  await env.DB.batch(stuck.map((id) => env.DB.prepare("INSERT INTO erasure VALUES (?1, 1, 1, '')").bind(id)));
  const mara = await newAccount();
  await eraseAccount(mara);
  later(61);
  const objects = new Objects(env);
  vi.spyOn(objects, "announceKeys").mockImplementation(async (id) => {
    if (stuck.includes(id)) throw new Error("scripted fault");
    return Date.now();
  });
  const isLeft = () => env.DB.prepare("SELECT 1 FROM erasure WHERE account_id = ?1").bind(mara.id).first();
  for (let run = 0; run < 50 && (await isLeft()); run++) await continueErasures(env, objects);
  expect(await isLeft()).toBeNull();
  await env.DB.prepare("DELETE FROM erasure WHERE account_id LIKE 'acc_stuck%'").run();
  errors.mockRestore();
});

test("a fault of the database at each statement", async () => {
  const target = Object.getPrototypeOf(env.DB.prepare("SELECT 1")) as Record<string, (...values: unknown[]) => Promise<unknown>>;
  const database = Object.getPrototypeOf(env.DB) as Record<string, (...values: unknown[]) => Promise<unknown>>;
  for (let count = 1, isOver = false; !isOver; count++) {
    const mara = await person();
    let calls = 0;
    const spies = [...(["run", "first"] as const).map((method) => [target, method] as const), [database, "batch"] as const].map(
      ([of, method]) => {
        const original = of[method]!;
        return vi.spyOn(of, method).mockImplementation(async function (this: unknown, ...values: unknown[]) {
          if (++calls === count) throw new Error("scripted fault");
          return original.apply(this, values);
        });
      },
    );
    const errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
    await erase(env, new Objects(env), mara.id).catch(() => undefined);
    isOver = calls < count;
    for (const spy of [...spies, errors]) spy.mockRestore();
    if (count === 1) expect((await asAdmin(`/accounts/${mara.id}`)).status).toBe(200);
    await erase(env, new Objects(env), mara.id);
    await expectErased(mara);
  }
});

test("an account with more tasks than one request erases is disabled at once, and its tasks are erased later", async () => {
  const mara = await person();
  await env.DB.batch(
    Array.from({ length: 350 }, (_, at) =>
      env.DB.prepare(
        `INSERT INTO entry (task_id, account_id, key_id, kind, model, held, charged, outcome, at, closed_at)
         VALUES (?1, ?2, ?3, 'image', 'imgA-4', 0, 0, 'completed', ?4, ?4)`,
      ).bind(`task_filler_${at}`, mara.id, mara.keyId, Date.now() - 86_400_000 + at),
    ),
  );
  expect((await eraseAccount(mara)).status).toBe(202);
  expect((await asAdmin(`/accounts/${mara.id}`)).status).toBe(404);
  for (let run = 0; run < 3; run++) await continueErasures(env, new Objects(env));
  expect(await readTraces(mara)).toEqual([]);
});

test("an account whose access was changed a thousand times and more leaves none of its changes in the bucket", async () => {
  const mara = await newAccount();
  // The bucket takes and lists a thousand names in one call.
  const names = Array.from({ length: 1_001 }, (_, at) => `changes/${mara.id}/${String(at + 1).padStart(15, "0")}-webhook_endpoint.json`);
  for (let at = 0; at < names.length; at += 100)
    await Promise.all(
      names.slice(at, at + 100).map((name) => env.ASSETS.put(name, JSON.stringify({ act: "webhook_endpoint", url: null }))),
    );
  // The local bucket deletes any number of them.
  const bucket = bindings.bucket();
  const remove = bucket["delete"]!;
  vi.spyOn(bucket, "delete").mockImplementation(async function (this: unknown, keys: unknown) {
    if (Array.isArray(keys) && keys.length > 1_000) throw new Error("delete: too many keys");
    return remove.call(this, keys);
  });
  expect((await eraseAccount(mara)).status).toBe(204);
  const { objects } = await env.ASSETS.list({ prefix: `changes/${mara.id}/` });
  expect(objects.map(({ key }) => key)).toEqual([expect.stringMatching(/-erased\.json$/)]);
});

test("refusals: an unknown account, no operator", async () => {
  expect((await asAdmin("/accounts/acc_unknown", { method: "DELETE" })).status).toBe(404);
  expect((await asAdmin("/accounts/acc_unknown", { method: "DELETE", key: "wrong" })).status).toBe(401);
});
