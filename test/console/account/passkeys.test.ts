/** Passkeys with an authenticator implemented here: its signatures are verified like real ones. */

import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { expire } from "../../../src/operations/expire.ts";
import { Browser, mailbox, refusedSignIns, signedUp } from "../support.ts";

const origin = "https://gateway.example";
const isUserPresent = 1;
const isUserVerified = 4;
const hasKey = 0x40;

const bytes = (text: string) => new TextEncoder().encode(text);
const base64url = (data: Uint8Array) => data.toBase64({ alphabet: "base64url", omitPadding: true });
const fromBase64url = (text: string) => Uint8Array.fromBase64(text, { alphabet: "base64url" });
const sha256 = (data: Uint8Array) => createHash("sha256").update(data).digest();
const join = (...parts: (Uint8Array | number[])[]) => Uint8Array.from(parts.flatMap((part) => [...part]));
const uint32 = (value: number) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];

/** CBOR of short values: text below 24 bytes, byte strings of 24 to 255 bytes. */
const cborText = (text: string) => join([0x60 + text.length], bytes(text));
const cborBytes = (data: Uint8Array) => join([0x58, data.length], data);

interface Options {
  challenge: string;
  userVerification?: string;
}

/** A key on a user's device. */
class Authenticator {
  readonly #id = crypto.getRandomValues(new Uint8Array(16));
  readonly #keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  #uses = 0;

  readonly #data = (flags: number, rest: Uint8Array = new Uint8Array()) =>
    join(sha256(bytes(new URL(origin).hostname)), [flags], uint32(++this.#uses), rest);

  readonly #client = (type: string, challenge: string, from: string) =>
    bytes(JSON.stringify({ type, challenge, origin: from, crossOrigin: false }));

  readonly #credential = (response: object) => ({
    id: base64url(this.#id),
    rawId: base64url(this.#id),
    type: "public-key",
    clientExtensionResults: {},
    response,
  });

  /** The request with which a browser adds this key. */
  register({ challenge }: Options, flags = isUserPresent | isUserVerified) {
    const { x = "", y = "" } = this.#keys.publicKey.export({ format: "jwk" });
    const cose = join([0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21], cborBytes(fromBase64url(x)), [0x22], cborBytes(fromBase64url(y)));
    const data = this.#data(flags | hasKey, join(new Uint8Array(16), [0, this.#id.length], this.#id, cose));
    const attestation = join([0xa3], cborText("fmt"), cborText("none"), cborText("attStmt"), [0xa0], cborText("authData"), cborBytes(data));
    return this.#credential({
      clientDataJSON: base64url(this.#client("webauthn.create", challenge, origin)),
      attestationObject: base64url(attestation),
      transports: ["internal"],
    });
  }

  /** The request with which a browser on origin `from` signs in with this key. */
  signIn({ challenge }: Options, flags = isUserPresent | isUserVerified, from = origin) {
    const client = this.#client("webauthn.get", challenge, from);
    const data = this.#data(flags);
    const signature = sign("sha256", join(data, sha256(client)), this.#keys.privateKey);
    return this.#credential({
      clientDataJSON: base64url(client),
      authenticatorData: base64url(data),
      signature: base64url(signature),
    });
  }
}

const readOptions = async (browser: Browser, path: string) => (await browser.ask(path, "{}")).json<Options>();

async function add(browser: Browser, key: Authenticator, flags?: number): Promise<number> {
  const response = key.register(await readOptions(browser, "/console/account/passkeys/options"), flags);
  return (await browser.ask("/console/account/passkeys", JSON.stringify({ response, name: "my <b>key</b>" }))).status;
}

/** Signs in with a key in a new browser: that browser, and the status. */
async function enter(key: Authenticator, flags?: number, from?: string): Promise<{ browser: Browser; status: number }> {
  const browser = new Browser();
  const response = key.signIn(await readOptions(browser, "/console/passkeys/options"), flags, from);
  return { browser, status: (await browser.ask("/console/passkeys", JSON.stringify({ response }))).status };
}

test("a passkey is added, signs in, and no longer does after its owner deleted it", async () => {
  const { browser: owner, email } = await signedUp();
  const key = new Authenticator();
  expect(await add(owner, key)).toBe(200);
  const page = await owner.read("/console/account");
  expect(page).toContain("my &lt;b&gt;key&lt;/b&gt;");
  const { browser, status } = await enter(key);
  expect(status).toBe(200);
  expect(await browser.read("/console/account")).toContain(email);
  const path = /\/console\/account\/passkeys\/\w+\/delete/.exec(page)![0];
  const { browser: stranger } = await signedUp();
  expect((await stranger.ask(path, {})).status).toBe(404);
  expect((await enter(key)).status).toBe(200);
  expect((await owner.ask(path, {})).status).toBe(303);
  expect((await enter(key)).status).toBe(400);
});

test("a passkey without user verification is refused and logged, and so is one created for another site", async () => {
  const { browser: owner, email } = await signedUp();
  const key = new Authenticator();
  expect(await add(owner, key, isUserPresent)).toBe(400);
  expect(await add(owner, key)).toBe(200);
  expect((await enter(key, isUserPresent)).status).toBe(400);
  expect((await enter(key, undefined, "https://evil.example")).status).toBe(400);
  await vi.waitFor(async () => expect(await refusedSignIns(email)).toEqual(["passkey", "passkey"]));
  expect((await enter(key)).status).toBe(200);
});

test("a challenge is valid once in one browser; a wrong signature is refused", async () => {
  const { browser: owner } = await signedUp();
  const key = new Authenticator();
  await add(owner, key);
  const browser = new Browser();
  const options = await readOptions(browser, "/console/passkeys/options");
  expect(options.userVerification).toBe("required");
  const body = JSON.stringify({ response: key.signIn(options) });
  expect((await new Browser().ask("/console/passkeys", body)).status).toBe(400);
  expect((await browser.ask("/console/passkeys", body)).status).toBe(200);
  expect((await browser.ask("/console/passkeys", body)).status).toBe(400);
  expect((await enter(new Authenticator())).status).toBe(400);
  for (const nonsense of ["{", "null", "[]", '{"response": 1}', '{"response": {"id": {}}}']) {
    await readOptions(browser, "/console/passkeys/options");
    expect((await browser.ask("/console/passkeys", nonsense)).status).toBe(400);
  }
});

test("requests from other origins are refused, and adding a passkey needs a recent session", async () => {
  const { browser: owner, email } = await signedUp();
  for (const path of ["/console/passkeys/options", "/console/passkeys", "/console/account/passkeys/options", "/console/account/passkeys"])
    for (const from of [null, "https://evil.example"]) expect((await owner.ask(path, "{}", from)).status).toBe(403);
  expect((await new Browser().ask("/console/account/passkeys/options", "{}")).status).toBe(303);
  await env.DB.prepare("UPDATE auth_session SET createdAt = ?2 WHERE userId = (SELECT id FROM auth_user WHERE email = ?1)")
    .bind(email, new Date(Date.now() - 3_600_000).toISOString())
    .run();
  expect((await owner.ask("/console/account/passkeys/options", "{}")).status).toBe(403);
  expect((await owner.ask("/console/account")).status).toBe(200);
});

test("a user who verifies an address by e-mail loses passkeys that were added before", async () => {
  const { emails, vars } = mailbox();
  const { browser: taker, email } = await signedUp();
  const key = new Authenticator();
  expect(await add(taker, key)).toBe(200);
  const owner = new Browser(vars);
  await owner.ask("/console/forgot", { email });
  const token = new URL(/https:\S+/.exec(emails.at(-1)!.text)![0]).searchParams.get("token")!;
  await owner.ask("/console/reset", { token, password: "another horse battery" });
  expect((await enter(key)).status).toBe(400);
  expect((await taker.ask("/console")).status).toBe(303);
});

test("a new passkey causes an e-mail to the user's address, a refused one none", async () => {
  const { emails, vars } = mailbox();
  const { browser, email } = await signedUp(vars);
  const token = /token=([\w.%-]+)/.exec(emails[0]?.text ?? "")?.[1] ?? "";
  await browser.ask("/console/sign-in", { email, password: "correct horse battery", to: `/console/confirm?token=${token}` });
  expect(await add(browser, new Authenticator(), isUserPresent)).toBe(400);
  expect(emails).toHaveLength(1);
  expect(await add(browser, new Authenticator())).toBe(200);
  expect(emails).toHaveLength(2);
  expect(emails[1]).toMatchObject({ to: email, subject: "A passkey was added" });
  expect(emails[1]?.text).toMatch(/\n\nhttps:\/\/gateway\.example\/console\/account$/);
});

test("visitors who do not sign in leave nothing that others' sign-ins read, and their challenges end with the next check", async () => {
  const prepare = vi.spyOn(Object.getPrototypeOf(env.DB) as D1Database, "prepare");
  expect((await enter(new Authenticator())).status).toBe(400);
  expect((await new Browser().ask("/console/reset", { token: "unknown", password: "a long password" })).status).toBe(400);
  expect((await new Browser().ask("/console/sign-in", { email: "nobody@example.com", password: "a long password" })).status).toBe(401);
  const queries = (): string[] =>
    prepare.mock.calls.map(([sql]) => String(sql)).filter((sql) => /auth_verification|auth_account/.test(sql));
  await vi.waitFor(() => expect(queries().some((sql) => sql.includes("providerId = ?1"))).toBe(true)); // logged after the answer
  const asked = new Set<string>(queries());
  prepare.mockRestore();
  for (const table of ["auth_verification", "auth_account"]) expect([...asked].some((sql) => sql.includes(table))).toBe(true);
  for (const sql of asked) {
    const numbered = [...sql.matchAll(/\?(\d+)/g)].map(([, at]) => Number(at));
    const values = Array.from({ length: Math.max(0, sql.match(/\?(?!\d)/g)?.length ?? 0, ...numbered) }, () => "1");
    const { results } = await env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .bind(...values)
      .run<{ detail: string }>();
    expect(results.map(({ detail }) => detail).join("\n"), sql).not.toMatch(/SCAN auth_/);
  }

  // What twenty networks cause within five minutes.
  await env.DB.prepare(
    `INSERT INTO auth_verification (id, identifier, value, expiresAt)
     WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 6000) SELECT 'many ' || n, 'many ' || n, '{}', ?1 FROM n`,
  )
    .bind(new Date(Date.now() - 1_000).toISOString())
    .run();
  await readOptions(new Browser(), "/console/passkeys/options");
  const before = new Date(Date.now() + 500_000).toISOString(); // other tests' links last longer
  const left = () =>
    env.DB.prepare("SELECT count(*) AS left FROM auth_verification WHERE expiresAt < ?1").bind(before).first<number>("left");
  await expire(env, Date.now());
  expect(await left()).toBeGreaterThan(0); // the challenge that was just made
  await expire(env, Date.now() + 600_000);
  expect(await left()).toBe(0);
});

test("a user has at most fifty passkeys: each is a row as large as a browser makes it", async () => {
  const { browser: owner, email } = await signedUp();
  const userId = await env.DB.prepare("SELECT id FROM auth_user WHERE email = ?1").bind(email).first<string>("id");
  await env.DB.batch(
    Array.from({ length: 50 }, (_, at) =>
      env.DB.prepare(
        `INSERT INTO auth_passkey (id, name, publicKey, userId, credentialID, counter, deviceType, backedUp)
         VALUES (?1 || ?2, 'old', '', ?1, ?1 || ?2, 0, '', 0)`,
      ).bind(userId, `${at}`),
    ),
  );
  expect(await add(owner, new Authenticator())).toBe(400);
  await env.DB.prepare("DELETE FROM auth_passkey WHERE id = ?1 || '7'").bind(userId).run();
  expect([await add(owner, new Authenticator()), await add(owner, new Authenticator())]).toEqual([200, 400]);
});
