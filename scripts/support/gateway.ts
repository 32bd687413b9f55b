/** A gateway on this machine: prepared state, running Workers, a demo account with a new key. */

import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parse } from "smol-toml";
import { bundledSettings, keptBundles } from "./bundles.ts";
import { createDemoKey, type DemoAccount, demoQuota, signUpDemo } from "./demo-account.ts";
import { AdminClient } from "./admin-client.ts";
import { errorCode } from "./faults.ts";
import { applyModels, readModelFiles } from "./models.ts";
import { ownLine, shortLine } from "./short-log.ts";
import { claimPort, host } from "./port.ts";
import { newSigningKey, randomSecret } from "./secrets.ts";
import { newTestChain } from "./test-chain.ts";
import { isDeclared, writeVariables, type Variables } from "./variables.ts";
import { root, startScript, startWrangler, type Wrangler } from "./wrangler.ts";

const migrationScript = fileURLToPath(new URL("migrate.ts", import.meta.url));
const migrationDeadlineMs = 60_000;
const startDeadlineMs = 120_000;

/** The options of a gateway. */
export interface GatewayOptions {
  /** The port to listen on; 0 or undefined picks a free one. */
  port?: number;
  /** The directory of the persistent state. */
  stateDir: string;
  /** The Worker's variables and secrets; an empty `ADMIN_TOKEN` switches the admin API off. */
  env?: Variables;
  /** The folder with the operator's models; without one no model is stored. */
  models?: string;
  /** True does not print the running gateway's log. */
  quiet?: boolean;
  /** Gets each line of the log from the start on, until the log is printed. */
  onLine?: (line: string) => void;
  /** Aborts the start. */
  signal?: AbortSignal;
}

/** A running gateway. */
export interface Gateway {
  baseUrl: string;
  adminToken: string;
  /** The demo account's new key; undefined if the admin API is off. */
  apiKey: string | undefined;
  account: DemoAccount | undefined;
  /** Resolves with the exit code when the gateway has ended for any reason. */
  exited: Promise<number>;
  /** The end of the gateway's log. */
  log(): string;
  /** Stops the gateway and all its processes. */
  stop(): Promise<void>;
  /** Kills the gateway and all its processes with SIGKILL. */
  kill(): Promise<void>;
}

/** Starts a gateway and waits until it answers. If that fails, everything that was started is stopped. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const stateDir = resolve(options.stateDir);
  const port = await claimPort(options.port ?? 0);
  await mkdir(stateDir, { recursive: true });
  const variables: Variables = {
    ADMIN_TOKEN: "local-admin",
    MARKS: "sign",
    ...options.env,
    ASSET_SIGNING_SECRET: options.env?.["ASSET_SIGNING_SECRET"] || (await keptSecret(stateDir, "asset-signing-secret")),
    SEALING_KEY: options.env?.["SEALING_KEY"] || (await keptSecret(stateDir, "sealing-key")),
    RECEIPT_SIGNING_KEY: options.env?.["RECEIPT_SIGNING_KEY"] || (await keptSecret(stateDir, "receipt-signing-key", newSigningKey)),
    ENVIRONMENT: "local",
  };
  // The Worker gets its variables only through this file.
  const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !(name in variables)));

  const bounded = AbortSignal.any([AbortSignal.timeout(migrationDeadlineMs), ...(options.signal ? [options.signal] : [])]);
  const migration = startScript(migrationScript, [stateDir], stateDir, environment, bounded);
  const code = await migration.exited;
  options.signal?.throwIfAborted();
  if (code !== 0) throw new Error(`The database could not be prepared:\n${migration.output()}`);
  const variablesFile = join(stateDir, "variables.env");
  await writeVariables(variablesFile, variables);
  const own: Record<string, Variables> = {
    console: { SIGNUP: "open", SIGNUP_QUOTA: String(demoQuota), AUTH_SECRET: await keptSecret(stateDir, "auth-secret") },
    "facades/openai": {},
    marks: JSON.parse(await keptSecret(stateDir, "test-certificate.json", async () => JSON.stringify(await newTestChain()))) as Variables,
    operations: {},
    payments: {},
  };
  const scripts = await keptBundles(folders.map(committed), options.signal);
  const configs = await Promise.all(
    folders.map((folder, at) => localConfig(folder, scripts[at] ?? "", stateDir, own[folder] && withOwn(folder, own[folder], variables))),
  );
  const workers = configs.flatMap((path) => ["-c", path]);
  const listen = ["--ip", host, "--port", String(port), "--inspector-port", "0", "--show-interactive-dev-session=false"];
  const local = ["--local", "--persist-to", stateDir, "--env-file", variablesFile];
  const wrangler = startWrangler(["dev", ...workers, ...listen, ...local], stateDir, environment);
  const { onLine } = options;
  if (onLine)
    wrangler.forward((line) => {
      onLine(line);
      return undefined;
    });
  const stop = async () => {
    await wrangler.stop();
    await rm(variablesFile, { force: true });
  };
  try {
    const baseUrl = `http://${host}:${port}`;
    await answering(baseUrl, wrangler, options.signal);
    const adminToken = variables["ADMIN_TOKEN"] ?? "";
    await signUpDemo(baseUrl).catch((error: unknown) => {
      throw new Error(`${error instanceof Error ? error.message : String(error)}\n${wrangler.output()}`, { cause: error });
    });
    const account = adminToken ? await createDemoKey(baseUrl, adminToken) : undefined;
    if (adminToken && options.models !== undefined)
      await applyModels(new AdminClient(baseUrl, adminToken), await readModelFiles(options.models));
    if (!options.quiet) wrangler.forward(process.stdout.isTTY ? shortLine : ownLine);
    const { exited } = wrangler;
    const ways = { log: () => wrangler.output(), stop, kill: () => wrangler.kill() };
    return { baseUrl, adminToken, apiKey: account?.apiKey, account, exited, ...ways };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The Workers' folders in `src`, the gateway first. */
const folders = ["", "sandbox", "facades/mcp", "console/auth", "console", "facades/openai", "marks", "operations", "payments"];
const committed = (folder: string) => (folder === "" ? "wrangler.toml" : `src/${folder}/wrangler.toml`);

/** `defaults`, and those of the variables that the Worker reads. Wrangler passes variables only to the first of several Workers. */
const withOwn = (folder: string, defaults: Variables, variables: Variables): Variables => ({
  ...defaults,
  ...Object.fromEntries(Object.entries(variables).filter(([name]) => isDeclared(folder, name))),
});

/** Writes a Worker's local configuration: the committed one with a bundled script and these variables. */
async function localConfig(folder: string, script: string, stateDir: string, variables: Variables | undefined): Promise<string> {
  const configuration = parse(await readFile(join(root, committed(folder)), "utf8"));
  const vars = { ...(configuration["vars"] as Variables | undefined), ...variables };
  const path = join(stateDir, `${folder === "" ? "gateway" : folder.replaceAll("/", "-")}.json`);
  await writeFile(path, JSON.stringify({ ...configuration, ...bundledSettings(script), vars }), { mode: 0o600 });
  return path;
}

/** Generated once and stored, so that signed URLs and sessions stay valid after a restart. */
async function keptSecret(stateDir: string, name: string, make: () => string | Promise<string> = randomSecret): Promise<string> {
  const path = join(stateDir, name);
  if (existsSync(path)) return (await readFile(path, "utf8")).trim();
  try {
    await writeFile(path, await make(), { mode: 0o600, flag: "wx" });
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
  return (await readFile(path, "utf8")).trim();
}

async function answering(baseUrl: string, wrangler: Wrangler, signal?: AbortSignal): Promise<void> {
  let ended = false;
  void wrangler.exited.then(() => (ended = true));
  for (const deadline = Date.now() + startDeadlineMs; Date.now() < deadline; await sleep(100)) {
    signal?.throwIfAborted();
    if (ended) break;
    // Connections are refused until the runtime listens; the first answer may be slow.
    const response = await fetch(`${baseUrl}/healthz`, { signal: AbortSignal.timeout(10_000) }).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.ok) return;
  }
  throw new Error(`The gateway did not come up:\n${wrangler.output()}`);
}
