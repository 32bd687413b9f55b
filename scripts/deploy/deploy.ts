/** The steps of a deployment: preflight, plan, missing resources, migrations, Workers, readiness, a test image, the welcome text. */

import { relative } from "node:path";
import { root } from "../support/wrangler.ts";
import { known } from "../../src/base/known.ts";
import { findAccount } from "./account.ts";
import { announceSigning, checkCredential } from "./credential.ts";
import { ask, confirmed, openRun } from "./command.ts";
import { type Deployment, deployment as build } from "./configuration.ts";
import type { Choices, DeployOptions } from "./options.ts";
import type { AdminClient } from "../support/admin-client.ts";
import { keptBundles } from "../support/bundles.ts";
import { toReason } from "../support/faults.ts";
import { applyModels, modelsFolder, readModelFiles, readOldVariables, type WrittenEntry } from "../support/models.ts";
import { fileLife } from "../support/time-words.ts";
import { applyMigrations } from "./migrations.ts";
import { type Context, count, gatewayWorker, hasSandbox, migrationTitle, printPlan, withoutToken } from "./plan.ts";
import { findUnmarked, unmarkedStop } from "./mark.ts";
import { checkClasses, checkJurisdiction, checkPlan, checkRegion, checkServices } from "./preflight.ts";
import { databaseId, deployedVersion, detachDomain, existingWorkers, missing, switchOnReplicas, takeInventory } from "./resources.ts";
import type { Run } from "./run.ts";
import { adminTokenFile, checkChoices, checkSecrets, givenTo, knownAdminToken, providersOn, secretsToSet, servingLine } from "./secrets.ts";
import { type State, writeState } from "./state.ts";
import { Stop } from "./stop.ts";
import { openAdmin, smokeTest, waitUntilReady, welcome } from "./verify.ts";
import { checkVariables } from "./variables.ts";
import { deployWorker, removeSecretsFiles, workerDigest, writeConfiguration } from "./workers.ts";

/** Deploys, or prints the plan of a dry run. Throws `Stop` with the missing precondition. */
export async function deploy(options: DeployOptions, environment: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const { name, run, ...opened } = await openRun(options, environment, signal);
  await run.whole(async () => {
    run.print(`Deploying ${name}`);
    const context = await preflight(run, { ...opened, signal, environment, deployment: build(options.environment, opened.choices) });
    await announceSigning(context, !options.isDryRun && !options.isConfirmed);
    printPlan(context);
    if (options.isDryRun) return console.log("This was a dry run: nothing was changed.");
    if (context.unmarked.length > 0) await adopted(context, options.isConfirmed);
    else if (!options.isConfirmed) await confirmed(signal);
    await writeState(context.folder, context.state);
    // Before anything is changed: a mistake in the sources shows here.
    const { workers } = context.deployment;
    const scripts = await run.find(`bundle ${count(workers.length, "Worker")}`, async () => {
      const configs = workers.map(({ part }) => part.config);
      return [await keptBundles(configs, signal), undefined];
    });
    await createMissing(context);
    await deployWorkers(context, scripts);
    await finish(context);
  });
}

async function preflight(
  run: Run,
  given: Omit<Awaited<ReturnType<typeof openRun>>, "name" | "run"> & {
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
        `Set CLOUDFLARE_ACCOUNT_ID to that account, or deploy to this one from another checkout. If that account is gone, move ${relative(root, folder)} away: it contains its ADMIN_TOKEN.`,
      );
    return [found, found.name];
  });
  const host = await run.find("services", async () => {
    const found = await checkServices(account, deployment.name, choices);
    if (!values.has("CONSOLE_URL")) values.set("CONSOLE_URL", `https://${found}`);
    return [found, found];
  });
  await run.step("plan", () => checkPlan(account, choices));
  const inventory = await run.find("what is there", async () => {
    const found = await takeInventory(account, deployment, choices);
    checkJurisdiction(deployment.name, found, choices);
    checkRegion(deployment.name, found, before?.choices, choices);
    checkClasses(deployment, found);
    const { databases, buckets, queues, workers } = found;
    const sizes = Object.entries({ database: databases, bucket: buckets, queue: queues, Worker: workers }).map(
      ([thing, { size }]) => [thing, size] as const,
    );
    const isEmpty = sizes.every(([, size]) => size === 0);
    return [found, isEmpty ? "nothing yet" : sizes.map(([thing, size]) => count(size, thing)).join(", ")];
  });
  const hasAi = gatewayWorker(deployment).configuration.ai !== undefined;
  const on = providersOn(inventory.workers.get(deployment.name) ?? new Set(), values.keys(), hasAi);
  await run.step("providers", async () => {
    checkChoices(choices, on, values);
    await checkCredential(values);
    for (const worker of deployment.workers) checkSecrets(inventory.workers.get(worker.name) ?? new Set(), givenTo(worker, values));
    await checkVariables(deployment, inventory, values, choices);
    return servingLine(deployment, on);
  });
  const email = choices.email ?? account.email;
  // A new database has no account yet, even if this machine has deployed an earlier one.
  const isWelcomed = inventory.databases.size > 0 && (before?.isWelcomed ?? inventory.workers.has(deployment.name));
  if (email === undefined && !isWelcomed)
    throw new Stop(
      "The first account needs an e-mail address, and these credentials do not contain yours.",
      "Give it with --email you@example.com.",
    );
  const state: State = {
    account: account.id,
    choices,
    deployed: before?.deployed ?? {},
    isWelcomed,
  };
  const isKnown = before !== undefined;
  const [written, earlier] = await readModels(values, deployment, given.environment).catch((error: unknown) => {
    throw new Stop(toReason(error), "Correct it, and run the same command again.");
  });
  const unmarked = isKnown ? [] : await findUnmarked(account, deployment, inventory);
  const strays = await existingWorkers(account, deployment.leftOut);
  const makesToken = !(inventory.workers.get(deployment.name)?.has("ADMIN_TOKEN") ?? false);
  const hasToken = makesToken || (await knownAdminToken(folder, values)) !== undefined;
  return {
    run,
    folder,
    account,
    deployment,
    state,
    isKnown,
    inventory,
    values,
    host,
    on,
    email,
    unmarked,
    strays,
    hasToken,
    written,
    earlier,
    environment: given.environment,
    signal,
  };
}

/** Asks for the name of a deployment whose resources may be someone else's. */
async function adopted({ deployment: { name }, unmarked, signal }: Context, isConfirmed: boolean): Promise<void> {
  const answer = isConfirmed ? undefined : await ask(`Type ${name} to take them over: `, signal);
  if (answer === undefined) throw unmarkedStop(unmarked, "deploy");
  if (answer !== name)
    throw new Stop(`"${answer}" is not ${name}: nothing was changed.`, `Type ${name}, or deploy beside it with --env NAME.`);
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

/** `scripts` are the Workers' bundles. */
async function deployWorkers(
  { run, account, deployment, inventory, state, values, folder, signal }: Context,
  scripts: string[],
): Promise<void> {
  await removeSecretsFiles(deployment.workers, folder);
  const configurations = new Map<string, { path: string; text: string }>();
  for (const [at, worker] of deployment.workers.entries()) {
    const given = givenTo(worker, values);
    configurations.set(worker.name, await writeConfiguration(worker, inventory.databases, given, state.choices, folder, scripts[at]));
  }
  // Migrations run before any code that needs them, on a first deployment and on an upgrade.
  for (const { name, migrationsDir } of deployment.databases) {
    const files = inventory.pendingMigrations.get(name) ?? [];
    const holder = deployment.workers.find(({ configuration }) => configuration.d1_databases?.some((one) => one.database_name === name));
    if (files.length === 0 || migrationsDir === undefined || !holder) continue;
    const path = `/accounts/${account.id}/d1/database/${known(inventory.databases, name)}`;
    const migrated = { name, path, migrationsDir, config: known(configurations, holder.name).path };
    await run.step(migrationTitle(name, files), () => applyMigrations(run, account.api, migrated, files, folder, signal));
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
  await run.step(`wait for ${baseUrl}/readyz`, async () =>
    waitUntilReady(deployment.name, baseUrl, await deployedVersion(account, deployment.name), signal),
  );
  // After the new code answers: replicas only make answers faster.
  for (const [name, id] of inventory.databases)
    if (!inventory.replicated.has(name)) await run.step(`switch on the read replicas of ${name}`, () => switchOnReplicas(account, id));
  for (const domain of inventory.leftDomains)
    await run.step(`take the domain ${domain.hostname} away`, () => detachDomain(account, domain.id));
  const token = await knownAdminToken(folder, values);
  if (token === undefined) {
    await endRun(context);
    run.print(`\n${deployment.name} is up at ${baseUrl}. ${withoutToken(context)}`);
    return;
  }
  run.hide(token);
  const admin = openAdmin(baseUrl, token);
  await storeModels(context, admin);
  if (hasSandbox(deployment)) await run.step("smoke test", () => smokeTest(run, baseUrl, admin));
  const lines = [`\n${deployment.name} is up at ${baseUrl}`];
  if (!state.isWelcomed && email !== undefined)
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

/** The models of the folder, and those that earlier releases had in the variables `ROUTES` and `PRICES`. Throws if one of them is no entry. */
async function readModels(values: ReadonlyMap<string, string>, deployment: Deployment, environment: NodeJS.ProcessEnv) {
  const { vars = {} } = gatewayWorker(deployment).configuration;
  const read = (name: "ROUTES" | "PRICES") => values.get(name) ?? vars[name] ?? environment[name];
  const written = await readModelFiles(modelsFolder(environment));
  return [written, readOldVariables({ ROUTES: read("ROUTES"), PRICES: read("PRICES") })] as const;
}

/**
 * Stores the models of the folder, and once those that earlier releases had in the variables `ROUTES` and `PRICES`. Names the stored ones
 * that this release refuses.
 */
async function storeModels({ run, written, earlier }: Context, admin: AdminClient): Promise<void> {
  const store = async (entries: WrittenEntry[], isOnlyNew: boolean) =>
    applyModels(admin, entries, { isOnlyNew }).catch((error: unknown) => {
      throw new Stop(toReason(error), "Correct it, and run the same command again. The models that are sold are unchanged.");
    });
  if (earlier.length > 0)
    await run.step("move ROUTES and PRICES to the catalogue", async () => {
      const moved = await store(earlier, true);
      return `${moved === "" ? "moved by an earlier run" : moved}; take them out of your file, wrangler.toml and the environment`;
    });
  if (written.length > 0) await run.step(`store ${count(written.length, "model")} of the folder models`, () => store(written, false));
  for (const { id, refused = [] } of await admin.soldModels())
    for (const { param, message } of refused)
      run.print(
        `Warning: this release refuses your model ${id}, which stays in use as it is: ${param} ${message} (docs/operations.md, model_refused).`,
      );
}

/** The next run is an upgrade: it deploys every Worker again. */
async function endRun({ state, folder }: Context): Promise<void> {
  state.deployed = {};
  await writeState(folder, state);
}

const idleCost = (choices: Choices): string =>
  choices.freePlan
    ? "Idle it costs nothing on the Workers Free plan."
    : `Idle it costs nothing beyond the 5 USD a month of Workers Paid, which is for the whole account. Files cost 0.015 USD per GB and month above the first 10 GB; results are deleted after ${fileLife}.`;
