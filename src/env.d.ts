/** Bindings and variables of the gateway Worker, typed by hand from wrangler.toml. */

interface Env {
  DB: D1Database;
  ASSETS: R2Bucket;
  /** Dispatch messages for short work: starts that are answered at once, and collecting outputs */
  DISPATCH: Queue<import("./tasks/work.ts").TaskMessage>;
  /** Dispatch messages for starts whose answer arrives only when the work is done */
  STARTS: Queue<import("./tasks/work.ts").TaskMessage>;
  /** Callbacks to receivers, which may be slow, budget alerts, and settlements of chats whose wallet did not answer */
  NOTIFY: Queue<import("./tasks/consumer/queue.ts").QueueMessage>;
  TASKS: DurableObjectNamespace<import("./tasks/object/task-object.ts").TaskObject>;
  CLAIMS: DurableObjectNamespace<import("./tasks/object/claim-object.ts").ClaimObject>;
  WALLETS: DurableObjectNamespace<import("./wallet/object.ts").WalletObject>;
  TOKENS: DurableObjectNamespace<import("./tasks/object/token-object.ts").TokenObject>;
  BATCHES: DurableObjectNamespace<import("./api/batches/object.ts").BatchObject>;
  SUBMISSIONS: RateLimit;
  READS: RateLimit;
  ACCOUNT_SUBMISSIONS: RateLimit;
  ACCOUNT_READS: RateLimit;
  ADMIN_FAILURES: RateLimit;
  UNKNOWN_KEYS: RateLimit;
  TOKEN_SUBMISSIONS: RateLimit;
  TOKEN_READS: RateLimit;
  VERIFICATIONS: RateLimit;
  /** The built-in upstream; a deployment may leave it out. */
  SANDBOX?: Fetcher;
  /** The pages at /console; optional in a deployment */
  CONSOLE?: {
    open(
      request: Request,
      api: import("./rpc/console-api.ts").ConsoleApi,
      receive: import("./rpc/gateway-api.ts").Receive,
    ): Promise<Response>;
    /** Sends the account's user an e-mail about a reached budget; throws if the e-mail is not accepted. */
    mailBudget(reached: import("./wallet/alerts.ts").BudgetAlert): Promise<true>;
    /** Tells the account's owners that automatic top-up is paused; throws if the e-mail is not accepted. */
    mailTopUp(pause: import("./rpc/payment-objects.ts").TopUpPause): Promise<true>;
    /** Tells the account's owners that its balance is low; throws if the e-mail is not accepted. */
    mailLowBalance(low: import("./db/low-balances.ts").LowBalance): Promise<true>;
  };
  /** OpenAI's API at /openai/v1; optional in a deployment */
  OPENAI?: import("./rpc/gateway-api.ts").WorkerBehind;
  /** The Model Context Protocol at /mcp; optional in a deployment */
  MCP?: import("./rpc/gateway-api.ts").WorkerBehind;
  /** The audit, checks and alerts, and the erasure of accounts; optional in a deployment */
  OPERATIONS?: Omit<import("./operations/worker.ts").default, keyof import("cloudflare:workers").WorkerEntrypoint>;
  /** Stripe's Checkout, webhook and portal; only in a deployment `--with payments` */
  PAYMENTS?: import("./rpc/payments.ts").PaymentsWorker;
  /** Signs C2PA manifests with the operator's certificate; optional in a deployment */
  SIGNER?: {
    sign(order: import("./media/file-binding.ts").SignOrder): Promise<import("./media/file-binding.ts").Signed>;
    /** A Worker of an earlier version lacks it: the call fails. */
    certificate?(): Promise<import("./media/file-binding.ts").CertificateState>;
  };
  /** Workers AI and the third-party models behind it: the provider `cloudflare`. */
  AI?: Ai;
  /** The id of the deployed version; bound by `npm run deploy`. */
  VERSION?: WorkerVersionMetadata;
  /** Media transformations: frames of videos, for characters and thumbnails */
  MEDIA?: MediaBinding;

  /** "local" on a developer's machine, else "production" */
  ENVIRONMENT: string;
  /** "eu", "us" or "fedramp": objects run and store only there. Set by `npm run deploy`; with another value no existing object is found */
  JURISDICTION?: string;
  BALANCE_UNIT: string;
  RATE_LIMITS: string;
  /** "on" (default) or "off": keeps callers' requests for the console, three days, without content */
  REQUEST_LOG?: string;
  SUBMISSIONS_PER_MINUTE: string;
  READS_PER_MINUTE: string;
  TOKEN_SUBMISSIONS_PER_MINUTE: string;
  TOKEN_READS_PER_MINUTE: string;
  /** The maximum number of an account's open tasks; default 500 */
  MAX_OPEN_TASKS?: string;
  /** The maximum sum of the bytes of an account's files; default 5 GiB */
  MAX_FILE_BYTES?: string;
  ACCOUNT_SUBMISSIONS_PER_MINUTE: string;
  ACCOUNT_READS_PER_MINUTE: string;
  /** "full": cancelling costs the price when the provider has accepted the task and cannot cancel it; "none" (default): it costs nothing */
  CANCEL_CHARGE?: string;
  /** When the next route starts beside a provider that accepted a task: "off", "failed" (default; also if it does not answer for a minute), "slow" (also after twice the typical duration) */
  HEDGE?: string;
  /** "tasks" (default): a line for each request, each settled task and each fault; "all" (default locally): also for each step of a task */
  LOG?: string;
  /** One of this many successful status queries is logged; default 100, locally 1 */
  LOG_STATUS_EVERY?: string;
  /** "on" (default) or "off": providers that support it get a callback URL and call the gateway when a generation has ended */
  UPSTREAM_CALLBACKS?: string;
  /** How many days the fingerprints of made files are kept for `/v1/verify`; default 400, "0": none are stored and stored ones are deleted */
  PROOF_DAYS?: string;
  /** "keep" (default): files keep what their makers signed; "sign": files without a manifest are signed by the gateway */
  MARKS?: string;
  /** "off" (default), "on" or "maker" (nothing is asked of the maker): visible labels where the caller cannot ask for them */
  VISIBLE_LABEL?: string;
  /** "on" or "off": allows callers' URLs that point to private hosts; on by default only locally */
  ALLOW_PRIVATE_NETWORK?: string;
  /** The base URL of assets without a trailing slash; the gateway's own host by default */
  ASSET_BASE_URL?: string;
  /** Lifetimes of assets and of final records in seconds; honoured only locally */
  ASSET_TTL_S?: string;
  RECORD_TTL_S?: string;
  /** Settings of families of upstream text models, which override `src/catalog/chat-families.txt` */
  CHAT_FAMILIES?: unknown;

  /** The base URLs of providers without a trailing slash; the makers' own by default */
  OPENAI_BASE_URL?: string;
  WORKERS_AI_BASE_URL?: string;
  FAL_BASE_URL?: string;
  ARK_BASE_URL?: string;
  MINIMAX_BASE_URL?: string;
  GEMINI_BASE_URL?: string;
  /** Vertex AI: `https://{location}-aiplatform.googleapis.com/v1/projects/{project}/locations/{location}` */
  VERTEX_BASE_URL?: string;
  REPLICATE_BASE_URL?: string;
  XAI_BASE_URL?: string;
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
  XAI_API_KEY?: string;
  /** Of the servers at the addresses that routes of the provider `compatible` name; `none` sends no key */
  COMPATIBLE_API_KEY?: string;

  /** The key before a rotation: used if the provider refuses the current one */
  OPENAI_API_KEY_OLD?: string;
  WORKERS_AI_API_TOKEN_OLD?: string;
  FAL_KEY_OLD?: string;
  ARK_API_KEY_OLD?: string;
  MINIMAX_API_KEY_OLD?: string;
  GEMINI_API_KEY_OLD?: string;
  GOOGLE_SERVICE_ACCOUNT_OLD?: string;
  REPLICATE_API_TOKEN_OLD?: string;
  XAI_API_KEY_OLD?: string;
  COMPATIBLE_API_KEY_OLD?: string;

  /** Secrets */
  ASSET_SIGNING_SECRET?: string;
  /** The previous secret: while it is set, URLs signed with it stay valid until they expire */
  ASSET_SIGNING_SECRET_OLD?: string;
  /** Seals the secrets of callbacks and destinations in D1, and presigned URLs of tasks */
  SEALING_KEY?: string;
  /** The previous keys, separated by spaces: what they sealed opens */
  SEALING_KEY_OLD?: string;
  /** An Ed25519 private key, as JWK or PKCS8 in Base64, that signs receipts */
  RECEIPT_SIGNING_KEY?: string;
  /** The previous signing keys, separated by white space, in either form or as public JWKs */
  RECEIPT_SIGNING_KEY_OLD?: string;
  ADMIN_TOKEN?: string;
}

declare namespace Cloudflare {
  interface Env extends globalThis.Env {
    TEST_MIGRATIONS: import("cloudflare:test").D1Migration[];
    /** Read by tests' sessions instead of DB, see `test/support/replica.ts` */
    REPLICA: D1Database;
  }
  interface GlobalProps {
    mainModule: typeof import("./worker.ts");
  }
}
