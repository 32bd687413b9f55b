/** Secrets after rotations: the newest signs, replaced ones are accepted for as long as what they signed is valid. */

import { expect, test, vi } from "vitest";
import { withRotatedSecrets } from "../../../src/base/rotated-secrets.ts";
import { isSealed, openSealed, seal } from "../../../src/signing/sealing.ts";
import { call, complete, holdTime, newAccount } from "../../support/gateway.ts";

holdTime();

/** Ahead of the clock, in seconds: alarms that are set before it would run by themselves. */
const start = Math.floor(Date.now() / 1000);
const at = (seconds: number) => vi.setSystemTime(1000 * (start + seconds));
const day = 86_400;

test("without a rotation the environment is unchanged", () => {
  const env = { ASSET_SIGNING_SECRET: "first", OPENAI_API_KEY: "key", ASSET_SIGNING_SECRET_OLD: "older" };
  expect(withRotatedSecrets(env)).toBe(env);
});

test("each replaced secret of URLs is accepted for a day and an hour after its successor", () => {
  const [second, third] = [`ASSET_SIGNING_SECRET_V${start}`, `ASSET_SIGNING_SECRET_V${start + day / 2}`];
  const env = () => ({ ASSET_SIGNING_SECRET: "first", [third]: "third", [second]: "second" });
  for (const [seconds, old] of [
    [0, "second first"],
    [day + 3_599, "second first"],
    [day + 3_601, "second"],
    [1.5 * day + 3_601, ""],
  ] as const) {
    at(seconds);
    expect(withRotatedSecrets(env())).toMatchObject({ ASSET_SIGNING_SECRET: "third", ASSET_SIGNING_SECRET_OLD: old });
  }
});

test("retired keys of receipts have no end, and the operator's own old ones stay", () => {
  const env = { RECEIPT_SIGNING_KEY: "first", [`RECEIPT_SIGNING_KEY_V${start}`]: "second", RECEIPT_SIGNING_KEY_OLD: "older" };
  at(400 * day);
  expect(withRotatedSecrets(env)).toMatchObject({ RECEIPT_SIGNING_KEY: "second", RECEIPT_SIGNING_KEY_OLD: "first older" });
});

test("alerts are signed with the replaced secret too, for a week", () => {
  const env = () => ({ ALERT_SIGNING_SECRET: "first", [`ALERT_SIGNING_SECRET_V${start}`]: "second" });
  at(day);
  expect(withRotatedSecrets(env())).toMatchObject({ ALERT_SIGNING_SECRET: "second", ALERT_SIGNING_SECRET_OLD: "first" });
  at(8 * day);
  expect(withRotatedSecrets(env())).toMatchObject({ ALERT_SIGNING_SECRET: "second", ALERT_SIGNING_SECRET_OLD: undefined });
});

test("a URL that was signed before a rotation is delivered, with another secret it is 403", async () => {
  const account = await newAccount();
  const id = await complete(account, "/v1/images/generations", { model: "imgA-4", prompt: "p" });
  const { body } = await call(`/v1/tasks/${id}`, { key: account.key });
  const url = body.data.result.images[0].url[0] as string;
  const version = (secondsAgo: number) => `ASSET_SIGNING_SECRET_V${Math.floor(Date.now() / 1000) - secondsAgo}`;
  expect((await call(url, { vars: { [version(60)]: "a new secret" } })).status).toBe(200);
  expect((await call(url, { vars: { [version(2 * day)]: "a new secret" } })).status).toBe(403);
});

test("what was sealed before rotations opens a month after them, and counts as not sealed with the present key", async () => {
  const first = { SEALING_KEY: "first" };
  const sealed = await seal(first, "acc_1", "whsec_secret");
  at(30 * day);
  const rotated = withRotatedSecrets({ ...first, [`SEALING_KEY_V${start}`]: "second", [`SEALING_KEY_V${start + day}`]: "third" });
  expect(rotated).toMatchObject({ SEALING_KEY: "third", SEALING_KEY_OLD: "second first" });
  expect(await openSealed(rotated, "acc_1", sealed)).toBe("whsec_secret");
  expect(await isSealed(rotated, sealed)).toBe(false);
  expect(await openSealed({ SEALING_KEY: "of the file", SEALING_KEY_OLD: "first" }, "acc_1", sealed)).toBe("whsec_secret");
  await expect(openSealed({ SEALING_KEY: "second" }, "acc_1", sealed)).rejects.toThrow("another SEALING_KEY");
});

test("the same text is sealed differently each time", async () => {
  const env = { SEALING_KEY: "first" };
  expect(await seal(env, "acc_1", "whsec_secret")).not.toBe(await seal(env, "acc_1", "whsec_secret"));
});

test("what release 0.2.0 sealed under ASSET_SIGNING_SECRET opens, also after it was rotated, and is sealed anew", async () => {
  const sealed = await seal({ SEALING_KEY: "first" }, "acc_1", "whsec_secret");
  at(30 * day);
  for (const signing of [
    { ASSET_SIGNING_SECRET: "first" },
    { ASSET_SIGNING_SECRET: "first", [`ASSET_SIGNING_SECRET_V${start}`]: "second" },
  ]) {
    const env = withRotatedSecrets({ SEALING_KEY: "key", ...signing });
    expect(await openSealed(env, "acc_1", sealed)).toBe("whsec_secret");
    expect(await isSealed(env, sealed)).toBe(false);
    expect(await isSealed(env, await seal(env, "acc_1", "whsec_secret"))).toBe(true);
  }
});
