/** The descendants of this process, and killing them. */

import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode } from "../support/error-code.ts";

const goneWithinMs = 5_000;

interface Process {
  pid: number;
  parent: number;
  /** Ended, but not yet reaped by its parent. */
  isZombie: boolean;
  command: string;
}

/** Kills every descendant of this process at once with SIGKILL, and waits until they have ended. Returns their number. */
export async function killDescendants(): Promise<number> {
  const doomed = descendants();
  for (const { pid } of doomed) {
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      // It ended together with its parent.
      if (errorCode(error) !== "ESRCH") throw error;
    }
  }
  for (const deadline = Date.now() + goneWithinMs; ; await sleep(50)) {
    const left = survivors(doomed);
    if (left.length === 0) return doomed.length;
    if (Date.now() > deadline)
      throw new Error(`still there after SIGKILL: ${left.map(({ pid, command }) => `${pid} ${command}`).join("; ")}`);
  }
}

function descendants(): Process[] {
  const all = processes();
  const found = new Set([process.pid]);
  // A child may be listed before its parent.
  for (let size = 0; size !== found.size;) {
    size = found.size;
    for (const { pid, parent } of all) if (found.has(parent)) found.add(pid);
  }
  return all.filter(({ pid, command, isZombie }) => pid !== process.pid && found.has(pid) && !isZombie && !command.startsWith("ps "));
}

/** Orphans have a new parent: they are identified by their id and command. */
function survivors(doomed: readonly Process[]): Process[] {
  const now = new Map(processes().map((one) => [one.pid, one]));
  return doomed.filter(({ pid, command }) => {
    const same = now.get(pid);
    return same !== undefined && !same.isZombie && same.command === command;
  });
}

function processes(): Process[] {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid=,state=,args="], { encoding: "utf8", maxBuffer: 1 << 24 }).split("\n");
  return lines.flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line);
    if (!match) return [];
    const [, pid, parent, state = "", command = ""] = match;
    return [{ pid: Number(pid), parent: Number(parent), isZombie: state.startsWith("Z"), command }];
  });
}
