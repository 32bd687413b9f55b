/** The credentials that the emulators accept: all providers are switched on. */

export const providerKeys = {
  OPENAI_API_KEY: "test-openai-key",
  CLOUDFLARE_ACCOUNT_ID: "test-account",
  CLOUDFLARE_API_TOKEN: "test-cloudflare-token",
  FAL_KEY: "test-fal-key",
  ARK_API_KEY: "test-ark-key",
  MINIMAX_API_KEY: "test-minimax-key",
  GEMINI_API_KEY: "test-gemini-key",
  REPLICATE_API_TOKEN: "test-replicate-token",
};
