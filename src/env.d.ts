/** Bindings and variables of the gateway Worker, typed by hand from wrangler.toml. */

interface Env {
  DB: D1Database;
  ASSETS: R2Bucket;
  /** Short work: starts that are answered at once, and collecting what was made */
  DISPATCH: Queue<{ taskId: string }>;
  /** Starts that are answered when the work is done */
  STARTS: Queue<{ taskId: string }>;
  /** Calls to receivers of callbacks, which may be slow */
  NOTIFY: Queue<{ taskId: string }>;
  TASKS: DurableObjectNamespace<import("./tasks/task-object.ts").TaskObject>;
  CLAIMS: DurableObjectNamespace<import("./tasks/claim-object.ts").ClaimObject>;
  HOLDS: DurableObjectNamespace<import("./tasks/hold-object.ts").HoldObject>;
  TOKENS: DurableObjectNamespace<import("./tasks/token-object.ts").TokenObject>;
  SUBMISSIONS: RateLimit;
  READS: RateLimit;
  ACCOUNT_SUBMISSIONS: RateLimit;
  ACCOUNT_READS: RateLimit;
  ADMIN_FAILURES: RateLimit;
  /** The built-in upstream; a deployment may leave it out. */
  SANDBOX?: Fetcher;
  /** The pages at /console; a deployment may leave them out */
  CONSOLE?: { open(request: Request, api: import("./console/api.ts").Api): Promise<Response> };
  /** OpenAI's API at /openai/v1; a deployment may leave it out */
  OPENAI?: import("./gateway-api.ts").WorkerBehind;
  /** Workers AI and the third-party models behind it: the provider `cloudflare`. */
  AI?: Ai;
  /** Media transformations: stills of films, for characters and thumbnails */
  MEDIA?: MediaBinding;

  /** "local" on a developer's machine, else "production" */
  ENVIRONMENT: string;
  BALANCE_UNIT: string;
  RATE_LIMITS: string;
  SUBMISSIONS_PER_MINUTE: string;
  READS_PER_MINUTE: string;
  /** Open tasks of one account at a time; 500 by default */
  MAX_OPEN_TASKS?: string;
  ACCOUNT_SUBMISSIONS_PER_MINUTE: string;
  ACCOUNT_READS_PER_MINUTE: string;
  /** "full": cancelling costs the price when the provider has accepted the task and cannot cancel it; "none" (default): it costs nothing */
  CANCEL_CHARGE?: string;
  /** When a provider that accepted a task gives way to the next route: "off", "failed" (default; also when silent for a minute), "slow" (also past twice the usual time) */
  HEDGE?: string;
  /** "on" or "off": whether callers' URLs may point at private hosts; on by default only locally */
  ALLOW_PRIVATE_NETWORK?: string;
  /** Where asset URLs point, without a slash at the end; the gateway's own host by default */
  ASSET_BASE_URL?: string;
  /** Life time of assets and of final records in seconds; honoured only locally */
  ASSET_TTL_S?: string;
  RECORD_TTL_S?: string;
  PRICES?: unknown;
  ROUTES?: unknown;
  /** Settings of families of upstream text models, over `src/catalog/chat-families.json` */
  CHAT_FAMILIES?: unknown;

  /** Where the providers are asked, without a slash at the end; the makers' own addresses by default */
  OPENAI_BASE_URL?: string;
  WORKERS_AI_BASE_URL?: string;
  FAL_BASE_URL?: string;
  ARK_BASE_URL?: string;
  MINIMAX_BASE_URL?: string;
  GEMINI_BASE_URL?: string;
  /** Vertex AI: `https://{location}-aiplatform.googleapis.com/v1/projects/{project}/locations/{location}` */
  VERTEX_BASE_URL?: string;
  REPLICATE_BASE_URL?: string;
  WORKERS_AI_ACCOUNT_ID?: string;

  /** Secrets that switch providers on */
  OPENAI_API_KEY?: string;
  WORKERS_AI_API_TOKEN?: string;
  FAL_KEY?: string;
  ARK_API_KEY?: string;
  MINIMAX_API_KEY?: string;
  GEMINI_API_KEY?: string;
  /** The JSON key of a service account, for Vertex AI */
  GOOGLE_SERVICE_ACCOUNT?: string;
  REPLICATE_API_TOKEN?: string;

  /** Secrets */
  ASSET_SIGNING_SECRET?: string;
  /** The secret before a rotation: URLs signed with it stay valid while it is set, which they are for a day at most */
  ASSET_SIGNING_SECRET_OLD?: string;
  /** An Ed25519 private key, as JWK or PKCS8 in Base64, that signs receipts */
  RECEIPT_SIGNING_KEY?: string;
  /** The keys that signed before it, apart by white space, in either form or as public JWKs */
  RECEIPT_SIGNING_KEY_OLD?: string;
  ADMIN_TOKEN?: string;
}

declare namespace Cloudflare {
  interface Env extends globalThis.Env {
    TEST_MIGRATIONS: import("cloudflare:test").D1Migration[];
  }
  interface GlobalProps {
    mainModule: typeof import("./worker.ts");
  }
}
