/** `npm run deploy -- --rotate NAME`: replaces one secret of a deployment, and keeps the old one where requests still need it. */

import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod/mini";
import { newSigningKey, randomSecret } from "../support/secrets.ts";
import { fileLife } from "../support/time-words.ts";
import { findAccount } from "./account.ts";
import { ask, confirmed, openRun } from "./command.ts";
import { declaredNames, deployment as build } from "./configuration.ts";
import type { DeployOptions } from "./options.ts";
import { parts, providerSecrets } from "./parts.ts";
import { takeInventory } from "./resources.ts";
import { adminTokenFile, givenTo } from "./secrets.ts";
import { readText, writePrivate } from "./state.ts";
import { Stop } from "./stop.ts";

interface Rotation {
  /** Makes the new value; without it the operator is asked. */
  make?: () => string;
  /** True if the new value becomes a secret `NAME_V<time>` beside the present one: see `src/base/rotated-secrets.ts`. */
  isVersioned?: boolean;
  /** True if the operator may give the present value, which becomes `NAME_OLD`. */
  asksOld?: boolean;
  /** The result, for the operator. */
  after: string;
}

const provider: Rotation = {
  asksOld: true,
  after: 'When the log has no more lines {"unit":"provider","outcome":"old_secret"}, revoke the old one at the provider.',
};
const login: Rotation = { after: "Revoke the old one at the provider of the login. No user is signed out." };

/** Every secret that can be rotated. */
const rotations: Record<string, Rotation> = {
  ASSET_SIGNING_SECRET: {
    make: randomSecret,
    isVersioned: true,
    after: `URLs that were signed before stay valid until they expire, ${fileLife} at most; then the old secret is refused.`,
  },
  SEALING_KEY: {
    make: randomSecret,
    isVersioned: true,
    after: "Regular jobs seal stored secrets anew, 500 accounts every five minutes; the old key stays set, for a restored database.",
  },
  RECEIPT_SIGNING_KEY: {
    make: newSigningKey,
    isVersioned: true,
    after: "Receipts that exist stay valid: /.well-known/jwks.json keeps the old key and begins with the new one.",
  },
  ALERT_SIGNING_SECRET: {
    make: () => `whsec_${randomBytes(32).toString("base64")}`,
    isVersioned: true,
    after: "Give it to the receiver: alerts are signed with both for a week.",
  },
  ADMIN_TOKEN: { make: randomSecret, after: "The old token is refused." },
  AUTH_SECRET: { make: randomSecret, after: "All users are signed out, and links to verify an address stop working." },
  STRIPE_SECRET_KEY: { after: "Revoke the old one in Stripe's dashboard." },
  STRIPE_WEBHOOK_SECRET: {
    asksOld: true,
    after: "Events signed with either are accepted. When Stripe no longer signs with the old one, delete STRIPE_WEBHOOK_SECRET_OLD.",
  },
  GITHUB_CLIENT_SECRET: login,
  GOOGLE_CLIENT_SECRET: login,
  OIDC_CLIENT_SECRET: login,
  ...Object.fromEntries(
    Object.values(providerSecrets)
      .flat(2)
      .filter((name) => !/_(?:ID|URL)$/.test(name))
      .map((name) => [name, provider]),
  ),
};

/** True if a Worker accepts the previous value of a secret beside the present one. */
const hasOld = (name: string) => parts.some((part) => declaredNames(part).has(`${name}_OLD`));

/** What a rotation will set, stored before it is set: a run that breaks off is continued with the same values. */
const pendingShape = z.record(z.string(), z.string());

/** Rotates the secret `name`. Throws `Stop` if it is not set, or if the operator's file sets it. */
export async function rotate(name: string, options: DeployOptions, environment: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const rotation = rotations[name];
  if (!rotation) throw new Stop(`"${name}" is not a value of --rotate.`, `Use ${Object.keys(rotations).join(", ")}.`);
  const { name: gateway, folder, choices, values, run } = await openRun(options, environment, signal);
  const deployment = build(options.environment, choices);
  await run.whole(async () => {
    if (values.has(name))
      throw new Stop(
        `${name} is set by your file or environment, which each deployment applies.`,
        hasOld(name)
          ? `Replace it there, set the old value as ${name}_OLD, and run npm run deploy.`
          : "Replace it there, and run npm run deploy.",
      );
    const account = await findAccount(run, environment);
    run.useAccount(account.id);
    const { workers } = await takeInventory(account, deployment, choices);
    const holders = deployment.workers.filter(
      (worker) => workers.get(worker.name)?.has(name) && Object.keys(givenTo(worker, new Map([[name, ""]])).secrets).length > 0,
    );
    if (holders.length === 0)
      throw new Stop(`No Worker of ${gateway} on ${account.name} has the secret ${name}.`, "Set it with npm run deploy (docs/deploy.md).");
    const names = holders.map((holder) => holder.name).join(" and ");
    run.print(`\nRotate ${name} of ${names} on ${account.name}.`);
    if (options.isDryRun) return console.log("This was a dry run: nothing was changed.");
    if (!options.isConfirmed) await confirmed(signal);
    const file = join(folder, `rotation-${name}.json`);
    const pending = await pendingValues(file, name, rotation, signal);
    run.hide(...Object.values(pending));
    for (const holder of holders)
      await run.step(`set ${Object.keys(pending).join(" and ")} of ${holder.name}`, async () => {
        await run.wrangler("secret", "bulk", file, "--name", holder.name);
        return undefined;
      });
    const [value = ""] = Object.values(pending);
    if (name === "ADMIN_TOKEN") await writePrivate(adminTokenFile(folder), `${value}\n`);
    // Not through the run's log: the only time the value is shown.
    if (name === "ALERT_SIGNING_SECRET") console.log(`\n${name}=${value}`);
    await rm(file);
    run.print(`\n${name} is rotated. ${rotation.after}`);
  });
}

async function pendingValues(file: string, name: string, rotation: Rotation, signal: AbortSignal): Promise<Record<string, string>> {
  const known = await readText(file);
  if (known !== undefined) return pendingShape.parse(JSON.parse(known));
  const value = rotation.make?.() ?? (await ask(`New value of ${name}: `, signal));
  if (value === undefined)
    throw new Stop(
      "There is no terminal to ask on.",
      `Set ${hasOld(name) ? `${name} and, to the present value, ${name}_OLD` : name} in the environment, and run npm run deploy.`,
    );
  if (value === "") throw new Stop("Nothing was changed.", `Give the new value of ${name}.`);
  const old = rotation.asksOld
    ? await ask(`Present value, used if the provider refuses the new one (empty for none): `, signal)
    : undefined;
  const key = rotation.isVersioned ? `${name}_V${Math.floor(Date.now() / 1000)}` : name;
  const pending = { [key]: value, ...(old && { [`${name}_OLD`]: old }) };
  await writePrivate(file, JSON.stringify(pending));
  return pending;
}
