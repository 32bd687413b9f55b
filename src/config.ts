/** Reads the operator's configuration from the Worker's variables. */

import type { Hedging } from "./base/hedging.ts";
import { assetSeconds, recordSeconds } from "./base/life-times.ts";
import { readBaseUrl, readNumber, readNumberOrOff, readWord, VariableError } from "./base/variables.ts";

/** True on a developer's machine. */
export const isLocal = (env: Env) => readWord("ENVIRONMENT", env.ENVIRONMENT, ["production", "local"], "production") === "local";

/** The lifetimes of assets and of final records in milliseconds. Only a local gateway may change them. */
export const lifeTimes = (env: Env) => ({
  assetMs: 1000 * readNumber("ASSET_TTL_S", isLocal(env) ? env.ASSET_TTL_S : undefined, assetSeconds),
  recordMs: 1000 * readNumber("RECORD_TTL_S", isLocal(env) ? env.RECORD_TTL_S : undefined, recordSeconds),
});

/** The unit of amounts. */
export const balanceUnit = (env: Env) => readWord("BALANCE_UNIT", env.BALANCE_UNIT, ["USD", "CNY", "TOKENS"]);

/** The maximum number of an account's open tasks. */
export const maxOpenTasks = (env: Env) => readNumber("MAX_OPEN_TASKS", env.MAX_OPEN_TASKS, 500);

/** The maximum number of an account's open tasks when a batch begins another one, and of its tasks and chats when it begins a chat: the other half is left to other requests. */
export const maxBatchTasks = (env: Env) => Math.max(1, Math.floor(maxOpenTasks(env) / 2));

/** The maximum sum of the bytes of an account's files; 5 GiB by default. */
export const maxFileBytes = (env: Env) => readNumber("MAX_FILE_BYTES", env.MAX_FILE_BYTES, 5 * 1024 ** 3);

/** True if callers' URLs may point to private hosts and other ports. */
export const allowsPrivateNetwork = (env: Env) =>
  readWord("ALLOW_PRIVATE_NETWORK", env.ALLOW_PRIVATE_NETWORK, ["on", "off"], isLocal(env) ? "on" : "off") === "on";

/** The operator's base URL of assets; undefined for the gateway's own host. */
export const assetBaseUrl = (env: Env) => readBaseUrl("ASSET_BASE_URL", env.ASSET_BASE_URL);

/** True if cancelling costs the full price when a provider has accepted the task and cannot cancel it. */
export const chargesCancelled = (env: Env) => readWord("CANCEL_CHARGE", env.CANCEL_CHARGE, ["none", "full"], "none") === "full";

/** When the next route starts beside a provider that has accepted a task. */
export const hedging = (env: Env): Hedging => readWord("HEDGE", env.HEDGE, ["off", "failed", "slow"], "failed");

/** True if providers that support it get a callback URL. */
export const allowsCallbacks = (env: Env) => readWord("UPSTREAM_CALLBACKS", env.UPSTREAM_CALLBACKS, ["on", "off"], "on") === "on";

/** How many days the fingerprints of made files are kept; 0: none are. */
export const proofDays = (env: Env) => readNumberOrOff("PROOF_DAYS", env.PROOF_DAYS, 400);

/** The same for work that a wrong value must not stop: undefined if it is wrong. */
export function knownProofDays(env: Env): number | undefined {
  try {
    return proofDays(env);
  } catch (error) {
    if (error instanceof VariableError) return undefined;
    throw error;
  }
}

/** Whether files without a maker's manifest are signed when they are stored. */
export const marks = (env: Env) => readWord("MARKS", env.MARKS, ["keep", "sign"], "keep");

/** Visible labels where the caller cannot ask for them: none, one, or the maker's own default. */
export const visibleLabel = (env: Env) => readWord("VISIBLE_LABEL", env.VISIBLE_LABEL, ["off", "on", "maker"], "off");

/** True if each step of a task is logged, not only its settlement and faults. */
export const logsSteps = (env: Env) => readWord("LOG", env.LOG, ["all", "tasks"], isLocal(env) ? "all" : "tasks") === "all";

/** One of this many successful status queries, reads of files and submissions is logged. */
export const statusLogShare = (env: Env) => readNumber("LOG_STATUS_EVERY", env.LOG_STATUS_EVERY, isLocal(env) ? 1 : 100);

/** True if rate limits apply. */
export const limitsRates = (env: Env) => readWord("RATE_LIMITS", env.RATE_LIMITS, ["on", "off"], "on") === "on";

/** True if callers' requests are stored for the console. */
export const keepsRequests = (env: Env) => readWord("REQUEST_LOG", env.REQUEST_LOG, ["on", "off"], "on") === "on";

/** The rate limits per minute of one key, one account and one client token, equal to the bindings in wrangler.toml. */
export const perMinute = (env: Env, kind: "submission" | "read") =>
  kind === "submission"
    ? {
        key: readNumber("SUBMISSIONS_PER_MINUTE", env.SUBMISSIONS_PER_MINUTE),
        account: readNumber("ACCOUNT_SUBMISSIONS_PER_MINUTE", env.ACCOUNT_SUBMISSIONS_PER_MINUTE),
        token: readNumber("TOKEN_SUBMISSIONS_PER_MINUTE", env.TOKEN_SUBMISSIONS_PER_MINUTE, 10),
      }
    : {
        key: readNumber("READS_PER_MINUTE", env.READS_PER_MINUTE),
        account: readNumber("ACCOUNT_READS_PER_MINUTE", env.ACCOUNT_READS_PER_MINUTE),
        token: readNumber("TOKEN_READS_PER_MINUTE", env.TOKEN_READS_PER_MINUTE, 120),
      };

/**
 * The rules for callers' URLs: none may point to a host of the gateway itself, which are that of its configuration and `host`, by which the
 * caller has reached it.
 */
export function urlRules(env: Env, host?: string): { allowPrivate: boolean; ownHosts: string[] } {
  const base = assetBaseUrl(env);
  const ownHosts = [host, base && new URL(base).hostname].filter((own) => own !== undefined);
  return { allowPrivate: allowsPrivateNetwork(env), ownHosts };
}

/** The signing key of asset URLs. It has no default, because anyone could sign with a known secret. */
export function signingSecret(env: { ASSET_SIGNING_SECRET?: string | undefined }): string {
  if (!env.ASSET_SIGNING_SECRET) throw new VariableError("ASSET_SIGNING_SECRET", "is not set");
  return env.ASSET_SIGNING_SECRET;
}

/** The key that seals stored secrets. It has no default, because a known key seals nothing. */
export function sealingKey(env: { SEALING_KEY?: string | undefined }): string {
  if (!env.SEALING_KEY) throw new VariableError("SEALING_KEY", "is not set");
  return env.SEALING_KEY;
}

/** The signing key of asset URLs, and the replaced ones whose URLs are still valid. */
export const signingSecrets = (env: Env): string[] => {
  const old = env.ASSET_SIGNING_SECRET_OLD ?? "";
  // Rotations join several by spaces; an operator's own value may contain one.
  return [signingSecret(env), old, ...old.split(" ")];
};
