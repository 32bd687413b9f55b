/** Counts everything that the gateway stores: a refused request must not change it. */

import { listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";

async function rows(): Promise<Record<string, number>> {
  const tables = await env.DB.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\'").all<{
    name: string;
  }>();
  const counts = await env.DB.batch<{ count: number }>(
    tables.results.map(({ name }) => env.DB.prepare(`SELECT count(*) AS count FROM "${name}"`)),
  );
  return Object.fromEntries(tables.results.map(({ name }, at) => [name, counts[at]!.results[0]!.count]));
}

const readIds = async (namespace: DurableObjectNamespace<never>) => (await listDurableObjectIds(namespace)).map(String).sort();

/** Objects with storage, files and rows, for comparison between two moments. */
export async function traces() {
  const { objects } = await env.ASSETS.list();
  return {
    objects: await Promise.all([env.TASKS, env.CLAIMS, env.WALLETS].map((namespace) => readIds(namespace as never))),
    files: objects.map(({ key }) => key),
    rows: await rows(),
  };
}
