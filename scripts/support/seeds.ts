/** Reads the seeds from a command's argument. */

/** "200" means the first 200 seeds, "300-350" these seeds. Anything else ends the process with the command's usage. */
export function parseSeeds(command: string, text: string): [first: number, last: number] {
  const [, from, to] = /^(?:(\d{1,9})-)?(\d{1,9})$/.exec(text) ?? [];
  if (to === undefined) {
    console.error(`How many runs, or which: npm run ${command} -- 500, npm run ${command} -- 300-350`);
    process.exit(2);
  }
  return [Number(from ?? 1), Number(to)];
}
