/** Variables with wrong values: requests that depend on one are 500 and the log names it; there is no fallback to a generous default. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import declared from "../../../src/env.d.ts?raw";
import { wrongVariables } from "../../../src/api/request/variable-checks.ts";
import { readAmount, readBaseUrl, readNumber, readWord } from "../../../src/base/variables.ts";
import { readBalance, call, holdTime, newAccount } from "../../support/gateway.ts";

holdTime();

const submission = { model: "imgA-4", prompt: "p" };
const chat = { model: "textA-1", messages: [{ role: "user", content: "p" }] };
const videos = { model: "vidB-3.1-fast", prompt: "p", images: ["http://127.0.0.1/a.png"] };

test.each<[string, Partial<Env>, string, object | undefined]>([
  ["RATE_LIMITS", { RATE_LIMITS: "none" }, "/v1/tasks", undefined],
  ["RATE_LIMITS", { RATE_LIMITS: "OFF" }, "/v1/images/generations", submission],
  ["READS_PER_MINUTE", { RATE_LIMITS: "on", READS_PER_MINUTE: "many" }, "/v1/tasks", undefined],
  ["ACCOUNT_READS_PER_MINUTE", { RATE_LIMITS: "on", ACCOUNT_READS_PER_MINUTE: "-1" }, "/v1/balance", undefined],
  ["SUBMISSIONS_PER_MINUTE", { RATE_LIMITS: "on", SUBMISSIONS_PER_MINUTE: "" }, "/v1/images/generations", submission],
  ["ALLOW_PRIVATE_NETWORK", { ALLOW_PRIVATE_NETWORK: "yes" }, "/v1/videos/generations", videos],
  ["ENVIRONMENT", { ENVIRONMENT: "Local" }, "/v1/videos/generations", videos],
  ["ASSET_TTL_S", { ASSET_TTL_S: "1e9" }, "/v1/characters", undefined],
  ["RECORD_TTL_S", { RECORD_TTL_S: "forever" }, "/v1/tasks", undefined],
  ["ASSET_BASE_URL", { ASSET_BASE_URL: "assets.example" }, "/v1/tasks/x", undefined],
  ["LOG", { LOG: "verbose" }, "/v1/images/generations", submission],
  ["LOG_STATUS_EVERY", { LOG: "tasks", LOG_STATUS_EVERY: "some" }, "/v1/images/generations", submission],
  ["MAX_OPEN_TASKS", { MAX_OPEN_TASKS: "many" }, "/v1/images/generations", submission],
  ["CANCEL_CHARGE", { CANCEL_CHARGE: "half" }, "/v1/images/generations", submission],
  ["HEDGE", { HEDGE: "yes" }, "/v1/images/generations", submission],
  ["UPSTREAM_CALLBACKS", { UPSTREAM_CALLBACKS: "yes" }, "/v1/images/generations", submission],
  ["REQUEST_LOG", { REQUEST_LOG: "yes" }, "/v1/images/generations", submission],
  ["ASSET_BASE_URL", { ASSET_BASE_URL: "assets.example" }, "/v1/images/generations", submission],
  ["ASSET_SIGNING_SECRET", { ASSET_SIGNING_SECRET: "" }, "/v1/images/generations", submission],
  ["SEALING_KEY", { SEALING_KEY: "" }, "/v1/images/generations", submission],
  ["BALANCE_UNIT", { BALANCE_UNIT: "EUR" }, "/v1/images/generations", submission],
  ["ALLOW_PRIVATE_NETWORK", { ALLOW_PRIVATE_NETWORK: "yes" }, "/v1/images/generations", submission],
  ["MAX_OPEN_TASKS", { MAX_OPEN_TASKS: "0" }, "/v1/images/generations?dry_run=true", submission],
  ["REQUEST_LOG", { REQUEST_LOG: "yes" }, "/v1/chat/completions", chat],
  ["LOG", { LOG: "verbose" }, "/v1/chat/completions", chat],
  ["ASSET_BASE_URL", { ASSET_BASE_URL: "assets.example" }, "/v1/chat/completions", chat],
  ["CHAT_FAMILIES", { CHAT_FAMILIES: "[" }, "/v1/chat/completions", chat],
  ["OPENAI_BASE_URL", { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "nowhere" }, "/v1/chat/completions", chat],
  ["FAL_BASE_URL", { FAL_KEY: "k", FAL_BASE_URL: "https://fal.example/" }, "/v1/images/generations", submission],
])("a wrong %s: %j", async (name, vars, path, body) => {
  const account = await newAccount();
  const spy = vi.spyOn(console, "error");
  const answer = await call(path, { key: account.key, vars, ...(body && { body }) });
  expect(answer.status).toBe(500);
  expect(JSON.stringify(answer.body)).not.toContain(name);
  expect(spy.mock.calls.map(([line]) => String(line)).some((line) => line.includes(name))).toBe(true);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("requests that do not depend on the wrong variable succeed", async () => {
  const { key } = await newAccount();
  const vars = { ASSET_BASE_URL: "ftp://x", FAL_KEY: "k", FAL_BASE_URL: "nowhere", CANCEL_CHARGE: "half" };
  expect((await call("/v1/balance", { key, vars })).status).toBe(200);
  expect((await call("/v1/models", { key, vars: { OPENAI_BASE_URL: "nowhere" } })).status).toBe(200);
});

test("readiness and a deployment check every variable of the gateway that has rules", () => {
  const declarations = [...declared.matchAll(/^  ([A-Z][A-Z0-9_]*)\??: (?:string|unknown);/gm)].map(([, name = ""]) => name);
  const rules: Record<string, unknown> = { CHAT_FAMILIES: "{", ASSET_SIGNING_SECRET: "", SEALING_KEY: "" };
  const free = /_OLD$|(?<!^SEALING)_(KEY|TOKEN|ACCOUNT|ACCOUNT_ID)$|^JURISDICTION$|^RECEIPT_/;
  for (const name of declarations.filter((one) => !free.test(one))) {
    const keys = {
      OPENAI_API_KEY: "k",
      XAI_API_KEY: "k",
      FAL_KEY: "k",
      ARK_API_KEY: "k",
      MINIMAX_API_KEY: "k",
      GEMINI_API_KEY: "k",
      REPLICATE_API_TOKEN: "k",
    };
    const vertex = { GOOGLE_SERVICE_ACCOUNT: "{}", WORKERS_AI_ACCOUNT_ID: "a", WORKERS_AI_API_TOKEN: "t" };
    const wrong = { ...env, ENVIRONMENT: "local", RATE_LIMITS: "on", ...keys, ...vertex, [name]: rules[name] ?? "?" } as unknown as Env;
    expect(wrongVariables(wrong).join("; "), name).toContain(name);
  }
});

test("with a wrong variable of the log, what a request did is answered as done", async () => {
  const account = await newAccount();
  const answer = await call("/v1/webhook", {
    key: account.key,
    method: "PUT",
    body: { url: "https://receiver.example/" },
    vars: { REQUEST_LOG: "yes", OPERATIONS: {} as never },
  });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("x-request-id")).toMatch(/./);
});

test("words, numbers, amounts and URLs", () => {
  expect([readWord("A", undefined, ["x", "y"], "x"), readWord("A", "y", ["x", "y"])]).toEqual(["x", "y"]);
  for (const text of [undefined, "", "X", "x "]) expect(() => readWord("A", text, ["x"])).toThrow("the variable A must be one of x");
  expect([readNumber("A", "60"), readNumber("A", "", 5), readNumber("A", undefined, 5)]).toEqual([60, 5, 5]);
  for (const text of ["0", "-1", "1.5", "1e3", "0x10", " 1", "NaN", "Infinity", "9999999999"])
    expect(() => readNumber("A", text)).toThrow("A");
  expect(["0", "5", "0.000001", "1000000000"].map((text) => readAmount("A", text))).toEqual([0, 5_000_000, 1, 1e15]);
  for (const text of [undefined, "", "lots", "NaN", "Infinity", "-1", "1e3", "1,5", "0.0000001", "1000000001", "null"])
    expect(() => readAmount("A", text)).toThrow("the variable A must be a number from 0 to 1000000000");
  expect([readBaseUrl("A", ""), readBaseUrl("A", "https://a.example/v1")]).toEqual([undefined, "https://a.example/v1"]);
  for (const text of ["a.example", "https://a.example/", "ftp://a.example", "https://u:p@a.example", "https://a.example?x=1", "http://"])
    expect(() => readBaseUrl("A", text)).toThrow("the variable A must be an http(s) address");
});
