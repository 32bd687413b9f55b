/** The plan of a deployment: what a run will create, change and deploy, in the operator's words. */

import { declaredNames, type Deployment, type Worker } from "./configuration.ts";
import type { Account } from "./account.ts";
import { type Inventory, missing } from "./resources.ts";
import type { WrittenEntry } from "../support/models.ts";
import type { Run } from "./run.ts";
import { adminTokenRemedy, earlierVariables } from "./secrets.ts";
import type { State } from "./state.ts";
import { checkEmail, firstQuota } from "./verify.ts";

/** The values that the steps of a run use. */
export interface Context {
  run: Run;
  folder: string;
  account: Account;
  deployment: Deployment;
  state: State;
  /** True if this machine has deployed it before. */
  isKnown: boolean;
  inventory: Inventory;
  values: Map<string, string>;
  host: string;
  /** Providers that will be on. */
  on: string[];
  /** The first account's e-mail address. */
  email: string | undefined;
  /** The existing resources that may be someone else's. */
  unmarked: string[];
  /** Workers on the account that this deployment leaves out. */
  strays: string[];
  /** True if ADMIN_TOKEN is known or will be made: the test image, models and the first account need it. */
  hasToken: boolean;
  /** The operator's models in files. */
  written: WrittenEntry[];
  /** Those that earlier releases had in variables. */
  earlier: WrittenEntry[];
  environment: NodeJS.ProcessEnv;
  signal: AbortSignal;
}

/** The Worker with the public address, which is deployed last. */
export const gatewayWorker = ({ workers }: Deployment): Worker => workers.at(-1)!;

const list = new Intl.ListFormat("en");

/** True if the sandbox is deployed, which makes the test image. */
export const hasSandbox = ({ workers }: Deployment): boolean => workers.some(({ part }) => part.name === "sandbox");

/** What a run leaves out because this machine does not have ADMIN_TOKEN. */
export function withoutToken({ deployment, state, written, earlier }: Context): string {
  const left = [
    ...(hasSandbox(deployment) ? ["the test image"] : []),
    ...(written.length + earlier.length > 0 ? ["storing models"] : []),
    ...(state.isWelcomed ? [] : ["the first account"]),
  ];
  const without = left.length > 0 ? `, which leaves out ${list.format(left)}` : "";
  return `ADMIN_TOKEN is not set on this machine${without}. ${adminTokenRemedy}`;
}

/** A number of things: "1 queue", "4 queues". */
export const count = (number: number, thing: string): string => `${number} ${thing}${number === 1 ? "" : "s"}`;

/** The title of the step that applies migrations. */
export const migrationTitle = (database: string, files: string[]): string =>
  files.length === 1
    ? `apply the migration ${files[0]} to ${database}`
    : `apply ${count(files.length, "migration")} to ${database} (${files[0]} to ${files.at(-1)})`;

/** A line for each Worker that gets a class of objects with this release. */
const addedClasses = ({ workers }: Deployment, { classTags }: Inventory): string[] =>
  workers.flatMap(({ name, configuration: { migrations = [] } }) => {
    const at = migrations.findIndex(({ tag }) => tag === classTags.get(name));
    const added = at < 0 ? [] : migrations.slice(at + 1).flatMap((one) => one.new_sqlite_classes ?? []);
    return added.length === 0
      ? []
      : [`add ${list.format(added)} to ${name}: earlier releases cannot be deployed after that (roll forward only)`];
  });

/** Prints the plan. */
export function printPlan(context: Context): void {
  const { run, account, deployment, inventory, state, host, email, isKnown, unmarked, strays, hasToken, written, values } = context;
  const lines = [
    ...missing(inventory, deployment, state.choices, "").map(({ title }) => title),
    ...[...inventory.pendingMigrations].flatMap(([name, files]) => (files.length > 0 ? [migrationTitle(name, files)] : [])),
    ...deployment.workers.map(({ name, part }) => {
      const present = inventory.workers.get(name);
      const made = Object.keys(part.madeSecrets).filter((secret) => !present?.has(secret));
      return `${present ? "upgrade" : "create"} the Worker ${name}${made.length > 0 ? `, with ${list.format(made)} made at random` : ""}`;
    }),
    ...addedClasses(deployment, inventory),
    ...deployment.databases
      .filter(({ name }) => !inventory.replicated.has(name))
      .map(({ name }) => `switch on the read replicas of ${name}`),
    ...(hasToken && written.length > 0 ? [`store the models ${list.format(written.map(({ id }) => id))}`] : []),
    ...(hasToken && hasSandbox(deployment)
      ? [`make a test image with the account ${checkEmail}, without the admin role; its key is deleted afterwards`]
      : []),
    ...(hasToken && !state.isWelcomed
      ? [`create the first account, ${email}, with its key, the admin role and a balance of ${firstQuota}`]
      : []),
    ...inventory.leftDomains.map(({ hostname }) => `take the domain ${hostname} away from ${deployment.name}`),
  ];
  if (inventory.workers.has(deployment.name) && !isKnown)
    run.print(
      `\n${deployment.name} is on ${account.name} already, and was not deployed from here: this upgrades it, with the options of this command alone.\nFor a deployment of your own beside it add --env NAME.`,
    );
  if (unmarked.length > 0) run.print(`\nNot marked as part of this project, and perhaps someone else's: ${list.format(unmarked)}.`);
  if (!hasToken) run.print(`\n${withoutToken(context)}`);
  const read = new Set(deployment.workers.flatMap(({ part }) => [...declaredNames(part)]));
  const unread = [...values.keys()].filter((name) => name !== "CONSOLE_URL" && !earlierVariables.has(name) && !read.has(name));
  if (unread.length > 0) run.print(`\nNot used, because the Worker that reads it is left out: ${list.format(unread)}.`);
  for (const name of strays)
    run.print(`\n${name} is left out, and stays on the account without use: \`npx wrangler delete --name ${name}\` removes it.`);
  run.print(`\nPlan for https://${host}:\n${lines.map((line) => `  - ${line}`).join("\n")}\n`);
}
