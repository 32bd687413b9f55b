/** Removes a deployment: first the Workers, then the queues, the data last. */

import { rm } from "node:fs/promises";
import { ask } from "./command.ts";
import { deployment as build } from "./configuration.ts";
import { findAccount } from "./preflight.ts";
import { emptyBucket, takeInventory } from "./resources.ts";
import { Run } from "./run.ts";
import { stateFolder, readState } from "./state.ts";
import { Stop } from "./stop.ts";

/** Destroys the deployment of an environment, after its name was typed or given with `--yes`. A repeated run continues. */
export async function destroy(
  options: { environment: string; confirmedName: string | undefined },
  environment: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<void> {
  // A Worker left out of the last run may exist from an earlier one.
  const deployment = build(options.environment, {});
  const { name } = deployment;
  const folder = stateFolder(name);
  const run = new Run({ folder, isDry: false, environment: { ...environment }, signal });
  run.print(`Destroying ${name}`);
  const account = await findAccount(run, environment);
  run.useAccount(account.id);
  const state = await readState(folder);
  if (state && state.account !== account.id)
    throw new Stop(
      `${name} was deployed from here to the account ${state.account}, not to ${account.id}.`,
      "Set CLOUDFLARE_ACCOUNT_ID to the account of this deployment.",
    );
  const { workers, queues, buckets, databases, jurisdiction } = await takeInventory(account, deployment, state?.choices.jurisdiction);
  const doomed = [...workers.keys(), ...queues, ...buckets.keys(), ...databases.keys()];
  if (doomed.length === 0) run.print(`There is nothing of ${name} on ${account.name}.`);
  else {
    run.print(`On ${account.name} this deletes for good, with every account, key, balance and file: ${doomed.join(", ")}`);
    await confirmed(name, options.confirmedName, signal);
  }
  const none = async (...args: string[]) => {
    await run.wrangler(...args);
    return undefined;
  };
  // The gateway first: the Workers that it binds can be deleted when nothing uses them any more.
  for (const worker of deployment.workers.toReversed())
    if (workers.has(worker.name)) await run.step(`delete the Worker ${worker.name}`, () => none("delete", worker.name, "--force"));
  for (const queue of queues) await run.step(`delete the queue ${queue}`, () => none("queues", "delete", queue));
  for (const bucket of buckets.keys())
    await run.step(`delete the bucket ${bucket}`, async () => {
      const count = await emptyBucket(account, bucket, jurisdiction);
      await run.wrangler("r2", "bucket", "delete", bucket, ...(jurisdiction === undefined ? [] : ["--jurisdiction", jurisdiction]));
      return `with ${count} files`;
    });
  for (const database of databases.keys())
    await run.step(`delete the database ${database}`, () => none("d1", "delete", database, "--skip-confirmation"));
  await rm(folder, { recursive: true, force: true });
  console.log(`\n${name} is gone. What it kept under .deploy/ is gone too.`);
}

async function confirmed(name: string, given: string | undefined, signal: AbortSignal): Promise<void> {
  const answer = given ?? (await ask(`Type ${name} to delete all of it: `, signal));
  if (answer === undefined) throw new Stop("There is no terminal to ask on.", `Give the name: npm run destroy -- --yes ${name}`);
  if (answer !== name) throw new Stop(`"${answer}" is not ${name}: nothing was deleted.`, `Give the name ${name} to delete it.`);
}
