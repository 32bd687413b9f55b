/** CPU time and memory of processes, from /proc: Linux only. */

import { readdir, readFile } from "node:fs/promises";

export const canReadCpu = process.platform === "linux";

/** The kernel's clock tick in microseconds, the same for programs everywhere. */
const tickUs = 10_000;

/** Fields of /proc/<pid>/stat from the third on: the command name before them may contain any character. */
async function readStat(pid: number): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8");
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

/** All descendants of a process. */
export async function processesBelow(root: number): Promise<number[]> {
  if (!canReadCpu) return [];
  const children = new Map<number, number[]>();
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readStat(Number(name)).catch(() => undefined); // the process may have ended in the meantime
    const parent = Number(stat?.[1] ?? 0);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const below = [...(children.get(root) ?? [])];
  for (const pid of below) below.push(...(children.get(pid) ?? []));
  return below;
}

/** User and system time of the processes in microseconds; NaN if it cannot be read. */
export async function cpuUs(processes: number[]): Promise<number> {
  if (!canReadCpu) return Number.NaN;
  const times = await Promise.all(processes.map(readCpu));
  return times.reduce((sum, us) => sum + us, 0);
}

/**
 * With scheduler statistics the kernel counts nanoseconds per running thread; without them, ticks per process (utime and stime). Only the
 * ticks include threads that have ended.
 */
async function readCpu(pid: number): Promise<number> {
  const stat = await readStat(pid);
  const ticksUs = (Number(stat[11]) + Number(stat[12])) * tickUs;
  try {
    const threads = await readdir(`/proc/${pid}/task`);
    const nanoseconds = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, "utf8")));
    return Math.max(ticksUs, nanoseconds.reduce((sum, text) => sum + Number(text.split(" ")[0]), 0) / 1000);
  } catch {
    return ticksUs;
  }
}

/** Resident memory of the processes in MiB, now or at its peak; NaN if it cannot be read. */
export async function residentMiB(processes: number[], field: "VmRSS" | "VmHWM" = "VmRSS"): Promise<number> {
  if (!canReadCpu) return Number.NaN;
  const texts = await Promise.all(processes.map((pid) => readFile(`/proc/${pid}/status`, "utf8")));
  return texts.reduce((sum, text) => sum + Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(text)?.[1] ?? 0), 0) / 1024;
}
