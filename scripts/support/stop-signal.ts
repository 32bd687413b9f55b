/** When a script should end: asked by a signal, or because the npm that runs it is gone. */

import { execFileSync } from "node:child_process";
import { errorCode } from "./error-code.ts";

const watchMs = 300;

/** Aborts at the first request to end. */
export function stopSignal(): AbortSignal {
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stopping.abort());
  // Npm hands a signal to its shell, which dies of it without telling us; a killed npm tells nobody. Run without npm, a
  // script may well outlive its shell.
  if (process.env["npm_lifecycle_event"]) {
    const parent = process.ppid;
    const npm = npmBehind(parent);
    setInterval(() => {
      if (process.ppid !== parent || !lives(npm)) stopping.abort();
    }, watchMs).unref();
  }
  return stopping.signal;
}

/** The process of npm: our parent, or the parent of the shell between us (some shells replace themselves by the command). */
function npmBehind(parent: number): number {
  try {
    const [grandparent, command] = execFileSync("ps", ["-o", "ppid=,comm=", "-p", String(parent)], { encoding: "utf8" })
      .trim()
      .split(/\s+/);
    return command?.endsWith("sh") ? Number(grandparent) : parent;
  } catch {
    // No `ps` here: the parent alone is watched.
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
