/** Each alert begins and ends with its cause, and each of these changes is reported once to its receiver. */

import "../support/alone.ts";
import { createExecutionContext, createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { readInFlight } from "../../src/db/operator-series.ts";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import runbook from "../../docs/operations.md?raw";
import { endIncident, listAlerts, recordIncident } from "../../src/db/alerts.ts";
import { toTaskId } from "../../src/base/ids.ts";
import { alertNames } from "../../src/base/alert-names.ts";
import { deliverTest } from "../../src/operations/deliver.ts";
import Marks from "../../src/marks/worker.ts";
import worker from "../../src/worker.ts";
import {
  alarm,
  call,
  complete,
  deliver,
  finish,
  holdTime,
  newAccount,
  pass,
  script,
  submit,
  unique,
  wakeWallet,
} from "../support/gateway.ts";
import { failWalletOnce } from "../support/faults.ts";
import { alertReceiver, readChanges, runOnce, webhookSecret } from "./support.ts";

beforeEach(holdTime);
afterEach(async () => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  await env.DB.batch(["alert", "incident", "call_sum", "settled_sum", "upkeep"].map((table) => env.DB.prepare(`DELETE FROM ${table}`)));
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
  // The same walk counts what is open, for the operator's page.
  expect((await readInFlight(env.DB, Date.now() - 60_000, 60_000)).values().next().value).toBeGreaterThanOrEqual(1);
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

test("accounts that lost changes to a restored database, until an operator has decided", async () => {
  const received = alertReceiver();
  await recordIncident(env.DB, "restored", "acc_1");
  later(60 * 24 * 8);
  await runOnce();
  await endIncident(env.DB, "restored", "acc_1");
  await runOnce();
  expect(readChanges(received, "accounts_restored")).toEqual([
    ["alert.began", ["acc_1"]],
    ["alert.ended", ["acc_1"]],
  ]);
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

test("an account whose wallet does not answer hides nothing of the others", async () => {
  const [silent, late, odd] = [await newAccount(), await newAccount(), await newAccount()];
  await submit(silent, "/v1/images/generations", image());
  const id = await submit(late, "/v1/images/generations", image());
  await env.DB.prepare("UPDATE wallet SET used = used + 1 WHERE id = ?1").bind(odd.keyId).run();
  later(60);
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  for (const method of ["unwritten", "audit"] as const) failWalletOnce(silent, method, false, 50);
  const received = alertReceiver();
  for (let run = 0; run < 3; run++) await runOnce();
  expect(readChanges(received, "tasks_past_deadline")).toEqual([["alert.began", [id]]]);
  expect(readChanges(received, "ledger_drift")).toEqual([["alert.began", [odd.keyId]]]);
  await env.DB.prepare("UPDATE wallet SET used = used - 1 WHERE id = ?1").bind(odd.keyId).run();
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
  await runOnce({ ...mail, ALERT_SIGNING_SECRET: "" });
  const deadLetters = expect.objectContaining({ from: "gateway@example.com", to: "operator@example.com", subject: "dead_letters: began" });
  const settingWrong = expect.objectContaining({ subject: "setting_wrong: began" });
  expect([received, sent]).toEqual([[], [deadLetters, settingWrong]]);
  await runOnce({ ...mail, ALERT_SIGNING_SECRET: "" });
  expect(sent).toHaveLength(2);
  // Sent again until every receiver has accepted it.
  expect((await listAlerts(env.DB)).map(({ told }) => told)).toEqual([null, null]);
  await runOnce(mail);
  expect(readChanges(received, "dead_letters").map(([type]) => type)).toEqual(["alert.began"]);
  expect(sent.slice(2)).toEqual([expect.objectContaining({ subject: "setting_wrong: ended" })]);
});

test("ALERT_MAIL without e-mail, and ALERT_WEBHOOK without its secret, get no alerts, and setting_wrong names them", async () => {
  await deliver(await submit(await newAccount(), "/v1/images/generations", image()), "gateway-dead");
  const received = alertReceiver();
  await runOnce({ ALERT_MAIL: "operator@example.com" });
  expect(received.map(({ data }) => data.causes)).toContainEqual(["ALERT_MAIL needs e-mail: --with email --mail-from ADDRESS"]);
  expect((await listAlerts(env.DB)).map(({ name, told }) => [name, told])).toEqual([
    ["dead_letters", null],
    ["setting_wrong", null],
  ]);
  await runOnce();
  expect((await listAlerts(env.DB)).map(({ name, told }) => [name, told])).toEqual([
    ["dead_letters", "began"],
    ["setting_wrong", "ended"],
  ]);
});

test("a maker that answers only faults, until it makes something", async () => {
  const account = await newAccount();
  const received = alertReceiver();
  const faulty = async (status: number) => {
    const word = unique();
    await script({ match: word, starts: Array.from({ length: 6 }, () => status) });
    await finish(account, await submit(account, "/v1/images/generations", image(word)));
  };
  await faulty(500);
  later(1);
  await faulty(500);
  await runOnce();
  const [route] = received.find(({ data }) => data.name === "provider_failing")!.data.causes;
  expect(route).toMatch(/^sandbox /);
  expect(readChanges(received, "provider_failing")).toEqual([["alert.began", [route]]]);
  later(2);
  await complete(account, "/v1/images/generations", image());
  await runOnce();
  expect(readChanges(received, "provider_failing").map(([type]) => type)).toEqual(["alert.began", "alert.ended"]);
});

test("a refused prompt or input is no fault of the maker", async () => {
  const account = await newAccount();
  const received = alertReceiver();
  for (let at = 0; at < 8; at++) {
    const word = unique();
    await script({ match: word, polls: [{ failed: "content_policy_violation" }] });
    await finish(account, await submit(account, "/v1/images/generations", image(word)));
    later(1);
  }
  await runOnce();
  expect(received).toEqual([]);
});

test("a model that the maker does not have", async () => {
  const account = await newAccount();
  const word = unique();
  await script({ match: word, starts: [404] });
  await finish(account, await submit(account, "/v1/images/generations", image(word)));
  const received = alertReceiver();
  await runOnce();
  expect(readChanges(received, "model_unavailable")).toEqual([["alert.began", [expect.stringMatching(/^sandbox /)]]]);
  later(61);
  await runOnce();
  expect(readChanges(received, "model_unavailable").map(([type]) => type)).toEqual(["alert.began", "alert.ended"]);
});

test("a low completion rate: 24 of 25 image tasks fail in several isolates, and other kinds complete", async () => {
  const now = Date.now();
  const ended = (kind: string, isCompleted: 0 | 1, tasks: number, minutesAgo: number) =>
    env.DB.prepare("INSERT INTO settled_sum VALUES (?1, ?2, 'model', '', ?3, 8, ?4, 0, 0, 0)").bind(
      now - 60_000 * minutesAgo,
      kind,
      isCompleted ? "completed" : "failed",
      tasks,
    );
  await env.DB.batch([ended("image", 0, 24, 3), ended("image", 1, 1, 4), ended("video", 1, 30, 3), ended("video", 0, 10, 4)]);
  const received = alertReceiver();
  await runOnce();
  expect(readChanges(received, "completion_low")).toEqual([["alert.began", ["image"]]]);
  await env.DB.batch([ended("image", 1, 50, 1)]);
  await runOnce();
  expect(readChanges(received, "completion_low").map(([type]) => type)).toEqual(["alert.began", "alert.ended"]);
});

test("nine failed tasks are too few for a completion rate", async () => {
  await env.DB.prepare("INSERT INTO settled_sum VALUES (?1, 'image', 'imgA-4', '', 'failed', 0, 9, 0, 0, 0)").bind(Date.now()).run();
  const received = alertReceiver();
  await runOnce();
  expect(received).toEqual([]);
});

test("a queue whose consumers do not keep up: starts are run by their objects, collections are sent again", async () => {
  const account = await newAccount();
  for (let at = 0; at < 22; at++) {
    await pass(await submit(account, "/v1/images/generations", image()), 11); // no consumer takes the message
    later(0.1);
  }
  const received = alertReceiver();
  await runOnce();
  expect(readChanges(received, "queue_behind")).toEqual([["alert.began", ["start"]]]);
  later(25);
  await runOnce();
  expect(readChanges(received, "queue_behind").map(([type]) => type)).toEqual(["alert.began", "alert.ended"]);
});

test("/readyz shows when the checks last ran, and that a cron trigger has stopped", async () => {
  const production = { ENVIRONMENT: "production" };
  const readiness = async () => {
    later(1); // past the cached answer
    const { status, body } = await call("/readyz", { vars: production });
    return [status, body.cron, body.checked_at];
  };
  expect(await readiness()).toEqual([200, "stale", null]);
  alertReceiver();
  await runOnce();
  const at = Math.floor(Date.now() / 1000);
  expect(await readiness()).toEqual([200, "ok", at]);
  later(16);
  expect(await readiness()).toEqual([200, "stale", at]);
  await runOnce();
  expect((await readiness()).slice(0, 2)).toEqual([200, "ok"]);
});

test("a test alert goes to each receiver, and the answer says how each took it", async () => {
  const headers = { authorization: "Bearer test-admin" };
  const send = (vars: Partial<OperationsBindings>) =>
    call("/admin/alerts/test", { method: "POST", headers, vars: { OPERATIONS: { testAlert: () => deliverTest({ ...vars }) } as never } });
  expect((await send({})).body).toEqual({ object: "test_alert", receivers: [] });
  const received = alertReceiver([204, 500]);
  const hook = { ALERT_WEBHOOK: "https://pager.example/alerts", ALERT_SIGNING_SECRET: webhookSecret };
  expect((await send({ ...hook, ALERT_MAIL: "operator@example.com" })).body.receivers).toEqual([
    { receiver: "webhook", delivered: true },
    { receiver: "mail", delivered: false, reason: expect.stringContaining("needs the e-mail binding") },
  ]);
  expect(readChanges(received, "test")).toEqual([["alert.began", ["a test by the operator"]]]);
  expect((await send(hook)).body.receivers).toEqual([{ receiver: "webhook", delivered: false, reason: "ALERT_WEBHOOK answered 500" }]);
  for (const [wrong, reason] of [
    [{ ALERT_WEBHOOK: "pager.example" }, "the variable ALERT_WEBHOOK must be an http(s) address"],
    [{ ALERT_SIGNING_SECRET: "whsec_no-base64" }, "the variable ALERT_SIGNING_SECRET must be whsec_ followed by Base64"],
    [{ ALERT_SIGNING_SECRET: "whsec_" }, "the variable ALERT_SIGNING_SECRET must be whsec_ followed by Base64"],
  ] as const)
    expect((await send({ ...hook, ...wrong })).body.receivers).toEqual([{ receiver: "webhook", delivered: false, reason }]);
  expect((await call("/admin/alerts/test", { method: "POST" })).status).toBe(401);
});

test("during a rotation of the secret alerts are signed with both", async () => {
  await deliver(await submit(await newAccount(), "/v1/images/generations", image()), "gateway-dead");
  const received = alertReceiver();
  await runOnce({ ALERT_SIGNING_SECRET: `whsec_${btoa("another secret of thirty bytes")}`, ALERT_SIGNING_SECRET_OLD: webhookSecret });
  expect(received.map(({ data }) => data.name)).toEqual(["dead_letters"]);
  await runOnce({ LEDGER_DAYS: "1", ALERT_SIGNING_SECRET_OLD: `whsec_${btoa("an older secret of thirty bytes")}` });
  expect(received.map(({ data }) => data.name)).toEqual(["dead_letters", "setting_wrong"]);
});

test("the cron trigger runs the checks through the operations Worker", async () => {
  const id = await submit(await newAccount(), "/v1/images/generations", image());
  await deliver(id, "gateway-dead");
  await worker.scheduled(createScheduledController(), env);
  expect(await listAlerts(env.DB)).toMatchObject([{ name: "dead_letters", causes: [id], endedAt: null, told: "began" }]);
});

test("a wrong variable of the gateway is an alert until it is corrected, and the checks run without it", async () => {
  const id = await submit(await newAccount(), "/v1/images/generations", image());
  await deliver(id, "gateway-dead");
  const wrong = { ...env, PROOF_DAYS: "forever", VISIBLE_LABEL: "red" } as Env;
  await worker.scheduled(createScheduledController(), wrong);
  const active = async () => (await listAlerts(env.DB)).filter(({ endedAt }) => endedAt === null).map(({ name, causes }) => [name, causes]);
  expect(await active()).toEqual([
    ["dead_letters", [id]],
    [
      "setting_wrong",
      ["the variable PROOF_DAYS must be a whole number from 0 to 999999999", expect.stringMatching(/^the variable VISIBLE_LABEL must be /)],
    ],
  ]);
  await worker.scheduled(createScheduledController(), env);
  expect(await active()).toEqual([["dead_letters", [id]]]);
});

test("the certificate that signs files is an alert from 30 days before its end until it is renewed", async () => {
  const ends = Date.now() + 31 * 86_400_000;
  type State = { ends: number } | { refused: string };
  /** The active causes after a run of the cron trigger with a marks Worker in this state. */
  const causesWith = async (certificate?: () => Promise<State>, MARKS = "sign") => {
    const SIGNER = { ...(certificate && { certificate }), sign: () => Promise.reject(new Error("not called")) };
    await worker.scheduled(createScheduledController(), { ...env, MARKS, SIGNER });
    return (await listAlerts(env.DB)).flatMap(({ name, causes, endedAt }) =>
      name === "certificate_ending" && endedAt === null ? causes : [],
    );
  };
  const state = (value: State) => () => Promise.resolve(value);
  expect(await causesWith(state({ ends }))).toEqual([]);
  later(24 * 60);
  const cause = `C2PA_CERTIFICATES ends on ${new Date(ends).toISOString().slice(0, 10)}`;
  expect(await causesWith(state({ ends }))).toEqual([cause]);
  // An unreachable Worker, one that never answers, and one of an earlier version change nothing.
  expect(await causesWith(() => Promise.reject(new Error("lost")))).toEqual([cause]);
  expect(await causesWith(() => new Promise(() => undefined))).toEqual([cause]);
  expect(await causesWith()).toEqual([cause]);
  expect(await causesWith(state({ refused: "C2PA_CERTIFICATES has expired" }))).toEqual(["C2PA_CERTIFICATES has expired"]);
  // Twice, because an alert ends with the second run without its cause.
  for (let run = 0; run < 2; run++) await causesWith(state({ ends: ends + 365 * 86_400_000 }));
  expect(await causesWith(state({ ends: ends + 365 * 86_400_000 }))).toEqual([]);
  expect(await causesWith(state({ refused: "C2PA_CERTIFICATES is not set" }), "keep")).toEqual([]);
});

test("files that nothing signs are an alert: the marks Worker is left out, or has no secrets", async () => {
  const causesWith = async (SIGNER: Env["SIGNER"], MARKS = "sign") => {
    await worker.scheduled(createScheduledController(), { ...env, MARKS, SIGNER } as Env);
    return (await listAlerts(env.DB)).flatMap(({ name, causes }) => (name === "certificate_ending" ? causes : []));
  };
  expect(await causesWith(undefined, "keep")).toEqual([]);
  expect(await causesWith(undefined)).toEqual(["MARKS is sign, and the marks Worker is not deployed"]);
  const withoutSecrets = new Marks(createExecutionContext(), {});
  expect(await causesWith(withoutSecrets)).toEqual(["C2PA_CERTIFICATES is not set"]);
  // The bound Worker has secrets, and is reached as the gateway reaches it.
  expect(await (env as Env).SIGNER!.certificate!()).toEqual({ ends: expect.any(Number) });
});

test("the runbook has a page for each alert, and for no other", () => {
  const pages = /^## Alerts$(.*?)^## /ms.exec(runbook)?.[1]?.matchAll(/^### (\w+)$/gm) ?? [];
  expect([...pages].map(([, name]) => name)).toEqual([...alertNames]);
});

test("an entry of a model that this release refuses, until it is mended", async () => {
  const received = alertReceiver();
  const routes = [{ provider: "no-more", model: "x" }];
  for (const gateway of [{ ROUTES: { "imgA-4": routes } }, {}, {}]) await runOnce({}, gateway);
  expect(readChanges(received, "model_refused")).toEqual([
    ["alert.began", ["imgA-4 routes[0].provider"]],
    ["alert.ended", ["imgA-4 routes[0].provider"]],
  ]);
});

test("a route that ends is announced 30 days, 7 days and a day before, each time once", async () => {
  const received = alertReceiver();
  const gateway = { ROUTES: { "imgA-4": [{ provider: "sandbox", model: "imgA-4", retires: "2030-01-31" }] } };
  for (const hoursBefore of [30, 7, 1].flatMap((days) => [24 * days + 1, 24 * days, 24 * days - 6, 24 * days - 13])) {
    vi.setSystemTime(Date.parse("2030-01-31T00:00:00Z") - hoursBefore * 3_600_000);
    await runOnce({}, gateway);
  }
  const notices = readChanges(received, "route_retiring");
  expect(notices.map(([type]) => type)).toEqual(Array.from({ length: 3 }, () => ["alert.began", "alert.ended"]).flat());
  expect(notices[0]![1]).toEqual(["sandbox imgA-4 2030-01-31"]);
  expect(readChanges(received, "model_gone")).toEqual([]);
});
