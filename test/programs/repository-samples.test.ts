/** The commands of the tour in docs/tour.md run in their order, with the ids and URLs of the answers before them in place of `...`. */

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { root } from "../../scripts/support/wrangler.ts";
import { gateway, newKey } from "./support/account.ts";

const run = promisify(execFile);

/** The commands of a file's shell blocks that call the gateway, without their comments. */
async function readCommands(file: string): Promise<string[]> {
  const text = await readFile(join(root, file), "utf8");
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block.replaceAll("\\\n", " "));
  // A body in single quotes may go on in the next line.
  const joined = blocks.map((block) => block.replace(/--json '[^']*'/g, (quoted) => quoted.replace(/\n */g, " ")));
  return joined
    .flatMap((block) => block.split("\n"))
    .flatMap((line) => (/^(?:ask|admin|curl) /.test(line) ? [line.replace(/ {3,}# .*$/, "")] : []));
}

/** What later commands refer to with `...`. */
interface Seen {
  task: string;
  /** A video that has ended: remixes and characters are made from it. */
  video: string;
  character: string;
  account: string;
  file: string;
}

function fillIn(command: string, seen: Seen): string {
  const source = /\/remix|from_task/.test(command) ? seen.video : seen.task;
  return command
    .replace(/"http:\/\/127\.0\.0\.1:8787\/assets\/[^"]*"/, `"${seen.file}"`)
    .replaceAll("task_...", source)
    .replaceAll("ch_...", seen.character)
    .replaceAll("acc_...", seen.account)
    .replaceAll("http://127.0.0.1:8787", gateway.baseUrl);
}

function note(command: string, output: string, seen: Seen): void {
  const find = (pattern: RegExp) => pattern.exec(output)?.[0];
  if (/generations|remix/.test(command) && !command.includes("dry_run")) seen.task = find(/task_[\w-]+/) ?? seen.task;
  if (command.includes("/v1/videos/generations/task_")) seen.video = seen.task;
  if (command.endsWith("/v1/characters")) seen.character = find(/ch_[\w-]+/) ?? "";
  if (/\/admin\/accounts -d/.test(command)) seen.account = find(/acc_[\w-]+/) ?? "";
  seen.file = find(/http[^"]*\/assets\/[^"]*/) ?? seen.file;
}

test.each(["docs/tour.md", "README.md"])("the commands of %s succeed", { timeout: 180_000 }, async (file) => {
  const key = await newKey(file.replaceAll(/\W/g, "-"), 100);
  const folder = await mkdtemp(join(tmpdir(), "repository-samples-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const functions = [
    'curl() { command curl --fail-with-body "$@"; }',
    'ask() { curl -sS -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" "$@"; }',
    'admin() { curl -sS -H "Authorization: Bearer local-admin" -H "Content-Type: application/json" "$@"; }',
  ];
  const seen: Seen = { task: "", video: "", character: "", account: "", file: "" };
  const commands = await readCommands(file);
  expect(commands.length).toBeGreaterThan(1);
  for (const command of commands) {
    const filled = fillIn(command, seen);
    const { stdout } = await run("bash", ["-ec", [...functions, filled].join("\n")], {
      cwd: folder,
      env: { PATH: process.env["PATH"], B: gateway.baseUrl, KEY: key, API_KEY: key },
    }).catch((error: Error & { stdout?: string }) => {
      throw new Error(`${filled}: ${error.stdout ?? ""} ${error.message}`);
    });
    if (filled.includes("?wait=")) expect(stdout, filled).toMatch(/"status":"completed"/);
    note(filled, stdout, seen);
  }
});
