/** Detects when a script should end: by a signal, or because the npm process that runs it has ended. */

import { execFileSync } from "node:child_process";
import { errorCode } from "./faults.ts";

const watchMs = 300;

/** Aborts at the first request to end. */
export function stopSignal(): AbortSignal {
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stopping.abort());
  // Npm sends a signal to its shell, which ends without passing it on; a killed npm sends no signal at all. Without npm, a script may
  // outlive its shell.
  if (process.env["npm_lifecycle_event"]) {
    const parent = process.ppid;
    const npm = npmBehind(parent);
    setInterval(() => {
      if (process.ppid !== parent || !lives(npm)) stopping.abort();
    }, watchMs).unref();
  }
  return stopping.signal;
}

/** The npm process: our parent, or the parent of the shell between us (some shells replace themselves with the command). */
function npmBehind(parent: number): number {
  try {
    const [grandparent, command] = execFileSync("ps", ["-o", "ppid=,comm=", "-p", String(parent)], { encoding: "utf8" })
      .trim()
      .split(/\s+/);
    return command?.endsWith("sh") ? Number(grandparent) : parent;
  } catch {
    // There is no `ps` on this system: only the parent is watched.
    return parent;
  }
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) !== "ESRCH";
  }
}
