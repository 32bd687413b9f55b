/** The credentials that the emulators accept: all providers are switched on. */

import { generateKeyPairSync } from "node:crypto";

/** Generated for each process, so that no private key is stored. */
const serviceAccountKey = generateKeyPairSync("rsa", { modulusLength: 2048 });

/** The key that verifies assertions of the service account. */
export const serviceAccountPublicKey = serviceAccountKey.publicKey;

/** Signs fal's webhooks. */
export const falKeys = generateKeyPairSync("ed25519");

/** Signs Replicate's webhooks. */
export const replicateSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

/** The service account's key in the console's format. Uses Google's own token URL by default. */
export const serviceAccount = (tokenUri = "https://oauth2.googleapis.com/token"): string =>
  JSON.stringify({
    type: "service_account",
    project_id: "test-project",
    private_key_id: "test-key-1",
    private_key: serviceAccountKey.privateKey.export({ type: "pkcs8", format: "pem" }),
    client_email: "gateway@test-project.iam.gserviceaccount.com",
    client_id: "100000000000000000001",
    token_uri: tokenUri,
  });

export const providerKeys = {
  OPENAI_API_KEY: "test-openai-key",
  WORKERS_AI_ACCOUNT_ID: "test-account",
  WORKERS_AI_API_TOKEN: "test-cloudflare-token",
  FAL_KEY: "test-fal-key",
  ARK_API_KEY: "test-ark-key",
  MINIMAX_API_KEY: "test-minimax-key",
  GEMINI_API_KEY: "test-gemini-key",
  GOOGLE_SERVICE_ACCOUNT: serviceAccount(),
  VERTEX_BASE_URL: "https://us-central1-aiplatform.googleapis.com/v1/projects/test-project/locations/us-central1",
  REPLICATE_API_TOKEN: "test-replicate-token",
  XAI_API_KEY: "test-xai-key",
};

/** The base URLs that lead to the emulators at an origin (`index.ts`). */
export const baseUrls = (origin: string) => ({
  OPENAI_BASE_URL: `${origin}/openai/v1`,
  WORKERS_AI_BASE_URL: `${origin}/cloudflare/client/v4`,
  FAL_BASE_URL: `${origin}/fal`,
  ARK_BASE_URL: `${origin}/modelark/api/v3`,
  MINIMAX_BASE_URL: `${origin}/minimax`,
  GEMINI_BASE_URL: `${origin}/google`,
  VERTEX_BASE_URL: `${origin}/google/v1/projects/test-project/locations/us-central1`,
  REPLICATE_BASE_URL: `${origin}/replicate/v1`,
  XAI_BASE_URL: `${origin}/xai/v1`,
});
