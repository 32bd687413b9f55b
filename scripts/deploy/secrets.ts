/** Variables and secrets of a deployment: the operator's from the environment and a file, ours generated at random. */

import { join } from "node:path";
import { parseEnv } from "node:util";
import { type Deployment, type Worker, declaredNames } from "./configuration.ts";
import type { Choices } from "./options.ts";
import { parts, providerSecrets } from "./parts.ts";
import { readText, stateRoot, writePrivate } from "./state.ts";
import { newSigningKey, randomSecret } from "../support/secrets.ts";
import { Stop } from "./stop.ts";
import { rotatedName } from "../../src/base/rotated-secrets.ts";

/** Names that belong to a provider's credentials. */
const credentialNames = new Set(Object.values(providerSecrets).flat(2));
/** True for the names of secrets; everything else that a Worker declares is a variable. */
export const isSecret = (name: string) =>
  credentialNames.has(name) || /_(?:KEY|CERTIFICATES|TOKEN|SECRET|SERVICE_ACCOUNT|CLIENT_ID|WEBHOOK)(?:_OLD)?$/.test(name);
const minSecretLength = 24;
/** The size that Cloudflare takes of a variable or secret, in bytes. */
const maxValueBytes = 5 * 1024;
/** Variables of release 0.2.0 that no Worker reads any more: a deployment moves them to the catalogue. */
export const earlierVariables = new Set(["ROUTES", "PRICES"]);

/** The operator's values for one Worker. */
export interface Given {
  secrets: Record<string, string>;
  vars: Record<string, string>;
}

/** The operator's file of variables and secrets, where no other is given. */
export const secretsFile = (name: string): string => join(stateRoot, `${name}.env`);

/** Reads the operator's file and environment. Only secrets are read from the environment: a shell's variables are for `npm start`. */
export async function givenValues(name: string, file: string | undefined, environment: NodeJS.ProcessEnv): Promise<Map<string, string>> {
  const path = file ?? secretsFile(name);
  const text = await readText(path);
  if (text === undefined && file !== undefined)
    throw new Stop(
      `The file ${file} of --secrets does not exist.`,
      "Create it with a line NAME=value for each secret, or leave --secrets out.",
    );
  checkQuotes(path, text ?? "");
  const known = new Set(parts.flatMap((part) => [...declaredNames(part)]));
  const values = new Map<string, string>();
  for (const name of known) {
    const value = environment[name];
    if (value && isSecret(name)) values.set(name, value);
  }
  for (const [name, value] of Object.entries(parseEnv(text ?? ""))) {
    if (!known.has(name) && !earlierVariables.has(name))
      throw new Stop(
        `${path} sets ${name}, which no Worker reads.`,
        "Correct the name: docs/configuration.md and docs/providers.md list them.",
      );
    if (value) values.set(name, value);
  }
  checkSizes(values);
  const made = new Set(parts.flatMap((part) => Object.keys(part.madeSecrets)));
  for (const [name, value] of values)
    if (made.has(name) && value.length < minSecretLength)
      throw new Stop(
        `${name} has ${value.length} characters, which can be guessed.`,
        `Give at least ${minSecretLength} random characters, or leave it out: the deployment makes one.`,
      );
  return values;
}

/** Stops at a value that is too large: Cloudflare would refuse its Worker when others are deployed already. */
export function checkSizes(values: Iterable<[name: string, value: string]>): void {
  for (const [name, value] of values) {
    const bytes = Buffer.byteLength(value);
    if (bytes > maxValueBytes)
      throw new Stop(
        `${name} has ${bytes} bytes, and Cloudflare takes at most ${maxValueBytes} of a variable or secret.`,
        "Shorten it: a certificate chain needs no text around its certificates, and no root.",
      );
  }
}

/** Stops at a value without quotes that has a `#` inside: the rest of it would be taken for a comment. */
function checkQuotes(path: string, text: string): void {
  for (const [, name = "", value = ""] of text.matchAll(/^\s*(?:export\s+)?(\w+)\s*=(?!\s*['"`])([^#\n]*)#/gm))
    if (!/\s$/.test(value))
      throw new Stop(
        `${path} has a # in the value of ${name}, and without quotes the value would end there.`,
        `Put it in quotes: ${name}='...'. A comment after a value begins with a space: NAME=value # comment.`,
      );
}

/** The part of the given values that a Worker declares. */
export function givenTo(worker: Worker, values: Map<string, string>): Given {
  const declared = declaredNames(worker.part);
  const own = [...values].filter(([name]) => declared.has(name));
  return {
    secrets: Object.fromEntries(own.filter(([name]) => isSecret(name))),
    vars: Object.fromEntries(own.filter(([name]) => !isSecret(name))),
  };
}

/** The providers that will be on: by secrets that are given now or were set before, and by bindings. */
export function providersOn(present: ReadonlySet<string>, given: Iterable<string>, hasAi: boolean): string[] {
  const names = new Set([...present, ...given]);
  const on = Object.entries(providerSecrets)
    .filter(([, sets]) => sets.some((set) => set.every((name) => names.has(name))))
    .map(([name]) => name);
  return hasAi && !on.includes("cloudflare") ? [...on, "cloudflare"] : on;
}

/** Stops if no provider is on, or if e-mail is on without a sender address. */
export function checkChoices(choices: Choices, on: string[], values: Map<string, string>): void {
  if (on.length === 0 && choices.without?.includes("sandbox"))
    throw new Stop(
      "No provider is configured, and the sandbox is left out: nothing would serve a request.",
      "Set a maker's key (docs/providers.md) in the environment or with --secrets FILE, or use --with ai, or keep the sandbox.",
    );
  if (choices.with?.includes("email") && !choices.mailFrom && !values.has("MAIL_FROM"))
    throw new Stop("--with email has no sender.", "Give one with --mail-from, an address of a domain that is set up for sending.");
}

/** Stops if a value of the operator would not be used because its secret was rotated. */
export function checkSecrets(present: ReadonlySet<string>, { secrets }: Given): void {
  const rotated = new Set([...present].flatMap((name) => rotatedName.exec(name)?.[1] ?? []));
  const unused = Object.keys(secrets).find((name) => rotated.has(name));
  if (unused !== undefined)
    throw new Stop(
      `${unused} was rotated since: the value of your file or environment would not be used.`,
      `Remove it there; npm run deploy -- --rotate ${unused} makes a new one.`,
    );
}

/** Variables that result from the choices; the file overrides them. */
export const chosenVars = (
  { part, configuration }: Worker,
  { mailFrom, jurisdiction, with: added, freePlan }: Choices,
): Record<string, string> => ({
  ...(part.extras.email && mailFrom !== undefined && added?.includes("email") && { MAIL_FROM: mailFrom }),
  ...(configuration.durable_objects && jurisdiction && { JURISDICTION: jurisdiction }),
  ...(freePlan && part.onFreePlan),
});

const makers = { random: randomSecret, ed25519: newSigningKey };

/** What to do where ADMIN_TOKEN is not known. */
export const adminTokenRemedy = "Set it in the environment; if it is lost, `npm run deploy -- --rotate ADMIN_TOKEN` makes a new one.";

/** The file with the operator's token. */
export const adminTokenFile = (folder: string) => join(folder, "admin-token");

/** The operator's token if this machine has it: given, or stored by the run that generated it. */
export async function knownAdminToken(folder: string, values: Map<string, string>): Promise<string | undefined> {
  return values.get("ADMIN_TOKEN") ?? (await readText(adminTokenFile(folder)))?.trim();
}

/**
 * The secrets to set with the next version of a Worker: the given ones, and the missing ones of ours. The operator's token is
 * stored under `.deploy/` before it is used, so that an interrupted run does not lose it.
 */
export async function secretsToSet(
  worker: Worker,
  present: ReadonlySet<string>,
  given: Record<string, string>,
  folder: string,
): Promise<Record<string, string>> {
  const secrets = { ...given };
  for (const [name, kind] of Object.entries(worker.part.madeSecrets)) {
    if (secrets[name] !== undefined || present.has(name)) continue;
    const kept = name === "ADMIN_TOKEN" ? await readText(adminTokenFile(folder)) : undefined;
    secrets[name] = kept?.trim() ?? makers[kind]();
  }
  if (secrets["ADMIN_TOKEN"] !== undefined) await writePrivate(adminTokenFile(folder), `${secrets["ADMIN_TOKEN"]}\n`);
  return secrets;
}

/** A line that lists the active providers. */
export const servingLine = (deployment: Deployment, on: string[]): string => {
  const hasSandbox = deployment.workers.some(({ part }) => part.name === "sandbox");
  if (on.length === 0) return "no provider is configured: the sandbox will serve every model with images and videos that it draws itself";
  return `${on.join(", ")}${hasSandbox ? "; the sandbox serves the models that none of them does" : ""}`;
};
