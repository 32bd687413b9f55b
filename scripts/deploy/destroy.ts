/** Removes a deployment: first the Workers, then the queues, the data last. */

import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { relative } from "node:path";
import { root } from "../support/wrangler.ts";
import { ask } from "./command.ts";
import { type Deployment, deployment as build } from "./configuration.ts";
import { findUnmarked, unmarkedStop } from "./mark.ts";
import { extras } from "./parts.ts";
import { count } from "./plan.ts";
import { type Account, findAccount } from "./account.ts";
import { emptyBucket, type Inventory, isConsumer, takeInventory } from "./resources.ts";
import { Run } from "./run.ts";
import { secretsFile } from "./secrets.ts";
import { stateFolder, readState } from "./state.ts";
import { Stop } from "./stop.ts";

/** Destroys the deployment of an environment, after its name was typed or given with `--yes`. A repeated run continues. */
export async function destroy(
  options: { environment: string; confirmedName: string | undefined },
  environment: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<void> {
  // A Worker left out of the last run may exist from an earlier one, also one that only `--with` deploys.
  const deployment = build(options.environment, { with: [...extras] });
  const { name } = deployment;
  const folder = stateFolder(name);
  const run = new Run({ folder, isDry: false, environment, signal });
  await run.whole(async () => {
    run.print(`Destroying ${name}`);
    const account = await findAccount(run, environment);
    run.useAccount(account.id);
    const state = await readState(folder);
    if (state && state.account !== account.id)
      throw new Stop(
        `${name} was deployed from here to the account ${state.account}, not to ${account.id}.`,
        "Set CLOUDFLARE_ACCOUNT_ID to the account of this deployment.",
      );
    const found = await takeInventory(account, deployment, { jurisdiction: state?.choices.jurisdiction });
    const things = listThings(found);
    if (things.length === 0) run.print(`There is nothing of ${name} on ${account.name}.`);
    else {
      run.print(`On ${account.name} this deletes for good, with every account, key, balance and file:\n${things.join("\n")}`);
      const unmarked = state ? [] : await findUnmarked(account, deployment, found);
      if (unmarked.length > 0) run.print(`Not marked as part of this project, and perhaps someone else's: ${unmarked.join(", ")}.`);
      await confirmed(name, unmarked, options.confirmedName, signal);
    }
    await deleteAll(run, account, deployment, found);
    await rm(folder, { recursive: true, force: true });
    const file = relative(root, secretsFile(name));
    const rest = existsSync(secretsFile(name)) ? `, except for your file ${file}` : "";
    console.log(`\n${name} is gone. What it kept under .deploy/ is gone too${rest}.`);
  });
}

/** A line for each kind of thing that exists. */
const listThings = ({ workers, queues, buckets, databases }: Inventory): string[] =>
  Object.entries({ Workers: workers.keys(), queues, buckets: buckets.keys(), databases: databases.keys() }).flatMap(([kind, names]) => {
    const all = [...names];
    return all.length === 0 ? [] : `  - ${kind}: ${all.join(", ")}`;
  });

/** Deletes what exists, the data last. */
async function deleteAll(run: Run, account: Account, deployment: Deployment, found: Inventory): Promise<void> {
  const { workers, queues, buckets, databases, jurisdiction } = found;
  const wrangler = async (...args: string[]) => {
    await run.wrangler(...args);
    return undefined;
  };
  // The platform refuses to delete a Worker that consumes a queue.
  for (const { name, configuration } of deployment.workers)
    for (const { queue } of configuration.queues?.consumers ?? [])
      if (await isConsumer(account, queue, name))
        await run.step(`end the delivery of ${queue}`, () => wrangler("queues", "consumer", "remove", queue, name));
  // The gateway first: the Workers that it binds can be deleted only when nothing uses them.
  for (const { name } of deployment.workers.toReversed())
    if (workers.has(name)) await run.step(`delete the Worker ${name}`, () => wrangler("delete", name, "--force"));
  for (const queue of queues) await run.step(`delete the queue ${queue}`, () => wrangler("queues", "delete", queue));
  for (const bucket of buckets.keys())
    await run.step(`delete the bucket ${bucket}`, async () => {
      const files = await emptyBucket(account, bucket, jurisdiction);
      await run.wrangler("r2", "bucket", "delete", bucket, ...(jurisdiction === undefined ? [] : ["--jurisdiction", jurisdiction]));
      return `with ${count(files, "file")}`;
    });
  for (const database of databases.keys())
    await run.step(`delete the database ${database}`, () => wrangler("d1", "delete", database, "--skip-confirmation"));
}

async function confirmed(name: string, unmarked: string[], given: string | undefined, signal: AbortSignal): Promise<void> {
  if (given === name && unmarked.length > 0) throw unmarkedStop(unmarked, "destroy");
  const answer = given ?? (await ask(`Type ${name} to delete all of it: `, signal));
  if (answer === undefined) throw new Stop("There is no terminal to ask on.", `Give the name: npm run destroy -- --yes ${name}`);
  if (answer !== name) throw new Stop(`"${answer}" is not ${name}: nothing was deleted.`, `Give the name ${name} to delete it.`);
}
