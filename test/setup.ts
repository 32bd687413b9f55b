/** Before each test file: creates the schema of the local D1, in one transaction for speed. */
import { env } from "cloudflare:workers";

const isNew = (await env.DB.prepare("SELECT name FROM sqlite_master WHERE name = 'account'").first()) === null;
if (isNew) await env.DB.batch(env.TEST_MIGRATIONS.flatMap(({ queries }) => queries.map((query) => env.DB.prepare(query))));
