/** `GET /readyz`: checks the database, the bucket, an object and the variables, for load balancers and deployments. */

import { answerPlain } from "./request/answer.ts";
import type { AppContext } from "./request/context.ts";
import { describeAsset } from "../storage/assets.ts";
import { isLocal } from "../config.ts";
import { readHeartbeat } from "../db/jobs.ts";
import { alert } from "../base/log.ts";
import { toSeconds } from "../base/times.ts";
import { publicKeys } from "../signing/receipts.ts";
import { wrongVariables } from "./request/variable-checks.ts";

const deadlineMs = 5_000;
/** An isolate checks once in this time and repeats its last answer: the path is public, and each check costs four calls. */
const keepMs = 1_000;
/** The maximum age of an answer that is repeated while a check runs. */
const staleMs = 60_000;

/** When the last check began, and the last answer. */
let begun = 0;
let last: { at: number; failing: string[]; cron: Cron } | undefined;

/** The end of the operator's last checks, in Unix seconds. Without fields in a deployment that runs no checks. */
interface Cron {
  cron?: "ok" | "stale";
  checked_at?: number | null;
}

/** Every dependency of a request with a read that checks it: a table of the migrated database, any key, an object that stores nothing. */
const checks: Record<string, (env: Env) => Promise<unknown>> = {
  database: async (env) => env.DB.prepare("SELECT id FROM wallet LIMIT 1").first(),
  bucket: async (env) => describeAsset(env.ASSETS, "readyz"),
  object: async (env) => env.CLAIMS.getByName("readyz").find(""),
  // Submissions and chats answer 500 while a variable that they need is wrong. The log has the names.
  configuration: async (env) => {
    const wrong = wrongVariables(env);
    if (wrong.length > 0) throw new Error(wrong.join("; "));
    await publicKeys(env);
  },
};

/** Answers 200 `{status: "ok", version?, cron?, checked_at?}` with the id of the deployed version and the state of the cron trigger, or 503 `{status: "unavailable", failing}` with the names of those that did not answer within five seconds. */
export async function ready(c: AppContext): Promise<Response> {
  const now = Date.now();
  if (!last || now - begun >= keepMs || now < begun || now - last.at >= staleMs) {
    begun = now;
    last = { at: now, failing: await failingChecks(c.env), cron: await readCron(c.env, now) };
  }
  const { failing, cron } = last;
  const headers = { "cache-control": "no-store" };
  const { VERSION: version } = c.env;
  if (failing.length === 0) return answerPlain(c, { status: "ok", ...(version && { version: version.id }), ...cron }, 200, headers);
  c.set("outcome", "unavailable");
  return answerPlain(c, { status: "unavailable", failing }, 503, { ...headers, "retry-after": "5" });
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

/**
 * A cron trigger that stopped cannot report itself. It is no reason for a 503: the gateway serves its callers without it. A local gateway has
 * no cron trigger, and a database that does not answer is named by its check.
 */
async function readCron(env: Env, now: number): Promise<Cron> {
  if (!env.OPERATIONS || isLocal(env)) return {};
  try {
    const { at, isStale } = await within(readHeartbeat(env.DB, now));
    return { cron: isStale ? "stale" : "ok", checked_at: toSeconds(at) };
  } catch {
    return {};
  }
}

async function within<T>(work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${deadlineMs} ms`)), deadlineMs);
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
