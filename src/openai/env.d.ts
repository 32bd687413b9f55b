/** Variables of the OpenAI Worker, typed by hand from its wrangler.toml. */

interface OpenAiBindings {
  /** Names of models that stand for the gateway's own, over the defaults */
  ALIASES?: unknown;
}
