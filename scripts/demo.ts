/** `npm run demo`: makes one output of each kind, saves the files under `demo-output/` and checks every file and the bill. */

import { join, resolve } from "node:path";
import { assetSeconds } from "../src/base/life-times.ts";
import type { Balances } from "./support/api-answers.ts";
import { ApiClient } from "./support/api-client.ts";
import { billFaults, micro, settledBalances } from "./support/bill.ts";
import { DemoRun, type Made } from "./support/demo-run.ts";
import { verifyFile } from "./support/demo-proof.ts";
import { interruption, runToEnd, withGateway } from "./support/program.ts";
import { ProgressBoard } from "./support/progress-board.ts";
import { root } from "./support/wrangler.ts";

// Set by tests, and for a second demo in parallel, to keep files out of the project.
const outputDir = resolve(process.env["DEMO_OUTPUT"] || join(root, "demo-output"));

await runToEnd(async (stopping) => {
  const faults = await runAt(stopping);
  for (const fault of faults) console.error(`✗ ${fault}`);
  if (faults.length > 0) process.exitCode = 1;
  else console.log(`Every file and the bill are correct. Files in ${outputDir}`);
});

/** Runs the demo at `BASE_URL`, or with a gateway of its own. Returns the faults. */
async function runAt(signal: AbortSignal): Promise<string[]> {
  const { BASE_URL: baseUrl, API_KEY: apiKey, ASSET_TTL_S: assetTtl } = process.env;
  if (baseUrl) {
    if (!apiKey) throw new Error("BASE_URL needs an API_KEY with it.");
    return Promise.race([demonstrate(new ApiClient(baseUrl, apiKey), baseUrl, false), interruption(signal)]);
  }
  console.log("Starting a gateway for the demo ...");
  // Only this variable is read from the environment: provider keys in a shell must not make a demo spend money.
  return withGateway("demo", { signal, env: assetTtl ? { ASSET_TTL_S: assetTtl } : {} }, async (gateway) => {
    const faults = await demonstrate(new ApiClient(gateway.baseUrl, gateway.apiKey ?? ""), gateway.baseUrl, true);
    // The gateway's log is deleted with its state: print it now if something failed.
    if (faults.length > 0) console.error(`The end of the gateway's log:\n${gateway.log().slice(-4_000)}`);
    return faults;
  });
}

/** Makes everything, prints the summary, and returns the faults. */
async function demonstrate(api: ApiClient, baseUrl: string, own: boolean): Promise<string[]> {
  const assetTtl = Number(process.env["ASSET_TTL_S"] || assetSeconds);
  const [prices, before] = await Promise.all([api.prices(), api.balances()]);
  const run = new DemoRun({ api, prices, board: new ProgressBoard(), outputDir, assetTtl, taskDeadlineMs: own ? 60_000 : 600_000 });
  await run.prepare();
  await makeAll(run);
  const cost = run.made.reduce((sum, made) => sum + micro(made.cost), 0) / 1e6;
  const after = await settledBalances(api, before, cost);
  console.log(summary(run.made));
  console.log(`All together ${cost}; balance before ${remaining(before)}, after ${remaining(after)}`);
  const faults = [...run.faults, ...billFaults(before, after, cost)];
  return faults.length > 0 ? faults : proofFaults(baseUrl, own);
}

/** Verifies one of the demo's own files. Another gateway may keep no fingerprints. */
async function proofFaults(baseUrl: string, own: boolean): Promise<string[]> {
  const found = await verifyFile(baseUrl, join(outputDir, "image.png"));
  const made = found && new Date(found.made_at * 1000).toISOString();
  console.log(found ? `image.png was made here: ${made}, credentials: ${found.credentials}` : "image.png is not known at /v1/verify");
  return found || !own ? [] : ["image.png: /v1/verify does not know it"];
}

/** Runs all steps, in parallel unless one needs another's result. */
async function makeAll(run: DemoRun): Promise<void> {
  const videos = "/v1/videos/generations";
  const others = [
    run.chat("chat", "textA-1", "What does a lighthouse do? One sentence, please.", false),
    run.chat("chat-streamed", "textA-1-mini", "Name three colours of the sea.", true),
    run.images("image", { model: "imgA-4", prompt: "A lighthouse at dawn, long exposure", size: "16:9" }, { width: 1792, height: 1024 }),
    run.images("image-pair", { model: "imgC-3-pro-image-preview", prompt: "A paper boat on a pond", n: 2 }, { width: 1024, height: 1024 }),
  ];
  const video = await run.video("video", videos, {
    model: "vidA-2",
    prompt: "A fox in a red scarf reads a letter aloud",
    duration: 10,
    metadata: { thumbnail: true },
  });
  if (video) {
    const remix = run.video("remix", `/v1/videos/${video.id}/remix`, {
      model: "vidA-2",
      prompt: "The same scene in falling snow",
      duration: 10,
    });
    const username = await run.character("character", { model: "vidA-2", from_task: video.id, timestamps: "1,3" });
    if (username) {
      const prompt = `@${username} opens the door of the lighthouse`;
      await run.video("video-with-character", videos, { model: "vidA-2", prompt, duration: 10, size: "9:16" });
    }
    await remix;
  }
  await Promise.all(others);
}

function summary(made: readonly Made[]): string {
  const rows = made.map(({ name, model, seconds, cost, files }) => [name, model, seconds.toFixed(1), String(cost), files.join(" ")]);
  const lines = [["made", "model", "seconds", "cost", "files"], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...lines.map((line) => (line[column] ?? "").length)));
  return `\n${lines.map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")).join("\n")}\n`;
}

function remaining({ account }: Balances): string {
  return account.unlimited_quota ? "unlimited" : String(account.remain_balance);
}
