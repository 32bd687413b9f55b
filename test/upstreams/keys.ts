/** The credentials that the emulators accept: all providers are switched on. */

export const providerKeys = {
  OPENAI_API_KEY: "test-openai-key",
  WORKERS_AI_ACCOUNT_ID: "test-account",
  WORKERS_AI_API_TOKEN: "test-cloudflare-token",
  FAL_KEY: "test-fal-key",
  ARK_API_KEY: "test-ark-key",
  MINIMAX_API_KEY: "test-minimax-key",
  GEMINI_API_KEY: "test-gemini-key",
  REPLICATE_API_TOKEN: "test-replicate-token",
};
