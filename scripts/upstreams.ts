/** `npm run tools -- upstreams PORT`: all emulated upstreams on one port, and prints the settings that make a local gateway use them. */

import { baseUrls, providerKeys, serviceAccount } from "../test/upstreams/keys.ts";
import { listen } from "../test/upstreams/listen.ts";

const { origin } = await listen(Number(process.argv[2] ?? 8790));
const settings = { ...providerKeys, ...baseUrls(origin), GOOGLE_SERVICE_ACCOUNT: `'${serviceAccount(`${origin}/google/token`)}'` };
console.log(`Emulated upstreams at ${origin}. Put these into .dev.vars and run \`npm start\`:\n`);
for (const [name, value] of Object.entries(settings)) console.log(`${name}=${value}`);
