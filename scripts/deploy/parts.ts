/** The parts of a deployment: the Workers in their order of deployment, and settings that wrangler.toml cannot contain. */

/** A Worker of the deployment. Add an entry here for a new one; its queues, buckets and databases are read from its wrangler.toml. */
export interface Part {
  /** Its name in `--without`. */
  name: string;
  /** Its wrangler.toml, relative to the project's root. */
  config: string;
  /** The file that declares its variables and secrets, relative to the project's root. */
  declarations: string;
  /** True if a deployment works without it. */
  isOptional: boolean;
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

/** In the order of deployment: a Worker comes after those that it binds, the one with the public address last. */
export const parts: Part[] = [
  {
    name: "sandbox",
    config: "src/sandbox/wrangler.toml",
    declarations: "src/sandbox/env.d.ts",
    isOptional: true,
    madeSecrets: {},
    extras: {},
  },
  {
    name: "auth",
    config: "src/console/auth/wrangler.toml",
    declarations: "src/console/auth/env.d.ts",
    isOptional: true,
    partOf: "console",
    madeSecrets: {},
    extras: { email: { send_email: [{ name: "MAIL" }] } },
  },
  {
    name: "console",
    config: "src/console/wrangler.toml",
    declarations: "src/console/env.d.ts",
    isOptional: true,
    madeSecrets: { AUTH_SECRET: "random" },
    extras: { email: { send_email: [{ name: "MAIL" }] }, media: { media: { binding: "MEDIA" } } },
  },
  {
    name: "openai",
    config: "src/facades/openai/wrangler.toml",
    declarations: "src/facades/openai/env.d.ts",
    isOptional: true,
    madeSecrets: {},
    extras: {},
  },
  {
    name: "mcp",
    config: "src/facades/mcp/wrangler.toml",
    declarations: "src/facades/mcp/env.d.ts",
    isOptional: true,
    madeSecrets: {},
    extras: {},
  },
  {
    name: "marks",
    config: "src/marks/wrangler.toml",
    declarations: "src/marks/env.d.ts",
    isOptional: true,
    madeSecrets: {},
    extras: {},
  },
  {
    name: "operations",
    config: "src/operations/wrangler.toml",
    declarations: "src/operations/env.d.ts",
    isOptional: true,
    madeSecrets: {},
    extras: { email: { send_email: [{ name: "MAIL" }] } },
    onFreePlan: { DATABASE_MAX_MB: "500", LEDGER_MAX_MB: "125" },
  },
  {
    name: "payments",
    config: "src/payments/wrangler.toml",
    declarations: "src/payments/env.d.ts",
    isOptional: true,
    isAsked: true,
    madeSecrets: {},
    extras: {},
  },
  {
    name: "gateway",
    config: "wrangler.toml",
    declarations: "src/env.d.ts",
    isOptional: false,
    madeSecrets: { ASSET_SIGNING_SECRET: "random", SEALING_KEY: "random", ADMIN_TOKEN: "random", RECEIPT_SIGNING_KEY: "ed25519" },
    extras: { ai: { ai: { binding: "AI" } }, media: { media: { binding: "MEDIA" } } },
  },
];

/** The names that `--without` knows. */
export const leavable = parts
  .filter(({ isOptional, isAsked, partOf }) => isOptional && !isAsked && partOf === undefined)
  .map(({ name }) => name);

/** Lifecycle rules by binding: the days after which the bucket deletes what a crash left behind under each prefix; see docs/deploy.md. Callers' files exist for seven days at most. */
export const expiringPrefixes: Record<string, Record<string, number>> = { ASSETS: { "assets/": 1, "inputs/": 1, "files/": 8 } };

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
