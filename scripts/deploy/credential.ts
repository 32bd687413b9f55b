/** The signing credential of a deployment with `MARKS=sign`: asked for on a terminal, checked before anything changes, and what happens without it. */

import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { CredentialError, readCredential } from "../../src/marks/credential.ts";
import { toReason } from "../support/faults.ts";
import { ask } from "./command.ts";
import { type Context, gatewayWorker } from "./plan.ts";
import { checkSizes } from "./secrets.ts";
import { Stop } from "./stop.ts";

const [chainName, keyName] = ["C2PA_CERTIFICATES", "C2PA_PRIVATE_KEY"] as const;
const list = new Intl.ListFormat("en");

/** Stops if the given chain and key cannot sign. One of them alone is not checked: the other one may be set at the Worker. */
export async function checkCredential(values: ReadonlyMap<string, string>): Promise<void> {
  const chain = values.get(chainName);
  const key = values.get(keyName);
  if (chain === undefined || key === undefined) return;
  await readCredential({ [chainName]: chain, [keyName]: key }, new Date()).catch((error: unknown) => {
    if (!(error instanceof CredentialError)) throw error;
    throw new Stop(
      `${error.message}.`,
      'Correct the value, or leave both out: files are then stored unsigned (docs/deploy.md, "Signing files").',
    );
  });
}

/** What `MARKS=sign` lacks: the Worker, or secrets by their names; nothing if files can be signed, or need not be. */
function missing({ deployment, inventory, values }: Context): "worker" | string[] {
  const setting = values.get("MARKS") ?? gatewayWorker(deployment).configuration.vars?.["MARKS"];
  if (setting !== "sign") return [];
  const signer = deployment.workers.find(({ part }) => part.name === "marks");
  return signer ? [chainName, keyName].filter((name) => !values.has(name) && !inventory.workers.get(signer.name)?.has(name)) : "worker";
}

/** Says what happens to files if `MARKS` is `sign` and nothing can sign them, and asks for the secrets if `isAsking` and on a terminal. */
export async function announceSigning(context: Context, isAsking: boolean): Promise<void> {
  const lacking = missing(context);
  if (lacking.length === 0) return;
  const reason =
    lacking === "worker" ? "the Worker marks is left out" : `${list.format(lacking)} ${lacking.length === 1 ? "is" : "are"} not set`;
  context.run.print(`
MARKS is sign, and ${reason}: files without a manifest are stored unsigned, answers say "none", each is an alert in the log, and the alert certificate_ending stays active.
Signing needs a certificate chain and its P-256 key as PEM, from a certificate authority of C2PA's conformance program: ${chainName} and ${keyName} in the environment or in the file of --secrets (docs/deploy.md, "Signing files").`);
  if (isAsking && lacking !== "worker") await askForSecrets(context);
}

/** Asks for the files of chain and key until they can sign, or the operator goes on without. Without a terminal it asks nothing. */
async function askForSecrets({ run, values, signal }: Context): Promise<void> {
  for (;;) {
    const chain = await ask("\nFile with the certificate chain, the signing certificate first (Enter goes on without): ", signal);
    if (!chain) return;
    const key = (await ask("File with its private key: ", signal)) ?? "";
    try {
      const given = new Map([
        [chainName, await readFile(expand(chain), "utf8")],
        [keyName, await readFile(expand(key), "utf8")],
      ]);
      run.hide(...given.values());
      checkSizes(given);
      await checkCredential(given);
      for (const [name, value] of given) values.set(name, value);
      return;
    } catch (error) {
      run.print(toReason(error));
    }
  }
}

/** A path as shells write it. */
const expand = (path: string) => path.replace(/^~(?=\/)/, homedir());
