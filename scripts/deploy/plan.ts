/** The plan of a deployment: what a run will create, change and deploy, in the operator's words. */

import type { Deployment, Worker } from "./configuration.ts";
import type { Account } from "./preflight.ts";
import { type Inventory, missing } from "./resources.ts";
import type { Run } from "./run.ts";
import type { State } from "./state.ts";

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
  email: string;
  signal: AbortSignal;
}

/** The Worker with the public address, which is deployed last. */
export const gatewayWorker = ({ workers }: Deployment): Worker => workers.at(-1)!;

const list = new Intl.ListFormat("en");

/** A number of things: "1 queue", "4 queues". */
export const count = (number: number, thing: string): string => `${number} ${thing}${number === 1 ? "" : "s"}`;

/** The title of the step that applies migrations. */
export const migrationTitle = (database: string, files: string[]): string =>
  files.length === 1
    ? `apply the migration ${files[0]} to ${database}`
    : `apply ${count(files.length, "migration")} to ${database} (${files[0]} to ${files.at(-1)})`;

/** Prints the plan. */
export function printPlan({ run, account, deployment, inventory, state, host, email, isKnown }: Context): void {
  const lines = [
    ...missing(inventory, deployment, state.choices, "").map(({ title }) => title),
    ...[...inventory.pendingMigrations].flatMap(([name, files]) => (files.length > 0 ? [migrationTitle(name, files)] : [])),
    ...deployment.workers.map(({ name, part }) => {
      const present = inventory.workers.get(name);
      const made = Object.keys(part.madeSecrets).filter((secret) => !present?.has(secret));
      return `${present ? "upgrade" : "create"} the Worker ${name}${made.length > 0 ? `, with ${list.format(made)} made at random` : ""}`;
    }),
    ...deployment.databases
      .filter(({ name }) => !inventory.replicated.has(name))
      .map(({ name }) => `switch on the read replicas of ${name}`),
    ...(state.isWelcomed ? [] : [`create the first account, ${email}, with its key`]),
    ...inventory.leftDomains.map(({ hostname }) => `take the domain ${hostname} away from ${deployment.name}`),
  ];
  if (inventory.workers.has(deployment.name) && !isKnown)
    run.print(
      `\n${deployment.name} is on ${account.name} already, and was not deployed from here: this upgrades it, with the options of this command alone.\nFor a deployment of your own beside it add --env NAME.`,
    );
  run.print(`\nPlan for https://${host}:\n${lines.map((line) => `  - ${line}`).join("\n")}\n`);
}
