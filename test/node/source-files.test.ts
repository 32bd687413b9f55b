/** A deployment's digest covers the files that git tracks, and no temporary files of programs that run in the same checkout. */

import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { sourceFiles } from "../../scripts/support/sources.ts";

const folder = await mkdtemp(join(tmpdir(), "gateway-sources-"));
afterAll(() => rm(folder, { recursive: true }));

async function write(root: string, files: string[]): Promise<void> {
  for (const file of files) {
    await mkdir(join(root, file, ".."), { recursive: true });
    await writeFile(join(root, file), file);
  }
}

test("in a checkout: tracked files and new ones, but not ignored ones", async () => {
  const root = join(folder, "checkout");
  await write(root, [".gitignore", "src/worker.ts", "src/console/page.css"]);
  await writeFile(join(root, ".gitignore"), ".wrangler/\n*.log\n");
  const git = (...args: string[]) => execFileSync("git", args, { cwd: root, stdio: "ignore" });
  git("init");
  git("add", ".");
  await write(root, ["src/new.ts", "src/console/.wrangler/tmp/dev-1/worker.js", "src/run.log"]);
  expect(await sourceFiles(root, "src")).toEqual(["src/console/page.css", "src/new.ts", "src/worker.ts"]);
});

test("without git: all files but those in folders whose names begin with a dot", async () => {
  const root = join(folder, "unpacked");
  await write(root, ["src/worker.ts", "src/console/page.css", "src/.wrangler/tmp/dev-1/worker.js"]);
  expect(await sourceFiles(root, "src")).toEqual(["src/console/page.css", "src/worker.ts"]);
});
