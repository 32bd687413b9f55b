/** The parts of a deployment: the Workers in their order of deployment, and settings that wrangler.toml cannot contain. */

import { assetSeconds } from "../../src/base/life-times.ts";

/** A Worker of the deployment; its queues, buckets and databases are read from its wrangler.toml. */
export interface Part {
  /** Its name in `--without`. */
  name: string;
  /** Its wrangler.toml, relative to the project's root. */
  config: string;
  /** The file that declares its variables and secrets, relative to the project's root; it need not exist. */
  declarations: string;
  /** True if only `--with` and its name deploy it: it needs something of the operator's. */
  isAsked?: true;
  /** The part that alone uses it: both are left out together, by that part's name. */
  partOf?: string;
  /** Required secrets that the deployment makes when they are not set, as random text or as a key for signatures. */
  madeSecrets: Record<string, "random" | "ed25519">;
  /** Bindings that work only on a real account, by the flag that adds them (`--with ai`). */
  extras: Partial<Record<Extra, Record<string, unknown>>>;
  /** Variables that follow from the limits of the Free plan. */
  onFreePlan?: Record<string, string>;
}

/** What `--with` can add: bindings, and parts that only it deploys. */
export const extras = ["ai", "media", "email", "payments"] as const;
type Extra = (typeof extras)[number];

const email = { send_email: [{ name: "MAIL" }] };
const media = { media: { binding: "MEDIA" } };

/** A Worker behind the gateway, which a deployment works without. */
const behind = (name: string, folder: string, more: Partial<Part> = {}): Part => ({
  name,
  config: `${folder}/wrangler.toml`,
  declarations: `${folder}/env.d.ts`,
  madeSecrets: {},
  extras: {},
  ...more,
});

/** The one with the public address, which every deployment has. */
export const gateway: Part = {
  name: "gateway",
  config: "wrangler.toml",
  declarations: "src/env.d.ts",
  madeSecrets: { ASSET_SIGNING_SECRET: "random", SEALING_KEY: "random", ADMIN_TOKEN: "random", RECEIPT_SIGNING_KEY: "ed25519" },
  extras: { ai: { ai: { binding: "AI" } }, media },
};

/** Add an entry here for a new Worker, after those that it binds. */
const others = [
  behind("sandbox", "src/sandbox"),
  behind("auth", "src/console/auth", { partOf: "console", extras: { email } }),
  behind("console", "src/console", { madeSecrets: { AUTH_SECRET: "random" }, extras: { email, media } }),
  behind("openai", "src/facades/openai"),
  behind("mcp", "src/facades/mcp"),
  behind("marks", "src/marks"),
  behind("operations", "src/operations", { extras: { email }, onFreePlan: { DATABASE_MAX_MB: "500", LEDGER_MAX_MB: "125" } }),
  behind("payments", "src/payments", { isAsked: true }),
];

/** In the order of deployment: a Worker comes after those that it binds, the gateway last. */
export const parts: Part[] = [...others, gateway];

/** The names that `--without` knows. */
export const leavable = others.filter(({ isAsked, partOf }) => !isAsked && partOf === undefined).map(({ name }) => name);

/**
 * Lifecycle rules by binding: the days after which the bucket deletes what a crash left behind under each prefix; see docs/deploy.md.
 * A day longer than the files are needed: a rule counts from the upload, and the URLs of a result from the task's end. Callers' files exist for seven days at most.
 * Changes of accounts' access are read after a restore, which goes back 30 days; the operator may take as long to decide about it.
 */
export const expiringPrefixes: Record<string, Record<string, number>> = {
  ASSETS: { "assets/": 1 + Math.ceil(assetSeconds / 86_400), "inputs/": 1, "files/": 8, "changes/": 90 },
};

/** The secrets that switch each provider on; one complete set is enough. */
export const providerSecrets: Record<string, string[][]> = {
  openai: [["OPENAI_API_KEY"]],
  cloudflare: [["WORKERS_AI_API_TOKEN", "WORKERS_AI_ACCOUNT_ID"]],
  fal: [["FAL_KEY"]],
  modelark: [["ARK_API_KEY"]],
  minimax: [["MINIMAX_API_KEY"]],
  google: [["GEMINI_API_KEY"], ["GOOGLE_SERVICE_ACCOUNT", "VERTEX_BASE_URL"]],
  replicate: [["REPLICATE_API_TOKEN"]],
  xai: [["XAI_API_KEY"]],
  compatible: [["COMPATIBLE_API_KEY"]],
};
