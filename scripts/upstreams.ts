/** `npm run tools -- upstreams PORT`: all emulated upstreams on one port, and prints the settings that make a local gateway use them. */

import { serviceAccount } from "../test/upstreams/keys.ts";
import { listen } from "../test/upstreams/listen.ts";

const { origin } = await listen(Number(process.argv[2] ?? 8790));
console.log(`Emulated upstreams at ${origin}. Put these into .dev.vars and run \`npm start\`:

OPENAI_BASE_URL=${origin}/openai/v1
OPENAI_API_KEY=test-openai-key
WORKERS_AI_BASE_URL=${origin}/cloudflare/client/v4
WORKERS_AI_ACCOUNT_ID=test-account
WORKERS_AI_API_TOKEN=test-cloudflare-token
FAL_BASE_URL=${origin}/fal
FAL_KEY=test-fal-key
ARK_BASE_URL=${origin}/modelark/api/v3
ARK_API_KEY=test-ark-key
MINIMAX_BASE_URL=${origin}/minimax
MINIMAX_API_KEY=test-minimax-key
GEMINI_BASE_URL=${origin}/google
GEMINI_API_KEY=test-gemini-key
VERTEX_BASE_URL=${origin}/google/v1/projects/test-project/locations/us-central1
GOOGLE_SERVICE_ACCOUNT='${serviceAccount(`${origin}/google/token`)}'
REPLICATE_BASE_URL=${origin}/replicate/v1
REPLICATE_API_TOKEN=test-replicate-token
XAI_BASE_URL=${origin}/xai/v1
XAI_API_KEY=test-xai-key`);
