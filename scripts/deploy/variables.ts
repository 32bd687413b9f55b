/** Checks the values of a deployment's variables by the Workers' own rules, before anything is changed: a wrong one would end requests with 500. */

import { importTextModules } from "../support/text-modules.ts";
import type { Deployment } from "./configuration.ts";
import type { Choices } from "./options.ts";
import type { Inventory } from "./resources.ts";
import { chosenVars, givenTo } from "./secrets.ts";
import { Stop } from "./stop.ts";

importTextModules();

type Values = Record<string, unknown>;

/** Throws `Stop` with a line for each wrong variable. */
export async function checkVariables(
  { workers }: Deployment,
  { workers: present }: Inventory,
  values: Map<string, string>,
  choices: Choices,
): Promise<void> {
  const wrong = new Set<string>();
  for (const worker of workers) {
    const { name, part, configuration } = worker;
    const { secrets, vars } = givenTo(worker, values);
    const set = [...(present.get(name) ?? []), ...Object.keys(part.madeSecrets)].map((one) => [one, unknownValue(one)] as const);
    const known = { ...configuration.vars, ...chosenVars(worker, choices), ...vars, ...secrets, MAIL: configuration.send_email };
    for (const message of (await rules[part.name]?.({ ...Object.fromEntries(set), ...known })) ?? []) wrong.add(message);
  }
  if (wrong.size > 0)
    throw new Stop(
      [...wrong].join("\n").replaceAll(/^the/gm, "The"),
      "Add or correct it in your file, the environment or the Worker's wrangler.toml, or remove what needs it (docs/configuration.md).",
    );
}

/** In place of a secret that is set or will be made, whose value is not known: one that its reader takes. */
const unknownValue = (name: string) =>
  /(?:URL|WEBHOOK)$/.test(name) ? "https://set.example" : name.startsWith("RECEIPT_SIGNING_KEY") ? "" : "whsec_AAAA";

/**
 * The messages of the readers of a Worker's module that throw, and those that one of them returns as a list; without names, of every function
 * there that needs the variables alone. Without types, which need those of the Workers' runtime; imported late, because the gateway's code
 * takes a second.
 */
async function findWrong(file: string, env: Values, names?: string[]): Promise<string[]> {
  const found = (await import(new URL(`../../src/${file}`, import.meta.url).href)) as Record<string, (env: Values) => unknown>;
  const readers = names ?? Object.keys(found).filter((name) => found[name]?.length === 1);
  const messages = readers.map(async (name) => {
    const read = found[name];
    if (!read) throw new Error(`${file} has no ${name}`);
    if (name.startsWith("wrong")) return read(env) as string[];
    try {
      await read(env);
      return [];
    } catch (error) {
      return [(error as Error).message];
    }
  });
  return (await Promise.all(messages)).flat();
}

/** For each Worker with variables: a message for each wrong one. */
const rules: Record<string, (env: Values) => Promise<string[]>> = {
  gateway: async (env) => [
    ...(await findWrong("api/request/variable-checks.ts", env, ["wrongVariables"])),
    ...(await findWrong("signing/receipts.ts", env, ["publicKeys"])),
  ],
  // Which models the operator's catalogue will have is not known here.
  openai: (env) => findWrong("facades/openai/aliases.ts", { ...env, MODELS: { includes: () => true } }, ["aliasNames"]),
  operations: (env) => findWrong("operations/settings.ts", env, ["wrongSettings"]),
  console: async (env) => [
    ...["GITHUB", "GOOGLE"].flatMap((login) => findHalf(login, env)),
    ...(await findWrong("console/settings.ts", env)),
  ],
  // Without the second one, a payment would be credited a day later.
  payments: async (env) => [
    ...["STRIPE_SECRET_KEY", "STRIPE_WEBHOOK_SECRET"]
      .filter((name) => !env[name])
      .map((name) => `--with payments needs the secret ${name}`),
    ...(await findWrong("payments/units.ts", env, ["readTariff", "takesPayments", "makesInvoices"])),
    ...(await findWrong("payments/stripe.ts", env, ["openStripe"])),
  ],
};

/** A login needs both of its secrets, or is off. */
function findHalf(login: string, env: Values): string[] {
  const names = [`${login}_CLIENT_ID`, `${login}_CLIENT_SECRET`];
  const missing = names.filter((name) => !env[name]);
  return missing.length === 1 ? missing.map((name) => `the secret ${name} is missing beside the other one of its login`) : [];
}
