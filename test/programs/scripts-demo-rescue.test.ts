/** `npm run demo:rescue` as a process: its claims are true, it fails if the video is not rescued, and it leaves no process running. */

import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { BufferSource, Input, MP4 } from "mediabunny";
import { expect, onTestFinished, test } from "vitest";
import { root } from "../../scripts/support/wrangler.ts";
import { printed, runScript, survivors } from "./scripts-child.ts";
import { descendants } from "./support/processes.ts";

async function temporary(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "scripts-demo-rescue-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Starts the demo, and returns when the gateway has been killed and runs again: the processes that run then. */
async function start(variables: Record<string, string>) {
  const [output, scratch] = await Promise.all([temporary(), temporary()]);
  const demo = runScript("scripts/demo-rescue.ts", { ...variables, DEMO_OUTPUT: output, TMPDIR: scratch });
  onTestFinished(() => void demo.process.kill());
  const pids = (pattern: string) => descendants(demo.process.pid!).filter(({ command }) => command.includes(pattern));
  // Before the script begins: soon after that the gateway is killed.
  await printed(demo, /^gateway: running/m, 120_000);
  const before = pids("workerd");
  await printed(demo, /^gateway: running again/m, 240_000);
  const after = pids("workerd");
  expect([before.length > 0, after.length > 0]).toEqual([true, true]);
  expect(after.filter(({ pid }) => before.some((one) => one.pid === pid))).toEqual([]);
  return { demo, output, scratch, started: descendants(demo.process.pid!) };
}

test("the video of a script of 2025 survives its provider and the gateway, and is charged once", { timeout: 400_000 }, async () => {
  const { demo, output, scratch, started } = await start({ HEDGE: "" });
  expect(await demo.exited, demo.output()).toBe(0);
  expect(await survivors(started, 2_000)).toEqual([]);
  expect((await readdir(scratch)).filter((name) => name.startsWith("gateway-rescue-"))).toEqual([]);

  const id = /waits for (task_[\w-]+)/.exec(demo.output())?.[1];
  expect(demo.output().match(/^✓ .*$/gm)).toEqual([
    "✓ one task, completed under the id that the script was given",
    expect.stringMatching(/^✓ rescue\.mp4 plays: 8 s, 1280x720/),
    "✓ one charge: balance 100 before, 99.2 after",
    `✓ receipt good: ${id}, completed, charged 0.8 USD, 2 upstreams asked`,
  ]);
  expect((await readdir(output)).sort()).toEqual(["rescue-jwks.json", "rescue-receipt.json", "rescue.mp4"]);
  using video = new Input({ source: new BufferSource(await readFile(join(output, "rescue.mp4"))), formats: [MP4] });
  expect(await video.computeDuration()).toBeCloseTo(8, 1);
  const track = await video.getPrimaryVideoTrack();
  expect([track?.codec, track?.displayWidth, track?.displayHeight]).toEqual(["avc", 1280, 720]);
  const args = [join(root, "examples/verify-receipt.mjs"), "rescue-receipt.json", "rescue-jwks.json", "rescue.mp4"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: output });
  expect(stdout).toContain(`good: ${id}, completed, charged 0.8 USD`);
  const { receipt } = JSON.parse(await readFile(join(output, "rescue-receipt.json"), "utf8")) as { receipt: object };
  expect(receipt).toMatchObject({ id, reserved: 0.8, charged: 0.8, returned: 0, attempts: 2 });
});

test("the script of 2025 names no server except those of its environment", async () => {
  const script = await readFile(join(root, "scripts/demo-rescue/script-2025.mjs"), "utf8");
  expect(script).toMatch(/^import OpenAI from "openai";$/m);
  expect(script).not.toMatch(/https?:|baseURL|apiKey|127\.0\.0\.1|localhost|gateway/);
  const client = JSON.parse(await readFile(join(root, "node_modules/openai-2025/package.json"), "utf8")) as object;
  expect(client).toMatchObject({ name: "openai", version: "6.10.0" });
});

test("without a second provider the demo fails and leaves no process behind", { timeout: 400_000 }, async () => {
  const { demo, started, scratch } = await start({ HEDGE: "off" });
  expect(await demo.exited, demo.output()).toBe(1);
  expect(demo.output()).toMatch(/task_[\w-]+ failed: /);
  expect(demo.output()).not.toContain("✓");
  expect(await survivors(started, 2_000)).toEqual([]);
  expect((await readdir(scratch)).filter((name) => name.startsWith("gateway-rescue-"))).toEqual([]);
});
