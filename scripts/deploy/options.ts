/** The options of `npm run deploy` and `npm run destroy`. */

import { parseArgs } from "node:util";
import { type Extra, extras, leavable } from "./parts.ts";
import { Stop } from "./stop.ts";

export const jurisdictions = ["eu", "us", "fedramp"] as const;
const regions = ["weur", "eeur", "apac", "oc", "wnam", "enam"];

/** Choices that a deployment keeps from one run to the next, unless a later run changes them. */
export interface Choices {
  domain?: string | undefined;
  region?: string | undefined;
  jurisdiction?: (typeof jurisdictions)[number] | undefined;
  without?: string[] | undefined;
  with?: Extra[] | undefined;
  mailFrom?: string | undefined;
  email?: string | undefined;
  freePlan?: boolean | undefined;
  /** The share of requests that is traced. */
  traces?: number | undefined;
  /** The account's OpenTelemetry destinations for traces, by name. */
  tracesTo?: string[] | undefined;
}

/** The command line of `npm run deploy`. */
export interface DeployOptions {
  /** The environment's suffix; empty for the main one. */
  environment: string;
  choices: Choices;
  /** A file of variables and secrets. */
  secretsFile: string | undefined;
  isDryRun: boolean;
  isConfirmed: boolean;
}

export const deployHelp = `npm run deploy -- [options]

  --env NAME            a second deployment beside the first: every name ends in -NAME
  --domain HOST         serve this host of yours instead of the workers.dev address ("none" goes back)
  --region REGION       where databases and buckets are created: ${regions.join(", ")}
  --jurisdiction WHERE  keep database, bucket and objects inside: ${jurisdictions.join(", ")}
  --without PART,...    leave out ${leavable.join(", ")} ("none" brings all back)
  --with BINDING,...    add the bindings ${extras.join(", ")} ("none" takes them away)
  --mail-from ADDRESS   the sender of e-mail, with --with email
  --email ADDRESS       the first account's address (default: yours at Cloudflare)
  --traces SHARE        trace this share of the requests, 0 to 1 (default: 0)
  --traces-to NAME,...  export traces to these OTLP destinations of the account ("none" takes them away)
  --secrets FILE        variables and secrets, NAME=value a line (default: .deploy/<name>.env where it exists)
  --free                deploy to the Workers Free plan, for evaluation
  --dry-run             print the plan and change nothing
  --yes                 do not ask before changing something

Options other than --secrets, --dry-run and --yes are stored under .deploy/ for later runs.`;

const list = (text: string | undefined): string[] | undefined =>
  text === undefined ? undefined : text === "none" ? [] : text.split(",").map((word) => word.trim());

/** Reads the command line of `npm run deploy`; undefined if it asks for help. Throws `Stop` with the fault. */
export function readDeployOptions(args: string[]): DeployOptions | undefined {
  const { values } = parsed(args, {
    env: { type: "string" },
    domain: { type: "string" },
    region: { type: "string" },
    jurisdiction: { type: "string" },
    without: { type: "string", multiple: true },
    with: { type: "string", multiple: true },
    "mail-from": { type: "string" },
    email: { type: "string" },
    traces: { type: "string" },
    "traces-to": { type: "string" },
    secrets: { type: "string" },
    free: { type: "boolean" },
    "dry-run": { type: "boolean" },
    yes: { type: "boolean", short: "y" },
    help: { type: "boolean", short: "h" },
  });
  if (values.help) return undefined;
  const without = list(values.without?.join(","));
  const added = list(values.with?.join(","));
  checkAllowed("--without", without ?? [], leavable);
  checkAllowed("--with", added ?? [], extras);
  checkAllowed("--region", values.region === undefined ? [] : [values.region], regions);
  checkAllowed("--jurisdiction", values.jurisdiction === undefined ? [] : [values.jurisdiction], jurisdictions);
  const domain = values.domain?.toLowerCase();
  if (domain !== undefined && domain !== "none" && !/^(?:[a-z0-9-]+\.)+[a-z]{2,}$/.test(domain))
    throw new Stop(`--domain ${domain} is not a host name.`, "Give the host alone, for example --domain api.example.com.");
  const choices: Choices = {};
  if (domain !== undefined) choices.domain = domain;
  if (values.region !== undefined) choices.region = values.region;
  if (values.jurisdiction !== undefined) choices.jurisdiction = values.jurisdiction as Choices["jurisdiction"];
  if (without) choices.without = without;
  if (added) choices.with = added as Extra[];
  if (values["mail-from"] !== undefined) choices.mailFrom = values["mail-from"];
  if (values.email !== undefined) choices.email = values.email;
  if (values.traces !== undefined) choices.traces = readShare(values.traces);
  const tracesTo = list(values["traces-to"]);
  if (tracesTo) choices.tracesTo = tracesTo;
  if (values.free) choices.freePlan = true;
  return {
    environment: environment(values.env),
    choices,
    secretsFile: values.secrets,
    isDryRun: values["dry-run"] ?? false,
    isConfirmed: values.yes ?? false,
  };
}

function readShare(text: string): number {
  const share = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(share >= 0 && share <= 1))
    throw new Stop(`--traces ${text} is not a share of requests.`, "Give a number from 0 to 1, for example --traces 0.01.");
  return share;
}

/** Reads the command line of `npm run destroy`: the environment, and the name given with `--yes`. */
export function readDestroyOptions(args: string[]): { environment: string; confirmedName: string | undefined } {
  const { values } = parsed(args, { env: { type: "string" }, yes: { type: "string" } });
  return { environment: environment(values.env), confirmedName: values.yes };
}

function parsed<T extends NonNullable<Parameters<typeof parseArgs>[0]>["options"] & {}>(args: string[], options: T) {
  try {
    return parseArgs({ args, options, strict: true, allowPositionals: false });
  } catch (error) {
    throw new Stop((error as Error).message, "Run `npm run deploy -- --help` for the options.");
  }
}

function checkAllowed(option: string, given: readonly string[], allowed: readonly string[]): void {
  const wrong = given.find((word) => !allowed.includes(word));
  if (wrong !== undefined) throw new Stop(`${option} does not know "${wrong}".`, `Use ${allowed.join(", ")}.`);
}

function environment(name = ""): string {
  if (name !== "" && !/^[a-z][a-z0-9]{0,19}$/.test(name))
    throw new Stop(`--env ${name} cannot be part of a name.`, "Use up to 20 lower-case letters and digits, for example --env staging.");
  return name;
}
