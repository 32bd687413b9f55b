/** Deploys the Workers: their derived configurations, migrations, secrets and code. */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type Worker, withDatabaseIds } from "./configuration.ts";
import type { Choices } from "./options.ts";
import type { Run } from "./run.ts";
import { chosenVars, type Given } from "./secrets.ts";
import { root } from "../support/wrangler.ts";
import { digest, readText, writePrivate } from "./state.ts";

/** Writes the configuration for wrangler, in which the operator's variables override the committed ones; returns its path. */
export async function writeConfiguration(
  worker: Worker,
  ids: Map<string, string>,
  given: Given,
  choices: Choices,
  folder: string,
): Promise<{ path: string; text: string }> {
  const configuration = withDatabaseIds(worker.configuration, ids);
  const vars = { ...configuration.vars, ...chosenVars(worker, choices), ...given.vars };
  const path = join(folder, `${worker.part.name}.json`);
  const text = `${JSON.stringify({ ...configuration, vars }, undefined, 2)}\n`;
  await writePrivate(path, text);
  return { path, text };
}

/** A digest that changes with the Worker's code, the pages that the console serves, the packages, its configuration or the secrets to set. */
export async function workerDigest(text: string, secrets: Record<string, string>): Promise<string> {
  const files = await Promise.all(["CHANGELOG.md", "package-lock.json"].map((name) => readText(join(root, name))));
  const pages = await digest("docs");
  return digest("src", pages, ...files.map((file) => file ?? ""), text, JSON.stringify(secrets, Object.keys(secrets).sort()));
}

const secretsFile = ({ part }: Worker, folder: string) => join(folder, `${part.name}-secrets.json`);

/** Deletes the files of secrets that a killed run has left. */
export async function removeSecretsFiles(workers: Worker[], folder: string): Promise<void> {
  for (const worker of workers) await rm(secretsFile(worker, folder), { force: true });
}

/** Uploads a Worker together with its secrets, so that no version answers without them. */
export async function deployWorker(run: Run, worker: Worker, path: string, secrets: Record<string, string>, folder: string): Promise<void> {
  run.hide(...Object.values(secrets));
  const file = secretsFile(worker, folder);
  const isEmpty = Object.keys(secrets).length === 0;
  try {
    if (!isEmpty) await writePrivate(file, JSON.stringify(secrets));
    await run.wrangler("deploy", "-c", path, ...(isEmpty ? [] : ["--secrets-file", file]));
  } finally {
    await rm(file, { force: true });
  }
}
