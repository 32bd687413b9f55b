/** Runs that are each determined by a number: which of them a command runs, and which failed. */

/**
 * Runs `work` for the seeds that a command's argument names: "200" means the first 200, "300-350" these. `work` gets at most `chunk` of them
 * at once and returns those that failed; the process then exits with 1. Ends the process with the command's usage for another argument.
 */
export async function runSeeds(
  command: string,
  text: string,
  chunk: number,
  work: (first: number, last: number) => Promise<number[]>,
): Promise<number[]> {
  const [, from = "1", to] = /^(?:(\d{1,9})-)?(\d{1,9})$/.exec(text) ?? [];
  if (to === undefined) {
    console.error(`How many runs, or which: npm run tools -- ${command} 500, npm run tools -- ${command} 300-350`);
    process.exit(2);
  }
  const failed: number[] = [];
  for (let first = Number(from); first <= Number(to); first += chunk)
    failed.push(...(await work(first, Math.min(Number(to), first + chunk - 1))));
  if (failed.length > 0) process.exitCode = 1;
  return failed;
}
