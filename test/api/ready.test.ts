/** `GET /readyz`: 200 when the database, the bucket and an object answer, else 503 with the names of those that do not. */

import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { call, type Answer } from "../support/gateway.ts";

/** Each request is a minute after the last one, because an isolate caches its answer for a second. */
let minute = 0;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ++minute * 60_000 });
});
afterEach(() => void vi.useRealTimers());

const broken = () => {
  throw new Error("scripted fault");
};
const readyz = (vars?: Partial<Env>): Promise<Answer> => call("/readyz", vars ? { vars } : {});

test("a gateway whose database, bucket and objects answer is ready, and no key is needed", async () => {
  const answer = await readyz();
  expect([answer.status, answer.body]).toEqual([200, { status: "ok" }]);
  expect(answer.headers.get("cache-control")).toBe("no-store");
});

test("a deployed gateway names its version, so that a deployment can wait for it", async () => {
  const { status, body } = await readyz({ VERSION: { id: "version-2", tag: "", timestamp: "" } });
  expect([status, body]).toEqual([200, { status: "ok", version: "version-2" }]);
});

test.each<[string, Partial<Env>]>([
  ["database", { DB: { prepare: broken } as never }],
  ["bucket", { ASSETS: { head: broken } as never }],
  ["object", { CLAIMS: { getByName: broken } as never }],
])("503 names the %s if it does not answer", async (name, vars) => {
  const answer = await readyz(vars);
  expect([answer.status, answer.body]).toEqual([503, { status: "unavailable", failing: [name] }]);
  expect(answer.headers.get("retry-after")).toBe("5");
});

test.each<Partial<Env>>([{ MAX_OPEN_TASKS: "many" }, { CHAT_FAMILIES: "{" }, { RECEIPT_SIGNING_KEY: "short" }])(
  "503 names the configuration if a variable is wrong, and the log names the variable: %j",
  async (vars) => {
    const spy = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const answer = await readyz(vars);
    expect([answer.status, answer.body]).toEqual([503, { status: "unavailable", failing: ["configuration"] }]);
    expect(String(spy.mock.calls[0]![0])).toContain(Object.keys(vars)[0]);
    spy.mockRestore();
  },
);

test("a database without its tables is not ready", async () => {
  const prepare = () => env.DB.prepare("SELECT id FROM no_such_table");
  expect((await readyz({ DB: { prepare } as never })).body).toEqual({ status: "unavailable", failing: ["database"] });
});

test("all failing dependencies are named together", async () => {
  const answer = await readyz({ DB: { prepare: broken } as never, ASSETS: { head: broken } as never });
  expect(answer.body.failing).toEqual(["database", "bucket"]);
});

test("a dependency that does not answer is named after five seconds", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout"], now: Date.now() });
  const answer = readyz({ ASSETS: { head: () => new Promise(() => undefined) } as never });
  await vi.waitUntil(() => vi.getTimerCount() > 0);
  await vi.advanceTimersByTimeAsync(5_000);
  expect((await answer).body).toEqual({ status: "unavailable", failing: ["bucket"] });
});

test("an isolate caches its answer for a second", async () => {
  const broken503 = { ASSETS: { head: broken } as never };
  expect((await readyz(broken503)).status).toBe(503);
  expect((await readyz()).status).toBe(503);
  vi.setSystemTime(Date.now() + 1_000);
  expect((await readyz()).status).toBe(200);
});

test("requests that come while a check runs get the answer before it: visitors cannot cause more than a check a second", async () => {
  expect((await readyz()).status).toBe(200);
  vi.setSystemTime(Date.now() + 1_000);
  let checks = 0;
  const prepare = (sql: string) => {
    checks++;
    return env.DB.prepare(sql);
  };
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => readyz({ DB: { prepare } as never, ASSETS: { head: broken } as never })),
  );
  expect(checks).toBe(1);
  expect([200, 503].map((status) => answers.filter((answer) => answer.status === status).length)).toEqual([19, 1]);
  expect((await readyz()).status).toBe(503);
  // An answer that is a minute old is not given any more.
  vi.setSystemTime(Date.now() + 60_000);
  expect((await Promise.all([readyz(), readyz()])).map(({ status }) => status)).toEqual([200, 200]);
});
