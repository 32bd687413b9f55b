/** Bindings and variables of the OpenAI Worker, typed by hand from its wrangler.toml. */

interface OpenAiBindings {
  /** What of a request has been tried already: a repeat is not made and paid again */
  ATTEMPTS: DurableObjectNamespace<import("./attempt-object.ts").AttemptObject>;
  /** As the gateway's */
  JURISDICTION?: string;
  /** Names of models that stand for the gateway's own, over `src/openai/aliases.json` */
  ALIASES?: unknown;
}
