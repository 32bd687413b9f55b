/** `GET /readyz`: checks the database, the bucket and an object, for load balancers and deployments. */

import { describeAsset } from "../assets.ts";
import { alert } from "../log.ts";
import type { AppContext } from "./frame.ts";

const deadlineMs = 5_000;
/** The time for which an isolate repeats its last answer: the path is public, and each check costs three calls. */
const keepMs = 1_000;

let last: { at: number; failing: string[] } | undefined;

/** Every dependency of a request with a read that checks it: a table of the migrated database, any key, an object that stores nothing. */
const checks: Record<string, (env: Env) => Promise<unknown>> = {
  database: async (env) => env.DB.prepare("SELECT id FROM wallet LIMIT 1").first(),
  bucket: async (env) => describeAsset(env.ASSETS, "readyz"),
  object: async (env) => env.CLAIMS.getByName("readyz").find(""),
};

/** Answers 200 `{status: "ok"}`, or 503 `{status: "unavailable", failing}` with the names of those that did not answer within five seconds. */
export async function ready(c: AppContext): Promise<Response> {
  const now = Date.now();
  if (!last || now - last.at >= keepMs || now < last.at) last = { at: now, failing: await failingChecks(c.env) };
  const { failing } = last;
  c.header("cache-control", "no-store");
  if (failing.length === 0) return c.json({ status: "ok" });
  c.set("outcome", "unavailable");
  c.header("retry-after", "5");
  return c.json({ status: "unavailable", failing }, 503);
}

async function failingChecks(env: Env): Promise<string[]> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      try {
        await within(check(env));
        return [];
      } catch (error) {
        alert("ready", { outcome: "unavailable", check: name }, error);
        return [name];
      }
    }),
  );
  return results.flat();
}

async function within(work: Promise<unknown>): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${deadlineMs} ms`)), deadlineMs);
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
