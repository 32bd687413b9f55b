/** The programs of examples/, run like a reader would, each with a separate account on one gateway. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { unzipSync } from "fflate";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ApiClient } from "../../scripts/support/api-client.ts";
import { root } from "../../scripts/support/wrangler.ts";
import { gateway, newKey } from "./support/account.ts";
import { startLossyProxy } from "./support/lossy-proxy.ts";

/** A machine's first `go run` compiles Go's library, which takes a minute on a busy one. */
vi.setConfig({ testTimeout: 240_000, maxConcurrency: 8 });

const examples = join(root, "examples");
const imagePrice = 0.03;
/** The quota of each account, in balance units. */
const quota = 10;
const run = promisify(execFile);
const has = (program: string, ...args: string[]) => run(program, args).then(...([() => true, () => false] as const));

/** Each program with its interpreter and the file that it saves. */
const programs = [
  { source: "image.py", command: ["python3"], saves: "python.png", isThere: await has("python3", "--version") },
  { source: "image.mjs", command: [process.execPath], saves: "node.png", isThere: true },
  { source: "image.go", command: ["go", "run"], saves: "go.png", isThere: await has("go", "version") },
  { source: "image.php", command: ["php"], saves: "php.png", isThere: await has("php", "--version") },
  { source: "image.sh", command: ["sh"], saves: "shell.png", isThere: await has("curl", "--version") },
].filter(({ isThere }) => isThere);

let folder: string;

/** A key of a new account, and a separate folder. */
async function newCaller(name: string) {
  const key = await newKey(name.replace(/\W/g, "-"), quota);
  const own = join(folder, name);
  await mkdir(own);
  return { key, own, client: new ApiClient(gateway.baseUrl, key) };
}

const environment = (key: string, baseUrl = gateway.baseUrl) => ({
  PATH: process.env["PATH"],
  HOME: process.env["HOME"],
  BASE_URL: baseUrl,
  API_KEY: key,
});

const isPng = async (file: string) => (await readFile(file)).subarray(0, 8).toString("latin1") === "\x89PNG\r\n\x1a\n";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "example-programs-"));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Resolves with the output as soon as it matches, or when the program has ended. */
const printed = (child: ChildProcess, pattern: RegExp) =>
  new Promise<string>((resolve) => {
    let output = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (pattern.test(output)) resolve(output);
    });
    child.once("close", () => resolve(output));
  });

// The longest program starts first.
test.concurrent("a batch stays within its budget and is charged once for each row, however often it is interrupted", async () => {
  const { key, own, client } = await newCaller("batch");
  const proxy = await startLossyProxy(gateway.baseUrl);
  await copyFile(join(examples, "batch/prompts.csv"), join(own, "prompts.csv"));
  const affordable = 20;
  const budget = imagePrice * affordable + 0.02;
  const start = () => {
    const args = [join(examples, "batch/batch.py"), "prompts.csv", budget.toFixed(2)];
    return spawn("python3", args, { cwd: own, env: environment(key, proxy.baseUrl), stdio: ["ignore", "pipe", "pipe"] });
  };
  const committed = async () => {
    // The remaining balance excludes the used and reserved amounts.
    const spent = quota - (await client.balances()).account.remain_balance;
    expect(spent).toBeLessThanOrEqual(budget);
    return spent;
  };

  // The first run loses the answer to the batch that it has begun, and ends.
  proxy.loses = (submission) => submission === 2;
  const first = start();
  await printed(first, /$^/);
  expect(first.exitCode).not.toBe(0);
  proxy.loses = () => false;

  // The second run finds that batch, and is interrupted like by Ctrl-C; the third is killed.
  const second = start();
  void printed(second, /made/).then(() => second.kill("SIGINT"));
  expect(await printed(second, /$^/)).not.toContain("saved");
  await committed();
  const third = start();
  void printed(third, /made/).then(() => third.kill("SIGKILL"));
  await printed(third, /$^/);
  await committed();

  // The fourth run waits for its end; the fifth only downloads again.
  const summary = "20 of 100 images saved, 0.60 of 0.62 spent\n";
  expect(await printed(start(), /$^/)).toContain(summary);
  expect(await printed(start(), /$^/)).toBe(summary);
  proxy.close();

  expect((await client.balances()).account).toMatchObject({ used_balance: 0.6, remain_balance: quota - 0.6 });
  const images = Object.values(unzipSync(await readFile(join(own, "prompts.zip"))));
  expect(images.length).toBe(affordable);
  for (const image of images) expect(Buffer.from(image.subarray(0, 8)).toString("latin1")).toBe("\x89PNG\r\n\x1a\n");
  const results = (await readFile(join(own, "prompts.results.jsonl"), "utf8")).trim().split("\n");
  const tasks = results.flatMap((line) => (JSON.parse(line) as { task?: string }).task ?? []);
  expect([results.length, new Set(tasks).size]).toEqual([100, affordable]);
});

test.concurrent.each(programs)("$source saves an image and is charged its price", async ({ source, command, saves }) => {
  const { key, own, client } = await newCaller(source);
  const [program = "", ...args] = command;
  await run(program, [...args, join(examples, "image", source)], { cwd: own, env: environment(key) });
  expect(await readdir(own)).toEqual([saves]);
  expect(await isPng(join(own, saves))).toBe(true);
  expect((await client.balances()).account).toMatchObject({ used_balance: imagePrice, remain_balance: quota - imagePrice });
});

test.concurrent.each(programs)("$source ends with the error of a failed task, and of a refused request", async (program) => {
  const { key, own, client } = await newCaller(`failing ${program.source}`);
  const [command = "", ...args] = program.command;
  const flagged = join(own, program.source);
  await writeFile(
    flagged,
    (await readFile(join(examples, "image", program.source), "utf8")).replace("A lighthouse in the fog", "sandbox:flag"),
  );
  const failed = run(command, [...args, flagged], { cwd: own, env: environment(key) });
  await expect(failed).rejects.toMatchObject({ code: expect.any(Number), message: expect.stringMatching(/content/i) });
  const refused = run(command, [...args, flagged], { cwd: own, env: environment("sk-wrong") });
  await expect(refused).rejects.toMatchObject({ code: expect.any(Number), message: expect.stringContaining("API key or token") });
  expect(await readdir(own)).toEqual([program.source]);
  expect((await client.balances()).account).toMatchObject({ used_balance: 0, remain_balance: quota });
});

/** Starts a receiver of webhooks; returns its URL and a function that stops it. */
const receivers: Record<"worker.mjs" | "express.mjs", (secret: string) => Promise<{ url: string; stop: () => unknown }>> = {
  "worker.mjs": async (secret) => {
    const worker = new Miniflare(
      convertV4MiniflareOptions({
        name: "receiver",
        modules: [{ type: "ESModule", path: join(examples, "webhooks/worker.mjs") }],
        modulesRoot: join(examples, "webhooks"),
        compatibilityDate: "2026-10-20",
        bindings: { WEBHOOK_SECRET: secret },
        host: "127.0.0.1",
        port: 0,
      }),
    );
    return { url: new URL("/hooks", await worker.ready).href, stop: () => worker.dispose() };
  },
  "express.mjs": async (secret) => {
    const env = { PATH: process.env["PATH"], WEBHOOK_SECRET: secret, PORT: "0" };
    const server = spawn(process.execPath, [join(examples, "webhooks/express.mjs")], { env, stdio: ["ignore", "pipe", "inherit"] });
    const port = /port (\d+)/.exec(await printed(server, /port \d+/))?.[1];
    return { url: `http://127.0.0.1:${port}/hooks`, stop: () => server.kill() };
  },
};

test.concurrent.for(["worker.mjs", "express.mjs"] as const)(
  "the receiver %s accepts what the gateway signs and nothing else",
  async (name, { expect }) => {
    const { key, client } = await newCaller(name);
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const ask = async <Answer>(path: string) => (await (await fetch(gateway.baseUrl + path, { headers })).json()) as Answer;
    const { secret } = await ask<{ secret: string }>("/v1/webhook_secret");
    const { url, stop } = await receivers[name](secret);
    try {
      const { id } = await client.submit("/v1/images/generations", { model: "imgA-4", prompt: "A quay", callback_url: url });
      const attempts = async () => (await ask<{ attempts?: { status?: number }[] }>(`/v1/tasks/${id}/callback`)).attempts ?? [];
      await expect.poll(attempts, { timeout: 60_000 }).toMatchObject([{ status: 204 }]);

      const body = JSON.stringify({ type: "task.completed", data: { id: "task_a", status: "completed", result: {} } });
      const now = new Date();
      const sign = (with_: string, at: Date) => new Webhook(with_).sign("evt_a", at, body);
      const post = async (signature: string, { at = now, text = body, id = "evt_a" } = {}) => {
        const signed = { "webhook-id": id, "webhook-timestamp": String(Math.floor(at.getTime() / 1000)), "webhook-signature": signature };
        const answer = await fetch(url, { method: "POST", headers: { "content-type": "application/json", ...signed }, body: text });
        return answer.status;
      };
      const other = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
      expect(await post(sign(secret, now))).toBe(204);
      expect(await post(`${sign(other, now)} ${sign(secret, now)}`)).toBe(204);
      expect(await post(sign(other, now))).toBe(401);
      expect(await post(sign(secret, now), { text: body.replace("task_a", "task_b") })).toBe(401);
      expect(await post(sign(secret, now), { id: "evt_b" })).toBe(401);
      const old = new Date(now.getTime() - 600_000);
      expect(await post(sign(secret, old), { at: old })).toBe(401);
      expect(await post("v1,not-base64! v1a, x")).toBe(401);
      expect((await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })).status).toBe(401);
    } finally {
      await stop();
    }
  },
);
