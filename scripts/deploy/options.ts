/** The options of `npm run deploy` and `npm run destroy`. */

import { parseArgs } from "node:util";
import * as z from "zod/mini";
import { extras, leavable } from "./parts.ts";
import { type MarkPreset, markNames } from "./marks.ts";
import { Stop } from "./stop.ts";

const jurisdictions = ["eu", "us", "fedramp"] as const;
const regions = ["weur", "eeur", "apac", "oc", "wnam", "enam"];

/** Choices that a deployment keeps from one run to the next, unless a later run changes them. */
export const choicesShape = z.object({
  domain: z.optional(z.string()),
  region: z.optional(z.string()),
  jurisdiction: z.optional(z.enum(jurisdictions)),
  without: z.optional(z.array(z.string())),
  with: z.optional(z.array(z.enum(extras))),
  mailFrom: z.optional(z.string()),
  email: z.optional(z.string()),
  freePlan: z.optional(z.boolean()),
  /** The rule for marks and labels of files. */
  marks: z.optional(z.enum(markNames)),
  /** The share of requests that is traced. */
  traces: z.optional(z.number()),
  /** The account's OpenTelemetry destinations for traces, by name. */
  tracesTo: z.optional(z.array(z.string())),
});
export type Choices = z.infer<typeof choicesShape>;

/** The stored choices with those of this run. A new region or jurisdiction replaces the other. */
export function mergeChoices(stored: Choices | undefined, given: Choices): Choices {
  const merged = { ...stored, ...given };
  if (given.jurisdiction !== undefined) delete merged.region;
  if (given.region !== undefined) delete merged.jurisdiction;
  if (given.tracesTo?.length && !merged.traces)
    throw new Stop("--traces-to exports nothing: no request is traced.", "Give a share of the requests too, for example --traces 0.01.");
  return merged;
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
  /** The secret to rotate, in place of a deployment. */
  rotate: string | undefined;
  /** Sends a test alert, in place of a deployment. */
  isTestAlert: boolean;
}

export const deployHelp = `npm run deploy -- [options]

  --env NAME            a second deployment beside the first: every name ends in -NAME
  --domain HOST         serve this host of yours instead of the workers.dev address ("none" goes back)
  --region REGION       where databases and buckets are created: ${regions.join(", ")}
  --jurisdiction WHERE  keep database, bucket, queues and objects inside: ${jurisdictions.join(", ")}
  --without PART,...    leave out ${leavable.join(", ")} ("none" brings all back)
  --with NAME,...       add bindings or Workers: ${extras.join(", ")} ("none" takes them away)
  --mail-from ADDRESS   the sender of e-mail, with --with email
  --email ADDRESS       the first account's address (default: yours at Cloudflare)
  --marks RULE          marks and labels of files as a rule asks: ${markNames.filter((name) => name !== "none").join(", ")} ("none" goes back)
  --traces SHARE        trace this share of the requests, 0 to 1 (default: 0)
  --traces-to NAME,...  export traces to these OTLP destinations of the account ("none" takes them away)
  --secrets FILE        variables and secrets, NAME=value a line (default: .deploy/<name>.env where it exists)
  --free                deploy to the Workers Free plan, for evaluation (--no-free after you chose Workers Paid)
  --rotate NAME         replace this secret, in place of a deployment (SECURITY.md)
  --test-alert          send a test alert to every receiver, in place of a deployment
  --dry-run             print the plan and change nothing
  --yes                 do not ask before changing something

Options other than --secrets, --rotate, --test-alert, --dry-run and --yes are stored under .deploy/ for later runs.`;

const list = (text: string | undefined): string[] | undefined =>
  text === undefined ? undefined : text === "none" ? [] : text.split(",").map((word) => word.trim());

export const destroyHelp = `npm run destroy -- [options]

  --env NAME            the deployment whose names end in -NAME
  --yes NAME            delete without asking; NAME is the deployment's name: gateway, or gateway-<env>

Deletes the Workers, the queues, the bucket with its files and, last, the database.`;

/** Reads the command line of `npm run deploy`; undefined if it asks for help. Throws `Stop` with the fault. */
export function readDeployOptions(args: string[], environment: NodeJS.ProcessEnv): DeployOptions | undefined {
  const { values } = parsed("deploy", args, environment, {
    env: { type: "string" },
    domain: { type: "string" },
    region: { type: "string" },
    jurisdiction: { type: "string" },
    without: { type: "string", multiple: true },
    with: { type: "string", multiple: true },
    "mail-from": { type: "string" },
    email: { type: "string" },
    marks: { type: "string" },
    traces: { type: "string" },
    "traces-to": { type: "string" },
    secrets: { type: "string" },
    free: { type: "boolean" },
    "no-free": { type: "boolean" },
    rotate: { type: "string" },
    "test-alert": { type: "boolean" },
    "dry-run": { type: "boolean" },
    yes: { type: "boolean", short: "y" },
    help: { type: "boolean", short: "h" },
  });
  if (values.help) return undefined;
  const without = list(values.without?.join(","));
  const added = list(values.with?.join(","));
  checkAllowed("--without", without ?? [], leavable);
  checkAllowed("--with", added ?? [], extras);
  checkAllowed("--marks", values.marks === undefined ? [] : [values.marks], markNames);
  checkAllowed("--region", values.region === undefined ? [] : [values.region], regions);
  if (values.region !== undefined && values.jurisdiction !== undefined)
    throw new Stop("--region and --jurisdiction both say where the data is.", "Give one of them: a jurisdiction chooses the place itself.");
  checkAllowed("--jurisdiction", values.jurisdiction === undefined ? [] : [values.jurisdiction], jurisdictions);
  const domain = values.domain?.toLowerCase();
  if (domain !== undefined && domain !== "none" && !/^(?:[a-z0-9-]+\.)+[a-z]{2,}$/.test(domain))
    throw new Stop(`--domain ${domain} is not a host name.`, "Give the host alone, for example --domain api.example.com.");
  for (const option of ["email", "mail-from"] as const)
    if (values[option] !== undefined && !/^[^\s@]+@[^\s@]+$/.test(values[option]))
      throw new Stop(
        `--${option} ${values[option]} is not an e-mail address.`,
        `Give an address, for example --${option} you@example.com.`,
      );
  const choices: Choices = {};
  if (domain !== undefined) choices.domain = domain;
  if (values.region !== undefined) choices.region = values.region;
  if (values.jurisdiction !== undefined) choices.jurisdiction = values.jurisdiction as Choices["jurisdiction"];
  if (without) choices.without = without;
  if (added) choices.with = added as Choices["with"];
  if (values["mail-from"] !== undefined) choices.mailFrom = values["mail-from"];
  if (values.marks !== undefined) choices.marks = values.marks as MarkPreset;
  if (values.email !== undefined) choices.email = values.email;
  if (values.traces !== undefined) choices.traces = readShare(values.traces);
  const tracesTo = list(values["traces-to"]);
  if (tracesTo) choices.tracesTo = tracesTo;
  if (values.free || values["no-free"]) choices.freePlan = !values["no-free"];
  return {
    environment: checkedEnvironment(values.env),
    choices,
    secretsFile: values.secrets,
    isDryRun: values["dry-run"] ?? false,
    isConfirmed: values.yes ?? false,
    rotate: values.rotate,
    isTestAlert: values["test-alert"] ?? false,
  };
}

function readShare(text: string): number {
  const share = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(share >= 0 && share <= 1))
    throw new Stop(`--traces ${text} is not a share of requests.`, "Give a number from 0 to 1, for example --traces 0.01.");
  return share;
}

/** Reads the command line of `npm run destroy`: the environment, and the name given with `--yes`. Undefined if it asks for help. */
export function readDestroyOptions(args: string[], environment: NodeJS.ProcessEnv) {
  const { values } = parsed("destroy", args, environment, {
    env: { type: "string" },
    yes: { type: "string" },
    help: { type: "boolean", short: "h" },
  });
  return values.help ? undefined : { environment: checkedEnvironment(values.env), confirmedName: values.yes };
}

function parsed<T extends NonNullable<Parameters<typeof parseArgs>[0]>["options"] & {}>(
  script: string,
  args: string[],
  environment: NodeJS.ProcessEnv,
  options: T,
) {
  // Npm keeps options before "--" for itself, as variables; these two are also settings of its own.
  for (const name of Object.keys(options).filter((one) => one !== "yes" && one !== "email")) {
    const taken = environment[`npm_config_${name.replaceAll("-", "_")}`];
    if (taken && !args.some((one) => one.startsWith(`--${name}`)))
      throw new Stop(
        `npm has taken the option --${name} for itself.`,
        `Write two dashes before the options: npm run ${script} -- --${name}${taken === "true" ? "" : ` ${taken}`}`,
      );
  }
  try {
    return parseArgs({ args, options, strict: true, allowPositionals: false });
  } catch (error) {
    // Node adds advice on positional arguments, which these commands do not take: it is cut off.
    const [fault = ""] = (error as Error).message.split(/\. (?:To|This)/);
    throw new Stop(
      `${fault}.`,
      `Run \`npm run ${script} -- --help\` for the options; they follow two dashes: npm run ${script} -- --env staging`,
    );
  }
}

function checkAllowed(option: string, given: readonly string[], allowed: readonly string[]): void {
  const wrong = given.find((word) => !allowed.includes(word));
  if (wrong !== undefined) throw new Stop(`"${wrong}" is not a value of ${option}.`, `Use ${allowed.join(", ")}.`);
}

function checkedEnvironment(name = ""): string {
  if (name !== "" && !/^[a-z][a-z0-9]{0,19}$/.test(name))
    throw new Stop(`--env ${name} cannot be part of a name.`, "Use up to 20 lower-case letters and digits, for example --env staging.");
  return name;
}
