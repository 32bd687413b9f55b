/** `npm start` as a process: a working key, state that survives a restart, and a clean end, by signal or by kill. */

import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod/mini";
import { claimPort } from "../../scripts/support/port.ts";
import { printed, runScript, survivors, type RunningScript } from "./scripts-child.ts";
import { descendants } from "./support/processes.ts";

const startMs = 120_000;
const apiKeyLine = /^API_KEY=(sk-\w+)$/m;

/** The fields of `GET /v1/tasks/{id}` that are used here. */
const imageTask = z.object({
  data: z.object({ status: z.literal("completed"), result: z.object({ images: z.array(z.object({ url: z.array(z.url()) })) }) }),
});

async function call(url: string, apiKey: string, body?: object): Promise<unknown> {
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    ...(body && { method: "POST", body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(40_000),
  });
  expect(response.status).toBe(200);
  return response.json();
}

/** The first page of a user who has just signed up. */
async function signUp(baseUrl: string): Promise<string> {
  const form = new URLSearchParams({ name: "Ann", email: "ann@example.com", password: "correct horse battery" });
  const options = { method: "POST", headers: { origin: baseUrl }, body: form, redirect: "manual" as const };
  const response = await fetch(`${baseUrl}/console/sign-up`, options);
  const cookie = response.headers.getSetCookie().map((line) => line.split(";")[0]);
  return (await fetch(`${baseUrl}/console`, { headers: { cookie: cookie.join("; ") } })).text();
}

/** Ends the script and checks that all processes it started end too. */
async function end(script: RunningScript, signal: "SIGINT" | "SIGTERM" | "SIGKILL"): Promise<number | null> {
  const started = descendants(script.process.pid!);
  expect(started.filter(({ command }) => command.includes("workerd")).length).toBeGreaterThan(0);
  script.process.kill(signal);
  const code = await script.exited;
  expect(await survivors(started, 8_000)).toEqual([]);
  return code;
}

test("a started gateway keeps accounts, balance and assets over a restart, and stops cleanly", { timeout: 240_000 }, async () => {
  const stateDir = await mkdtemp(join(tmpdir(), "scripts-start-"));
  onTestFinished(() => rm(stateDir, { recursive: true, force: true }));
  const port = await claimPort(0);
  const start = (variables: Record<string, string> = {}) => {
    const script = runScript("scripts/start.ts", {
      PORT: String(port),
      STATE_DIR: stateDir,
      ADMIN_TOKEN: "admin's-$ecret",
      ...variables,
    });
    onTestFinished(() => void script.process.kill());
    return script;
  };
  const baseUrl = `http://127.0.0.1:${port}`;

  const folder = join(stateDir, "own-models");
  await mkdir(folder);
  const entry = { kind: "text", price: { input: 1, output: 2 }, routes: [{ provider: "sandbox", model: "textA-1" }] };
  const write = (name: string, body: object) => writeFile(join(folder, name), JSON.stringify(body));
  await write("house.json", entry);
  const first = start({ MODELS_DIR: folder });
  const apiKey = await printed(first, apiKeyLine, startMs);
  expect(first.output()).toContain(`BASE_URL=${baseUrl}\n`);
  expect(first.output()).toContain(
    `${baseUrl.replace("127.0.0.1", "localhost")}/console, sign in as demo@example.com with the password demo-password.`,
  );
  expect(await call(`${baseUrl}/v1/models/house`, apiKey)).toMatchObject({ id: "house", price: { output_million_tokens: 2 } });
  // The demo account's user is an admin.
  expect(await call(`${baseUrl}/admin/accounts?email=demo@example.com`, "admin's-$ecret")).toMatchObject({ data: [{ admin: true }] });
  const task = await call(`${baseUrl}/v1/images/generations`, apiKey, { model: "imgA-4", prompt: "A lighthouse" });
  const { id } = z.object({ id: z.string() }).parse(task);
  const status = imageTask.parse(await call(`${baseUrl}/v1/tasks/${id}?wait=30`, apiKey));
  const url = status.data.result.images[0]?.url[0] ?? "";
  expect(url).toContain(baseUrl);
  await expect.poll(() => call(`${baseUrl}/v1/user/balance`, apiKey)).toMatchObject({ remain_balance: 99.97, used_balance: 0.03 });

  expect(descendants(first.process.pid!).filter(({ command }) => command.includes("$ecret"))).toEqual([]);
  const secretFiles = ["variables.env", "asset-signing-secret"].map(async (name) => (await stat(join(stateDir, name))).mode & 0o777);
  expect(await Promise.all(secretFiles)).toEqual([0o600, 0o600]);
  const rival = start();
  expect(await rival.exited).toBe(1);
  expect(rival.output()).toContain(`Port ${port} is in use`);
  expect(await end(first, "SIGINT")).toBe(0);
  expect(await readdir(stateDir)).not.toContain("variables.env");

  // Of a refused folder nothing is stored, and the file and the field are named.
  await write("house.json", { ...entry, price: { input: 1, output: 3 } });
  await write("wrong.json", { ...entry, price: { input: 1 }, routes: [{ provider: "nobody", model: "x" }] });
  const refused = start({ MODELS_DIR: folder });
  expect(await refused.exited).toBe(1);
  expect(refused.output()).toContain("The gateway refuses models, and none was stored.");
  expect(refused.output()).toMatch(/own-models\/wrong\.json: .*routes\[0\]\.provider must be one of .*; price\.output /);

  const second = start();
  const laterKey = await printed(second, apiKeyLine, startMs);
  expect(laterKey).not.toBe(apiKey);
  for (const key of [apiKey, laterKey]) {
    expect(await call(`${baseUrl}/v1/user/balance`, key)).toMatchObject({ remain_balance: 99.97, used_balance: 0.03 });
  }
  // A model that was stored is sold without its file.
  expect(await call(`${baseUrl}/v1/models/house`, laterKey)).toMatchObject({ price: { output_million_tokens: 2 } });
  const asset = await fetch(url);
  expect([asset.status, asset.headers.get("content-type")]).toEqual([200, "image/png"]);
  await asset.body?.cancel();
  expect(await end(second, "SIGTERM")).toBe(0);

  const third = start({ ADMIN_TOKEN: "", SIGNUP: "open", SIGNUP_QUOTA: "7.5" });
  await printed(third, /no admin API, no demo account/, startMs);
  const signedUp = await signUp(baseUrl);
  expect(signedUp).toContain("7.5 USD");
  expect(third.output()).not.toContain("API_KEY=");
  expect((await fetch(`${baseUrl}/admin/accounts`)).status).toBe(404);
  // A killed process cannot stop its children: they notice and end by themselves.
  await end(third, "SIGKILL");
});

test("an option is refused, and starts nothing", async () => {
  const script = runScript("scripts/start.ts", {}, "--port", "8080");
  expect(await script.exited).toBe(1);
  expect(script.output()).toBe("npm start takes no options, and got --port. Its variables, such as PORT, are in docs/configuration.md.\n");
});
