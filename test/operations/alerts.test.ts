/** Each alert begins and ends with its cause, and each of these changes is reported once to its receiver. */

import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import runbook from "../../docs/operations.md?raw";
import { listAlerts } from "../../src/db/alerts.ts";
import { toTaskId } from "../../src/ids.ts";
import { alertNames } from "../../src/operations/checks.ts";
import worker from "../../src/worker.ts";
import { alarm, complete, deliver, finish, holdTime, newAccount, pass, script, submit, unique, wakeWallet } from "../support/gateway.ts";
import { alertReceiver, readChanges, runOnce, webhookSecret } from "./support.ts";

beforeEach(holdTime);
afterEach(async () => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  await env.DB.batch(["alert", "incident", "check_progress", "audit_progress"].map((table) => env.DB.prepare(`DELETE FROM ${table}`)));
});

const later = (minutes: number) => vi.setSystemTime(Date.now() + 60_000 * minutes);
const image = (prompt = "a lighthouse") => ({ model: "imgA-4", prompt });

test("nothing is sent while there is no problem", async () => {
  await complete(await newAccount(), "/v1/images/generations", image());
  const received = alertReceiver();
  await runOnce();
  await runOnce();
  expect(received).toEqual([]);
});

test("a task past its deadline that is not final", async () => {
  const account = await newAccount();
  const id = await submit(account, "/v1/images/generations", image());
  const received = alertReceiver();
  later(5);
  await runOnce();
  expect(received).toEqual([]);
  later(60);
  await runOnce();
  await runOnce();
  expect(readChanges(received, "tasks_past_deadline")).toEqual([["alert.began", [id]]]);
  expect(readChanges(received, "holds_without_record")).toEqual([]);
  await alarm(id); // the deadline, at which it fails
  await runOnce();
  await runOnce();
  expect(readChanges(received, "tasks_past_deadline")).toEqual([
    ["alert.began", [id]],
    ["alert.ended", [id]],
  ]);
});

test("a hold whose task has no record", async () => {
  const account = await newAccount();
  const taskId = toTaskId(env.TASKS.newUniqueId());
  const charge = { taskId, accountId: account.id, keyId: account.keyId, kind: "image", model: "imgA-4" };
  expect(await env.WALLETS.getByName(account.id).reserve(charge, 1_000, {})).toEqual({ answer: "reserved" });
  const received = alertReceiver();
  later(120);
  await runOnce();
  expect(readChanges(received, "holds_without_record")).toEqual([["alert.began", [taskId]]]);
  await env.WALLETS.getByName(account.id).settle(charge, 0, "refused");
  await wakeWallet(account);
  await runOnce();
  expect(readChanges(received, "holds_without_record").map(([type]) => type)).toEqual(["alert.began", "alert.ended"]);
});

test("messages in the dead-letter queue, until half an hour after the last one", async () => {
  const id = await submit(await newAccount(), "/v1/images/generations", image());
  const received = alertReceiver();
  await deliver(id, "gateway-dead");
  await runOnce();
  later(29);
  await runOnce();
  expect(readChanges(received, "dead_letters")).toEqual([["alert.began", [id]]]);
  later(2);
  await runOnce();
  expect(readChanges(received, "dead_letters").map(([type]) => type)).toEqual(["alert.began", "alert.ended"]);
});

test("a wallet that differs from the ledger", async () => {
  const account = await newAccount();
  await env.DB.prepare("UPDATE wallet SET used = used + 1 WHERE id = ?1").bind(account.keyId).run();
  const received = alertReceiver();
  await runOnce();
  expect(readChanges(received, "ledger_drift")).toEqual([["alert.began", [account.keyId]]]);
  await env.DB.prepare("UPDATE wallet SET used = used - 1 WHERE id = ?1").bind(account.keyId).run();
  await runOnce();
  expect(readChanges(received, "ledger_drift").map(([type]) => type)).toEqual(["alert.began", "alert.ended"]);
});

test("a database above 70 % of its maximum size", async () => {
  const received = alertReceiver();
  await runOnce({ DATABASE_MAX_MB: "10" });
  expect(received).toEqual([]);
  const pad = "x".repeat(900_000);
  await env.DB.batch(
    Array.from({ length: 8 }, (_, at) => env.DB.prepare("INSERT INTO typical_time (sort, seconds) VALUES (?1, ?2)").bind(`pad ${at}`, pad)),
  );
  await runOnce({ DATABASE_MAX_MB: "10" });
  expect(readChanges(received, "database_size")).toEqual([["alert.began", ["over 70 % of 10 MB"]]]);
  await env.DB.prepare("DELETE FROM typical_time WHERE sort LIKE 'pad %'").run();
  await env.DB.prepare("UPDATE alert SET told = 'ended', ended_at = 0").run();
});

test("a provider whose credentials fail", async () => {
  const word = unique();
  const account = await newAccount();
  await script({ match: word, starts: [401, 401, 401, 401, 401, 401] });
  const id = await submit(account, "/v1/images/generations", image(word));
  await finish(account, id);
  const received = alertReceiver();
  await runOnce();
  expect(readChanges(received, "provider_unhealthy")).toEqual([["alert.began", ["sandbox"]]]);
  later(11);
  await runOnce();
  expect(readChanges(received, "provider_unhealthy").map(([type]) => type)).toEqual(["alert.began", "alert.ended"]);
});

test("callbacks of an account that fail for ten minutes, not a single failure", async () => {
  const account = await newAccount();
  const received = alertReceiver();
  const id = await complete(account, "/v1/images/generations", { ...image(), callback_url: "https://dead.example/hook" });
  for (const seconds of [0, 6, 31, 121]) {
    await pass(id, seconds);
    await runOnce();
    expect(readChanges(received, "callbacks_failing")).toEqual([]);
    await deliver(id, "gateway-notify");
  }
  await runOnce();
  // The next attempts are up to an hour apart.
  later(61);
  await runOnce();
  expect(readChanges(received, "callbacks_failing")).toEqual([["alert.began", [account.id]]]);
  later(10);
  await runOnce();
  expect(readChanges(received, "callbacks_failing").map(([type]) => type)).toEqual(["alert.began", "alert.ended"]);
});

test("notices that the receiver refused are sent again with the same id, and each change is sent in order", async () => {
  const id = await submit(await newAccount(), "/v1/images/generations", image());
  await deliver(id, "gateway-dead");
  const received = alertReceiver([500, 500]);
  await runOnce();
  later(31);
  await runOnce(); // it has ended, and its beginning is not delivered yet
  await runOnce();
  expect(received.map(({ type }) => type)).toEqual(["alert.began", "alert.began", "alert.began", "alert.ended"]);
  const [first, second, third, last] = received.map((one) => one.id);
  expect([second, third]).toEqual([first, first]);
  expect(last).not.toBe(first);
});

test("a cause that returns before its end was delivered continues its alert; one that returns later begins a new one", async () => {
  const account = await newAccount();
  const dead = async () => deliver(await submit(account, "/v1/images/generations", image()), "gateway-dead");
  await dead();
  const received = alertReceiver([204, 500]);
  await runOnce();
  later(31);
  await runOnce();
  await dead();
  await runOnce();
  expect(received.map(({ type }) => type)).toEqual(["alert.began", "alert.ended"]);
  later(31);
  await runOnce();
  await dead();
  await runOnce();
  expect(received.map(({ type }) => type)).toEqual(["alert.began", "alert.ended", "alert.ended", "alert.began"]);
  expect(received[3]!.id).not.toBe(received[0]!.id);
});

test("a check that fails does not change its alerts, and the others run", async () => {
  const account = await newAccount();
  await deliver(await submit(account, "/v1/images/generations", image()), "gateway-dead");
  const received = alertReceiver();
  const errors = vi.spyOn(console, "error").mockImplementation(() => undefined);
  await runOnce({ DATABASE_MAX_MB: "big" });
  expect(received.map(({ data }) => data.name)).toEqual(["dead_letters", "setting_wrong"]);
  expect(errors.mock.calls.flat().join()).toContain("the variable DATABASE_MAX_MB must be a whole number");
});

test("invalid settings, until they are corrected", async () => {
  const received = alertReceiver();
  const wrong = { LEDGER_DAYS: "8", LEDGER_MAX_MB: "2.5" };
  await runOnce(wrong);
  await runOnce(wrong);
  const causes = [
    "the variable LEDGER_DAYS must be from 9 to 365: records of tasks are kept for a week, daily sums for thirteen months",
    "the variable LEDGER_MAX_MB must be a whole number from 1 to 999999999",
  ];
  expect(readChanges(received, "setting_wrong")).toEqual([["alert.began", causes]]);
  await runOnce({ LEDGER_DAYS: "9", LEDGER_MAX_MB: "" });
  await runOnce();
  expect(readChanges(received, "setting_wrong").map(([type]) => type)).toEqual(["alert.began", "alert.ended"]);
  expect(received).toHaveLength(2);
});

test("an alert is sent by e-mail if that is configured, and a webhook without a secret gets no unsigned alert", async () => {
  await deliver(await submit(await newAccount(), "/v1/images/generations", image()), "gateway-dead");
  const received = alertReceiver();
  const sent: unknown[] = [];
  const MAIL = { send: async (mail: unknown) => void sent.push(mail) } as unknown as SendEmail;
  const mail = { MAIL, MAIL_FROM: "gateway@example.com", ALERT_MAIL: "operator@example.com" };
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  await runOnce({ ...mail, ALERT_SIGNING_SECRET: "" });
  expect([received, sent]).toEqual([[], []]);
  await runOnce({ ...mail, ALERT_WEBHOOK: "" });
  expect(sent).toEqual([
    expect.objectContaining({ from: "gateway@example.com", to: "operator@example.com", subject: "dead_letters: began" }),
  ]);
});

test("during a rotation of the secret alerts are signed with both", async () => {
  await deliver(await submit(await newAccount(), "/v1/images/generations", image()), "gateway-dead");
  const received = alertReceiver();
  await runOnce({ ALERT_SIGNING_SECRET: `whsec_${btoa("another secret of thirty bytes")}`, ALERT_SIGNING_SECRET_OLD: webhookSecret });
  await runOnce({ LEDGER_DAYS: "1", ALERT_SIGNING_SECRET_OLD: `whsec_${btoa("an older secret of thirty bytes")}` });
  expect(received.map(({ data }) => data.name)).toEqual(["dead_letters", "setting_wrong"]);
});

test("the cron trigger runs the checks through the operations Worker", async () => {
  const id = await submit(await newAccount(), "/v1/images/generations", image());
  await deliver(id, "gateway-dead");
  await worker.scheduled(createScheduledController(), env);
  expect(await listAlerts(env.DB)).toMatchObject([{ name: "dead_letters", causes: [id], endedAt: null, told: "began" }]);
});

test("the runbook has a page for each alert, and for no other", () => {
  const pages = /^## Alerts$(.*?)^## /ms.exec(runbook)?.[1]?.matchAll(/^### (\w+)$/gm) ?? [];
  expect([...pages].map(([, name]) => name)).toEqual([...alertNames]);
});
