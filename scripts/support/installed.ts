/** Whether a program is there that some tests and packages need and npm does not install. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** What CI has to install. */
const programs = {
  go: { argument: "version", needed: "Go 1.24 or later: https://go.dev/dl" },
  cargo: { argument: "--version", needed: "Rust 1.85 or later with Cargo (Debian: cargo-web, rustc-web)" },
  mvn: { argument: "-version", needed: "Maven and a JDK of Java 17 or later (Debian: maven, default-jdk-headless)" },
} as const;

/** False if the program is missing. Throws in CI, where nothing is left out. */
export const isInstalled = (program: keyof typeof programs): Promise<boolean> =>
  run(program, [programs[program].argument]).then(
    () => true,
    (cause: unknown) => {
      if (process.env["CI"]) throw new Error(`Needed: ${programs[program].needed}`, { cause });
      return false;
    },
  );
