/** `npm run tools -- soak`: the real gateway under mixed load, killed at random and restarted on its state; ends with a check of every account and task. */

import { parseArgs } from "node:util";
import { withCrashingGateway } from "./engine/crashing-gateway.ts";
import { countTroubles, linesAbout } from "./soak/log.ts";
import { soak } from "./soak/run.ts";
import { runToEnd } from "./support/program.ts";

const maxMinutes = 60;
const maxClients = 32;
const shownFaults = 30;
/** The number of faults for which log lines are printed. */
const explainedFaults = 5;

const usage = `npm run tools -- soak [--minutes 2] [--seed N] [--clients 6] [--holds]
  --holds  waits eleven minutes more, until the money of chats whose Worker was killed has come back as well`;

await runToEnd(async (signal) => {
  const options = readOptions();
  const { seed, minutes, clients } = options;
  const began = Date.now();
  const log = (line: string) =>
    console.log(`[${((Date.now() - began) / 1000).toFixed(0).padStart(4)} s] ${line.replaceAll("\n", "\n         ")}`);
  log(`seed ${seed}, ${minutes} minutes, ${clients} clients: starting the gateway`);
  const faults = await withCrashingGateway("soak", signal, async (gateway) => {
    const found = await soak(gateway, { ...options, signal, log });
    log(
      `the gateway's log has: ${[...countTroubles(gateway.logFile)].map(([name, count]) => `${name} ${count}`).join(", ") || "nothing for the operator"}`,
    );
    for (const [index, fault] of found.slice(0, shownFaults).entries()) {
      console.error(`✗ ${fault}`);
      const task = index < explainedFaults && /task_[\w-]+/.exec(fault)?.[0];
      for (const line of task ? linesAbout(gateway.logFile, task) : []) console.error(`    ${line}`);
    }
    if (found.length > shownFaults) console.error(`✗ and ${found.length - shownFaults} more`);
    return found;
  });
  log(
    faults.length === 0
      ? "The ledger is correct and every accepted task was answered."
      : `${faults.length} things were wrong (seed ${seed}).`,
  );
  if (faults.length > 0) process.exitCode = 1;
});

function readOptions() {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "2" },
      seed: { type: "string", default: String(Math.floor(Math.random() * 1e6)) },
      clients: { type: "string", default: "6" },
      holds: { type: "boolean", default: false },
    },
  });
  const [minutes, seed, clients] = [values.minutes, values.seed, values.clients].map(Number) as [number, number, number];
  const isGood =
    minutes > 0 && minutes <= maxMinutes && Number.isInteger(seed) && Number.isInteger(clients) && clients > 0 && clients <= maxClients;
  if (!isGood) throw new Error(`At most ${maxMinutes} minutes and ${maxClients} clients:\n${usage}`);
  return { minutes, seed, clients, waitsForHolds: values.holds };
}
