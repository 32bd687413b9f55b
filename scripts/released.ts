/** `npm run generate -- released`: stores the gateway's bundle of this revision for the upgrade test, which runs it beside the next revision's. Run it with each release. */

import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { migrationNames } from "./support/migrations.ts";
import { root } from "./support/wrangler.ts";
import { bundledModules, type Released, releasedFile } from "./support/released.ts";

const modules = await bundledModules("wrangler.toml", "src/worker.ts");
const migrations = await migrationNames(join(root, "migrations"));
const revision = execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
await writeFile(releasedFile, brotliCompressSync(JSON.stringify({ revision, migrations, modules } satisfies Released)));
console.log(`Kept the bundle of ${revision}.`);
