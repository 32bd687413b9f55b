/** The steps of a deployment: preflight, plan, missing resources, migrations, Workers, readiness, a test image, the welcome text. */

import { relative } from "node:path";
import { root } from "../support/wrangler.ts";
import { known } from "../../src/known.ts";
import { ask } from "./command.ts";
import { type Deployment, deployment as build, type Worker } from "./configuration.ts";
import type { Choices, DeployOptions } from "./options.ts";
import { type Account, checkJurisdiction, checkPlan, checkServices, findAccount } from "./preflight.ts";
import { databaseId, type Inventory, missing, switchOnReplicas, takeInventory } from "./resources.ts";
import { Run } from "./run.ts";
import { adminTokenFile, checkChoices, givenTo, givenValues, knownAdminToken, providersOn, secretsToSet, servingLine } from "./secrets.ts";
import { stateFolder, readState, type State, writeState } from "./state.ts";
import { Stop } from "./stop.ts";
import { AdminClient, servedBySandboxAlone, smokeTest, waitUntilReady, welcome } from "./verify.ts";
import { deployWorker, workerDigest, writeConfiguration } from "./workers.ts";

/** The values that the steps of a run use. */
interface Context {
  run: Run;
  folder: string;
  account: Account;
  deployment: Deployment;
  state: State;
  inventory: Inventory;
  values: Map<string, string>;
  host: string;
  /** Providers that will be on. */
  on: string[];
  /** The first account's e-mail address. */
  email: string;
  signal: AbortSignal;
}

/** Deploys, or prints the plan of a dry run. Throws `Stop` with the missing precondition. */
export async function deploy(options: DeployOptions, environment: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const name = build(options.environment, options.choices).name;
  const folder = stateFolder(name);
  const run = new Run({ folder, isDry: options.isDryRun, environment: { ...environment }, signal });
  const before = await readState(folder);
  const choices: Choices = { ...before?.choices, ...options.choices };
  const values = await givenValues(name, options.secretsFile, environment);
  run.hide(...values.values());

  run.print(`Deploying ${name}`);
  const context = await preflight(run, {
    folder,
    choices,
    before,
    values,
    signal,
    environment,
    deployment: build(options.environment, choices),
  });
  const plan = printPlan(context);
  if (options.isDryRun) return console.log("\nThis was a dry run: nothing was changed.");
  if (plan > 0 && !options.isConfirmed) await confirmed(signal);
  await writeState(folder, context.state);
  await createMissing(context);
  await deployWorkers(context);
  await finish(context);
}

async function preflight(
  run: Run,
  given: {
    folder: string;
    choices: Choices;
    before: State | undefined;
    values: Map<string, string>;
    signal: AbortSignal;
    environment: NodeJS.ProcessEnv;
    deployment: Deployment;
  },
): Promise<Context> {
  const { folder, choices, before, values, deployment, signal } = given;
  const account = await run.find("account", async () => {
    const found = await findAccount(run, given.environment);
    run.useAccount(found.id);
    if (before && before.account !== found.id)
      throw new Stop(
        `${deployment.name} was deployed from here to the account ${before.account}, not to ${found.id}.`,
        `Set CLOUDFLARE_ACCOUNT_ID to that account, or remove ${relative(root, folder)} to start again on this one.`,
      );
    return [found, found.name];
  });
  const host = await run.find("services", async () => {
    const found = await checkServices(account, deployment.name, choices);
    return [found, found];
  });
  await run.step("plan", () => checkPlan(account, choices));
  const inventory = await run.find("what is there", async () => {
    const found = await takeInventory(account, deployment, choices.jurisdiction);
    checkJurisdiction(deployment.name, found, choices);
    const { databases, buckets, queues, workers } = found;
    const count = databases.size + buckets.size + queues.size + workers.size;
    const line = `${databases.size} databases, ${buckets.size} buckets, ${queues.size} queues, ${workers.size} Workers`;
    return [found, count === 0 ? "nothing yet" : line];
  });
  const hasAi = gatewayWorker(deployment).configuration.ai !== undefined;
  const on = providersOn(inventory.workers.get(deployment.name) ?? new Set(), values.keys(), hasAi);
  await run.step("providers", async () => {
    checkChoices(choices, on, values);
    return servingLine(deployment, on);
  });
  const email = choices.email ?? account.email;
  if (email === undefined || !/^[^\s@]+@[^\s@]+$/.test(email))
    throw new Stop(
      "The first account needs an e-mail address, and these credentials do not contain yours.",
      "Give it with --email you@example.com.",
    );
  const state: State = {
    account: account.id,
    choices,
    deployed: before?.deployed ?? {},
    isWelcomed: before?.isWelcomed ?? inventory.workers.has(deployment.name),
  };
  return { run, folder, account, deployment, state, inventory, values, host, on, email, signal };
}

const list = new Intl.ListFormat("en");

/** Prints the plan; returns how many things will be created or deployed. */
function printPlan({ run, deployment, inventory, state, host }: Context): number {
  const lines = [
    ...missing(inventory, deployment, state.choices, "").map(({ title }) => title),
    ...[...inventory.pendingMigrations].flatMap(([name, files]) =>
      files.length > 0 ? [`apply ${files.length} migrations to ${name} (${files[0]} to ${files.at(-1)})`] : [],
    ),
    ...deployment.workers.map(({ name, part }) => {
      const present = inventory.workers.get(name);
      const made = Object.keys(part.madeSecrets).filter((secret) => !present?.has(secret));
      return `${present ? "upgrade" : "create"} the Worker ${name}${made.length > 0 ? `, with ${list.format(made)} made at random` : ""}`;
    }),
    ...deployment.databases
      .filter(({ name }) => !inventory.replicated.has(name))
      .map(({ name }) => `switch on the read replicas of ${name}`),
  ];
  run.print(`\nPlan for https://${host}:\n${lines.map((line) => `  - ${line}`).join("\n")}\n`);
  return lines.length;
}

async function confirmed(signal: AbortSignal): Promise<void> {
  const answer = await ask("Go on? [y/N] ", signal);
  if (answer === undefined) throw new Stop("There is no terminal to ask on.", "Add --yes: npm run deploy -- --yes");
  if (!/^y(es)?$/i.test(answer)) throw new Stop("Nothing was changed.", "Answer y, or add --yes, to go on.");
}

async function createMissing({ run, account, deployment, inventory, state, values, folder }: Context): Promise<void> {
  const gateway = gatewayWorker(deployment);
  // The ids are not known yet, and none of these commands uses them.
  const { path } = await writeConfiguration(gateway, new Map(), givenTo(gateway, values), state.choices, folder);
  for (const action of missing(inventory, deployment, state.choices, path)) await run.step(action.title, () => action.run(run));
  for (const { name } of deployment.databases) {
    const id = await databaseId(account, name);
    if (id === undefined) throw new Stop(`The database ${name} was created but cannot be found.`, "Run the same command again.");
    inventory.databases.set(name, id);
  }
}

async function deployWorkers({ run, deployment, inventory, state, values, folder }: Context): Promise<void> {
  const configurations = new Map<string, { path: string; text: string }>();
  for (const worker of deployment.workers)
    configurations.set(worker.name, await writeConfiguration(worker, inventory.databases, givenTo(worker, values), state.choices, folder));
  // Migrations run before any code that needs them, on a first deployment and on an upgrade.
  for (const [database, files] of inventory.pendingMigrations) {
    const holder = deployment.workers.find(({ configuration }) =>
      configuration.d1_databases?.some((one) => one.database_name === database && one.migrations_dir !== undefined),
    );
    if (files.length === 0 || !holder) continue;
    await run.step(`apply ${files.length} migrations to ${database}`, async () => {
      await run.wrangler("d1", "migrations", "apply", database, "--remote", "-c", known(configurations, holder.name).path);
      return undefined;
    });
  }
  for (const worker of deployment.workers) {
    const { path, text } = known(configurations, worker.name);
    const present = inventory.workers.get(worker.name) ?? new Set<string>();
    const secrets = await secretsToSet(worker, present, givenTo(worker, values).secrets, folder);
    const fingerprint = await workerDigest(text, secrets);
    await run.step(`deploy ${worker.name}`, async () => {
      if (inventory.workers.has(worker.name) && state.deployed[worker.name] === fingerprint)
        return "already done by the run that broke off";
      await deployWorker(run, worker, path, secrets, folder);
      // The digest that a repeated run computes, when our generated secrets are already set.
      const later = await secretsToSet(worker, new Set([...present, ...Object.keys(secrets)]), givenTo(worker, values).secrets, folder);
      state.deployed[worker.name] = await workerDigest(text, later);
      await writeState(folder, state);
      return undefined;
    });
  }
}

async function finish(context: Context): Promise<void> {
  const { run, folder, account, deployment, inventory, state, values, host, email, signal } = context;
  const baseUrl = `https://${host}`;
  await run.step(`wait for ${baseUrl}/readyz`, () => waitUntilReady(baseUrl, signal));
  // Only after the new code answers: the previous version changes keys without announcing it, and a reader of a replica would miss the
  // change.
  for (const [name, id] of inventory.databases)
    if (!inventory.replicated.has(name)) await run.step(`switch on the read replicas of ${name}`, () => switchOnReplicas(account, id));
  const token = await knownAdminToken(folder, values);
  if (token === undefined) {
    await endRun(context);
    run.print(`\n${deployment.name} is up at ${baseUrl}. ADMIN_TOKEN is not set on this machine: the smoke test was skipped.`);
    return;
  }
  run.hide(token);
  const admin = new AdminClient(baseUrl, token);
  if (deployment.workers.some(({ part }) => part.name === "sandbox"))
    await run.step("smoke test", () =>
      smokeTest(run, baseUrl, admin, email, servedBySandboxAlone(gatewayWorker(deployment).configuration, context.on, values)),
    );
  const lines = [`\n${deployment.name} is up at ${baseUrl}`];
  if (!state.isWelcomed)
    await run.step("first account", async () => {
      const { apiKey, invitation } = await welcome(
        admin,
        email,
        deployment.workers.some(({ part }) => part.name === "console"),
      );
      run.hide(apiKey);
      lines.push(`\nAPI_KEY=${apiKey}`, `The key of ${email}, shown this once.`);
      if (invitation !== undefined) lines.push(`\nSign up as the operator within a week: ${invitation}`);
      return email;
    });
  lines.push(
    `\nADMIN_TOKEN: ${relative(root, adminTokenFile(folder))}`,
    `The log of this run: ${relative(root, run.logFile)}`,
    idleCost(state.choices),
  );
  run.print(lines.join("\n"));
  state.isWelcomed = true;
  await endRun(context);
}

/** The next run is an upgrade: it deploys every Worker again. */
async function endRun({ state, folder }: Context): Promise<void> {
  state.deployed = {};
  await writeState(folder, state);
}

/** The Worker with the public address, which is deployed last. */
const gatewayWorker = ({ workers }: Deployment): Worker => workers.at(-1)!;

const idleCost = (choices: Choices): string =>
  choices.freePlan
    ? "Idle it costs nothing on the Workers Free plan."
    : "Idle it costs nothing beyond the 5 USD a month of Workers Paid, which is for the whole account; files are 0.015 USD a GB and month over the first 10 GB, and live a day.";
