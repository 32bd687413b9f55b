/** Our mark on the resources of an account: without local state, a run changes only resources that have it, because names such as `gateway` may be someone else's. */

import * as z from "zod/mini";
import { type Deployment, markName } from "./configuration.ts";
import { tableNames } from "./migrations.ts";
import type { Account } from "./account.ts";
import { hasOurRule, type Inventory } from "./resources.ts";
import { Stop } from "./stop.ts";

const settings = z.object({ bindings: z.array(z.object({ type: z.string(), name: z.string(), text: z.optional(z.string()) })) });
/** Two tables of every version of the gateway. */
const ourTables = ["api_key", "wallet"];

/** The existing resources without our mark: "the Worker gateway". A new database without tables and queues beside marked resources count as ours. */
export async function findUnmarked({ api, id }: Account, deployment: Deployment, found: Inventory): Promise<string[]> {
  const unmarked: string[] = [];
  for (const name of found.workers.keys()) {
    const { bindings } = await api.get(`/accounts/${id}/workers/scripts/${name}/settings`, settings);
    if (!bindings.some((one) => one.name === markName && one.text === deployment.name)) unmarked.push(`the Worker ${name}`);
  }
  for (const [name, database] of found.databases) {
    const tables = (await tableNames(api, `/accounts/${id}/d1/database/${database}`)).filter(
      (table) => !/^(?:_cf_|sqlite_|d1_)/.test(table),
    );
    if (tables.length > 0 && !ourTables.every((table) => tables.includes(table))) unmarked.push(`the database ${name}`);
  }
  for (const [name, rules] of found.buckets) if (!hasOurRule(rules)) unmarked.push(`the bucket ${name}`);
  const marked = found.workers.size + found.databases.size + found.buckets.size - unmarked.length;
  return marked > 0 ? unmarked : [...unmarked, ...[...found.queues].map((name) => `the queue ${name}`)];
}

/** Stops a run that may not ask: what it would change or delete is perhaps not a gateway. */
export const unmarkedStop = (unmarked: string[], script: "deploy" | "destroy"): Stop =>
  new Stop(
    `${new Intl.ListFormat("en").format(unmarked)} ${unmarked.length === 1 ? "has" : "have"} no mark of this project, and nothing was deployed from here: --yes is not enough.`,
    `Run \`npm run ${script}\` in a terminal and type the name if it is yours${script === "deploy" ? ", or deploy beside it with --env NAME" : ""}.`,
  );
