/** Whether Go is there, for the clients that are written in it. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** False without Go. Throws in CI, where nothing is left out. */
export const hasGo = (): Promise<boolean> =>
  run("go", ["version"]).then(
    () => true,
    (cause: unknown) => {
      if (process.env["CI"]) throw new Error("Go 1.24 or later is needed: https://go.dev/dl", { cause });
      return false;
    },
  );
