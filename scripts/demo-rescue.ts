/**
 * `npm run demo:rescue`: a script of 2025 for OpenAI's video API, pointed at a gateway. The first provider accepts the video and then loses
 * it, the gateway is killed; the second provider, the sandbox, completes the same video. Exits 1 if a check fails.
 */

import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { checkRescue, files, type Verdict } from "./demo-rescue/checks.ts";
import { type Script, startScript, startUpstream, type Upstream } from "./demo-rescue/processes.ts";
import { taskAnswer } from "./support/api-answers.ts";
import { AdminClient } from "./support/admin-client.ts";
import { ApiClient } from "./support/api-client.ts";
import { type Gateway, startGateway } from "./support/gateway.ts";
import { applyModels } from "./support/models.ts";
import { interruption, runToEnd } from "./support/program.ts";
import { ProgressBoard } from "./support/progress-board.ts";
import { root } from "./support/wrangler.ts";

const outputDir = resolve(process.env["DEMO_OUTPUT"] || join(root, "demo-output"));
const stepDeadlineMs = 120_000;

/** The first provider is the upstream of this demo, which has OpenAI's format. */
const routes = [
  { provider: "openai", model: "sora-2" },
  { provider: "sandbox", model: "vidA-2" },
];

const running: { upstream?: Upstream; gateway?: Gateway; script?: Script } = {};
const tempDir = await mkdtemp(join(tmpdir(), "gateway-rescue-"));
await runToEnd(async (stopping) => {
  try {
    const { faults, facts } = await Promise.race([rescue(stopping), interruption(stopping)]);
    console.log(`\n${facts.map((fact) => `✓ ${fact}`).join("\n")}`);
    for (const fault of faults) console.error(`✗ ${fault}`);
    if (faults.length > 0) throw new Error(`The end of the gateway's log:\n${running.gateway?.log().slice(-4_000)}`);
    console.log(`\nThe script was not changed. Files in ${outputDir}`);
  } finally {
    running.script?.kill();
    await Promise.all([running.upstream?.kill(), running.gateway?.stop()]);
    await rm(tempDir, { recursive: true, force: true });
  }
});

/** Waits until the gateway's log says that the provider accepted the task: before, a crash would leave the outcome unknown. */
async function recorded(gateway: Gateway | undefined, id: string, signal: AbortSignal): Promise<string> {
  for (;;) {
    const lines = gateway?.log().split("\n") ?? [];
    const line = lines.find((one) => one.includes(id) && one.includes('"dispatch"') && one.includes('"accepted"'));
    if (line !== undefined) return line;
    await sleep(50, undefined, { signal });
  }
}

/** Waits for an event; rejects with `what` at the deadline, and if the script ends first. */
async function within(what: string, event: Promise<string>): Promise<string> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), stepDeadlineMs);
  const failed = new Promise<never>((_, fail) => {
    late.signal.addEventListener("abort", () => fail(new Error(`${what}: did not happen within ${stepDeadlineMs / 1000} s`)));
    void running.script?.exited.then(() => fail(new Error(`${what}: the script had ended\n${running.script?.output()}`)));
  });
  return Promise.race([event, failed]).finally(() => clearTimeout(timer));
}

async function rescue(signal: AbortSignal): Promise<Verdict> {
  await mkdir(outputDir, { recursive: true });
  const board = new ProgressBoard();
  const provider = board.begin("first provider");
  const gateway = board.begin("gateway");
  const script = board.begin("script of 2025");
  const accepted = Promise.withResolvers<string>();
  const forgotten = Promise.withResolvers<string>();
  const startProvider = async (port: number) =>
    (running.upstream = await startUpstream(port, ({ is, ...event }) => {
      if (!("id" in event)) return;
      if (is === "accepted") accepted.resolve(event.id);
      if (is === "forgotten") forgotten.resolve(event.id);
    }));

  provider.update("starting", 0);
  const { port } = await startProvider(0);
  provider.update("running", 0);
  gateway.update("starting", 0);
  const env = {
    OPENAI_API_KEY: "demo",
    OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
    // The only setting from the environment: with HEDGE=off the video fails when the first provider does.
    ...(process.env["HEDGE"] && { HEDGE: process.env["HEDGE"] }),
  };
  const open = async (at: number) =>
    (running.gateway = await startGateway({ port: at, stateDir: join(tempDir, "state"), env, quiet: true, signal }));
  const { baseUrl, adminToken, apiKey = "" } = await open(0);
  await applyModels(new AdminClient(baseUrl, adminToken), [{ id: "vidA-2", entry: { routes }, source: "the demo's routes" }]);
  gateway.update("running", 30);
  const api = new ApiClient(baseUrl, apiKey);
  const before = await api.balances();

  const created = Promise.withResolvers<string>();
  const saved = Promise.withResolvers<string>();
  running.script = await startScript(join(tempDir, "script"), baseUrl, apiKey, (line) => {
    const [word, id = ""] = line.split(" ");
    if (word === "created") created.resolve(id);
    if (word === "saved") saved.resolve(id);
  });
  script.update("running", 0);
  const id = await within("the video's creation", created.promise);
  script.update(`waits for ${id}`, 20);
  const lost = await within("the acceptance by the first provider", accepted.promise);
  provider.update("has accepted the video", 30);
  await within("the record of the acceptance", recorded(running.gateway, id, signal));

  const { status } = (await api.ask(taskAnswer, `/v1/tasks/${id}`)).data;
  if (status !== "in_progress") throw new Error(`the task was ${status} before the crash`);
  await running.upstream?.kill();
  provider.update("killed: the video is lost", 50);
  await running.gateway?.kill();
  gateway.update("killed with SIGKILL", 50);
  await startProvider(port);
  provider.update("running again, without the video", 60);
  await open(Number(new URL(baseUrl).port));
  gateway.update("running again on the same state", 100);
  if ((await within("the question for the lost video", forgotten.promise)) !== lost) throw new Error("another video was asked for");
  provider.update("answered 404: the sandbox takes over", 100);

  const completed = await within("the second provider's video", saved.promise);
  if (completed !== id) throw new Error(`the script saved ${completed}, created was ${id}`);
  const code = await running.script.exited;
  if (code !== 0) throw new Error(`the script ended with ${code}:\n${running.script.output()}`);
  script.update(`saved ${files.video}`, 100);
  await copyFile(join(tempDir, "script", files.video), join(outputDir, files.video));
  return checkRescue(api, id, before, outputDir);
}
