/** The processes of this machine, by `ps`. */

import { execFileSync } from "node:child_process";

interface Process {
  pid: number;
  parent: number;
  /** Ended, but not yet reaped by its parent. */
  isZombie: boolean;
  /** Its command line. */
  command: string;
}

/** All descendants of a process, also those that have ended and are not reaped. */
export function descendants(ancestor: number): Process[] {
  const all = listProcesses();
  const found = new Set([ancestor]);
  // A child may be listed before its parent.
  for (let size = 0; size !== found.size;) {
    size = found.size;
    for (const { pid, parent } of all) if (found.has(parent)) found.add(pid);
  }
  return all.filter(({ pid, command }) => pid !== ancestor && found.has(pid) && !command.startsWith("ps "));
}

function listProcesses(): Process[] {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid=,state=,args="], { encoding: "utf8", maxBuffer: 1 << 24 }).split("\n");
  return lines.flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line);
    if (!match) return [];
    const [, pid, parent, state = "", command = ""] = match;
    return [{ pid: Number(pid), parent: Number(parent), isZombie: state.startsWith("Z"), command }];
  });
}
