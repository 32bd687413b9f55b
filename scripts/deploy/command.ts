/** Shared by the commands of a deployment: their beginning and their end, error messages, questions on the terminal. */

import { createInterface } from "node:readline/promises";
import { stopSignal } from "../support/stop-signal.ts";
import { toStop } from "./api.ts";
import { deployment } from "./configuration.ts";
import { type DeployOptions, mergeChoices } from "./options.ts";
import { Run } from "./run.ts";
import { givenValues, isSecret } from "./secrets.ts";
import { readState, stateFolder } from "./state.ts";
import { Stop } from "./stop.ts";

/** Begins a run of `npm run deploy`: the stored state and choices of its deployment, and the operator's values, which the run hides. */
export async function openRun(options: DeployOptions, environment: NodeJS.ProcessEnv, signal: AbortSignal, isDry = options.isDryRun) {
  const { name } = deployment(options.environment, options.choices);
  const folder = stateFolder(name);
  const before = await readState(folder);
  const choices = mergeChoices(before?.choices, options.choices);
  const values = await givenValues(name, options.secretsFile, environment);
  const run = new Run({ folder, isDry, environment, signal });
  // Not variables: a word such as `failed` would be missing in every message.
  run.hide(...[...values].filter(([name]) => isSecret(name)).map(([, value]) => value));
  return { name, folder, before, choices, values, run };
}

/** Runs a command to its end; a fault is printed as its reason and remedy, with exit code 1. */
export async function runCommand(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const stopping = stopSignal();
  try {
    await work(stopping);
  } catch (error) {
    process.exitCode = 1;
    if (stopping.aborted) console.error("\nInterrupted. Run the same command again: it continues where it stopped.");
    else {
      const { message, remedy } = toStop(error);
      console.error(`\n${message}\n→ ${remedy}`);
    }
  }
  // Pending requests of an interrupted run must not keep the process alive.
  if (stopping.aborted) process.exit();
}

/** Asks a question on the terminal; an interrupted question has the answer "". Returns undefined without a terminal. */
export async function ask(question: string, signal: AbortSignal): Promise<string | undefined> {
  if (!process.stdin.isTTY) return undefined;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return (await terminal.question(question, { signal })).trim();
  } catch (error) {
    if (!signal.aborted && (error as Error).name === "AbortError") return "";
    throw error;
  } finally {
    terminal.close();
  }
}

/** Asks for a confirmation. Throws `Stop` without it. */
export async function confirmed(signal: AbortSignal): Promise<void> {
  const answer = await ask("Go on? [y/N] ", signal);
  if (answer === undefined) throw new Stop("There is no terminal to ask on.", "Add --yes: npm run deploy -- --yes");
  if (!/^y(es)?$/i.test(answer)) throw new Stop("Nothing was changed.", "Answer y, or add --yes, to go on.");
}
