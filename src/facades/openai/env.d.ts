/** Bindings and variables of the OpenAI Worker, typed by hand from its wrangler.toml. */

interface OpenAiBindings {
  /** Attempts of submissions, so that a repeat is not generated and charged again */
  ATTEMPTS: DurableObjectNamespace<import("./attempt-object.ts").AttemptObject>;
  /** The same as the gateway's */
  JURISDICTION?: string;
  /** Aliases of the gateway's models, merged over `src/facades/openai/aliases.json` */
  ALIASES?: unknown;
}
