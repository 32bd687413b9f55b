/** A command with several programs: its first argument names one, which runs as if it had been started itself. */

/** By name: what the program does, and its file. */
export type Programs = Record<string, readonly [about: string, file: string]>;

/**
 * Runs the program that the first argument names; the program reads the other arguments. Without a known name it runs `usual`, if that is
 * given, and otherwise prints all names and exits with 2.
 */
export async function runProgram(command: string, programs: Programs, folder: string, usual?: string): Promise<void> {
  const [, , first = ""] = process.argv;
  const name = usual !== undefined && (first === "" || first.startsWith("-")) ? usual : process.argv.splice(2, 1)[0];
  const chosen = programs[name ?? ""];
  if (chosen) return void (await import(new URL(chosen[1], folder).href));
  const width = Math.max(...Object.keys(programs).map((one) => one.length));
  console.error(
    [`npm run ${command} -- NAME`, ...Object.entries(programs).map(([one, [about]]) => `  ${one.padEnd(width)}  ${about}`)].join("\n"),
  );
  process.exitCode = 2;
}
