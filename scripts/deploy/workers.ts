/** Deploys the Workers: their derived configurations, migrations, secrets and code. */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type Worker, withDatabaseIds } from "./configuration.ts";
import type { Choices } from "./options.ts";
import type { Run } from "./run.ts";
import { chosenVars, type Given } from "./secrets.ts";
import { bundledSettings } from "../support/bundles.ts";
import { sourcesDigest } from "../support/sources.ts";
import { writePrivate } from "./state.ts";

/**
 * Writes the configuration for wrangler, in which the operator's variables override the committed ones; returns its path. `script` is the
 * bundle to deploy.
 */
export async function writeConfiguration(
  worker: Worker,
  ids: Map<string, string>,
  given: Given,
  choices: Choices,
  folder: string,
  script?: string,
): Promise<{ path: string; text: string }> {
  const configuration = withDatabaseIds(worker.configuration, ids);
  const vars = { ...configuration.vars, ...chosenVars(worker, choices), ...given.vars };
  const path = join(folder, `${worker.part.name}.json`);
  const text = `${JSON.stringify({ ...configuration, ...(script !== undefined && bundledSettings(script)), vars }, undefined, 2)}\n`;
  await writePrivate(path, text);
  return { path, text };
}

/** A digest that changes with what the Workers are made from, with this one's configuration, and with the secrets to set. */
export const workerDigest = (text: string, secrets: Record<string, string>): Promise<string> =>
  sourcesDigest(text, JSON.stringify(secrets, Object.keys(secrets).sort()));

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
