/** `npm run generate -- released`: stores the gateway's bundle of this revision for the upgrade test, which runs it beside the next revision's. Run it with each release. */

import { execFileSync } from "node:child_process";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { bundle } from "./support/bundles.ts";
import { root } from "./support/wrangler.ts";
import { type Released, releasedFile } from "./support/released.ts";

const outDir = join(tmpdir(), `gateway-released-${process.pid}`);
await bundle("wrangler.toml", "src/worker.ts", outDir);
const files = (await readdir(outDir)).filter((name) => name.endsWith(".js") || name.endsWith(".txt"));
const modules = Object.fromEntries(await Promise.all(files.map(async (name) => [name, await readFile(join(outDir, name), "utf8")])));
const migrations = (await readdir(join(root, "migrations"))).filter((name) => name.endsWith(".sql")).sort();
const revision = execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
await writeFile(releasedFile, brotliCompressSync(JSON.stringify({ revision, migrations, modules } satisfies Released)));
await rm(outDir, { recursive: true });
console.log(`Kept the bundle of ${revision}.`);
